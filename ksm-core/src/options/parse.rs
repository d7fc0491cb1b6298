//! From arguments to a [`Job`], with the manners all binaries share: one-line errors, subcommands, `--version`.
//!
//! The configuration file is turned into arguments that take the place of those given, and the whole is parsed again:
//! so a value is checked in the same way wherever it comes from.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches, ValueHint, value_parser};

use super::file::FileValues;
use super::page::page;
use super::{Configuration, FileContent, Job, Part, Settings, Source, UsageError, environment};
use crate::build::Build;

/// How a binary turns its arguments into settings.
type ToSettings<A> = fn(A) -> Result<Settings, UsageError>;

/// Reads the arguments of the process and resolves them.
///
/// # Errors
/// The process is to end with that exit code: something was asked for and printed (0), the configuration file cannot be
/// used (1), or the arguments make no sense (2); one line on stderr says why.
pub fn parse<A: clap::Args + CommandFactory + FromArgMatches + 'static>(
    build: Build,
    resolve: ToSettings<A>,
) -> Result<Job, ExitCode> {
    match parse_from(build, std::env::args_os(), resolve) {
        Ok(job) => Ok(job),
        Err(Stop::Print(text)) => {
            // The reader of a pipe may have left: not worth a word.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
            Err(ExitCode::SUCCESS)
        }
        Err(Stop::Usage(error)) => {
            eprintln!("error: {error} (see {} --help)", build.name);
            Err(ExitCode::from(2))
        }
        Err(Stop::File(error)) => {
            eprintln!("error: {error}");
            Err(ExitCode::FAILURE)
        }
    }
}

/// Why there is nothing to run.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// Help, version or completions, for stdout.
    Print(String),
    /// The arguments make no sense.
    Usage(UsageError),
    /// The configuration file cannot be used.
    File(UsageError),
}

impl From<UsageError> for Stop {
    fn from(error: UsageError) -> Self {
        Self::Usage(error)
    }
}

/// Reads the given arguments, the first of which is the program's name, and resolves them.
///
/// # Errors
/// See [`Stop`].
pub fn parse_from<A: clap::Args + CommandFactory + FromArgMatches + 'static>(
    build: Build,
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    resolve: ToSettings<A>,
) -> Result<Job, Stop> {
    let (command, unknown) = environment::apply(command::<A>(build));
    let matches = command.clone().try_get_matches_from(arguments).map_err(|error| stop(build, &error))?;
    let (name, given) = match matches.subcommand() {
        Some(("version", _)) => return Err(Stop::Print(format!("{build}\n"))),
        Some(("options", _)) => return Err(Stop::Print(page(&command))),
        Some(("completion", given)) => return Err(Stop::Print(completion(build, command, given)?)),
        Some((name, given)) => (Some(name.to_owned()), given.clone()),
        None => (None, matches),
    };
    let (base, _) = environment::apply(options::<A>(build));
    // What a target serves is explained without reading anything of a node.
    let needs_node = !(name.as_deref() == Some("explain") && given.contains_id("url"));
    let resolve = move |args: A| match resolve(args)? {
        settings if needs_node && settings.part == Part::Node(String::new()) => {
            Err(UsageError::new("which node? give --node or set NODE_NAME"))
        }
        settings => Ok(settings),
    };
    let source = source(build, base, given.clone(), resolve);
    let (mut settings, file) = from_file(&source)?;
    let warn = |name| format!("{name} in the environment sets no option of {}", build.name);
    settings.warnings.extend(unknown.into_iter().map(warn));
    let files = || given.get_many::<OsString>("input").unwrap_or_default().cloned().collect();
    Ok(match name.as_deref() {
        Some("render") => Job::Render { settings, files: files(), openmetrics: given.get_flag("openmetrics") },
        Some("explain") => Job::Explain { settings, files: files(), url: given.get_one("url").cloned() },
        _ => Job::Serve(Configuration { settings, source: Arc::new(source), file }),
    })
}

/// Settings from the file as it is now; those of the flags alone if the file may be absent or wrong.
fn from_file(source: &Source) -> Result<(Settings, FileContent), Stop> {
    let Some(path) = &source.file else { return Ok((source.resolve(None)?, FileContent::default())) };
    let (bytes, failed) = match std::fs::read_to_string(path) {
        Ok(text) => match source.resolve(Some(&text)) {
            Ok(settings) => return Ok((settings, FileContent { bytes: Some(text.into_bytes()), taken: true })),
            Err(error) => (Some(text.into_bytes()), error.to_string()),
        },
        Err(error) => (None, error.to_string()),
    };
    let message = format!("cannot use configuration file {}: {failed}", path.display());
    if !source.optional {
        return Err(Stop::File(UsageError::new(message)));
    }
    let mut settings = source.resolve(None)?;
    settings.warnings.push(format!("{message}; going on without it until it changes"));
    Ok((settings, FileContent { bytes, taken: false }))
}

/// Keeps what is needed to resolve settings again.
fn source<A: FromArgMatches + 'static>(
    build: Build,
    command: Command,
    given: ArgMatches,
    resolve: impl Fn(A) -> Result<Settings, UsageError> + Send + Sync + 'static,
) -> Source {
    let path = given.get_one::<OsString>("config").filter(|path| !path.is_empty()).map(PathBuf::from);
    let optional = given.get_one::<bool>("continue_without_config").copied().unwrap_or(false);
    let resolve = move |text: Option<&str>| {
        let file = text.map(FileValues::parse).transpose()?.unwrap_or_default();
        let arguments = merged(&command, &given, &file);
        let parsed = command.clone().try_get_matches_from(arguments);
        let parsed = parsed.and_then(|matches| A::from_arg_matches(&matches)).map_err(|error| usage(&error))?;
        let mut settings = resolve(parsed)?;
        let absent = file.flags.keys().filter(|flag| !has_option(&command, flag));
        let warn = |flag: &&str| format!("configuration file: {} has no --{flag}", build.name);
        settings.warnings.splice(0..0, file.warnings.iter().cloned().chain(absent.map(warn)));
        Ok(settings)
    };
    Source { file: path, optional, resolve: Box::new(resolve) }
}

/// Arguments that say what was given, but what the file says where it says something.
fn merged(command: &Command, given: &ArgMatches, file: &FileValues) -> Vec<OsString> {
    let mut arguments = vec![OsString::from(command.get_name())];
    for (long, id) in command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg.get_id().as_str()))) {
        let mut push = |value: &OsStr| {
            let mut argument = OsString::from(format!("--{long}="));
            argument.push(value);
            arguments.push(argument);
        };
        if let Some(values) = file.flags.get(long) {
            values.iter().for_each(|value| push(OsStr::new(value)));
        } else if let Some(ValueSource::CommandLine | ValueSource::EnvVariable) = given.value_source(id) {
            given.get_raw(id).into_iter().flatten().for_each(push);
        }
    }
    arguments
}

fn has_option(command: &Command, long: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some(long))
}

/// The whole command line of a binary.
pub fn command<A: clap::Args + CommandFactory>(build: Build) -> Command {
    options::<A>(build)
        .subcommand(Command::new("version").about("Print the version"))
        .subcommand(
            Command::new("completion").aliases(["comp", "c"]).about("Print a completion script for a shell").arg(
                Arg::new("shell").required(true).value_name("SHELL").value_parser(value_parser!(clap_complete::Shell)),
            ),
        )
        .subcommand(
            Command::new("options").about("Print all options with their variables and keys of the file, as Markdown"),
        )
        .subcommand(with_input(
            A::augment_args(Command::new("render"))
                .about("Print the exposition of manifests, without any server; the options of serving apply")
                .arg(
                    Arg::new("openmetrics")
                        .long("openmetrics")
                        .action(ArgAction::SetTrue)
                        .help_heading("Input and output")
                        .help("Print OpenMetrics instead of the text format"),
                ),
        ))
        .subcommand(with_input(
            A::augment_args(Command::new("explain"))
                .about("Print which families and labels an exposition is made of, and what lists would save")
                .arg(
                    Arg::new("url")
                        .long("url")
                        .value_name("URL")
                        .help_heading("Input and output")
                        .help("Explain what this target serves, such as http://127.0.0.1:8080/metrics"),
                ),
        ))
        .args_conflicts_with_subcommands(true)
        .subcommand_help_heading("Commands")
        .mut_subcommands(|command| command.args_override_self(true).max_term_width(110))
}

/// The options alone.
fn options<A: CommandFactory>(build: Build) -> Command {
    A::command()
        .name(build.name)
        .bin_name(build.name)
        .version(build.version)
        // As Go's flag packages have it, the last of a repeated single value counts.
        .args_override_self(true)
        .max_term_width(110)
        .after_help(
            "Every option may come from the environment as well, --metric-allowlist as KSM_METRIC_ALLOWLIST. The \
             configuration file overrides options, and options override the environment.",
        )
}

fn with_input(command: Command) -> Command {
    command.arg(
        Arg::new("input")
            .short('f')
            .long("filename")
            .value_name("FILE")
            .value_parser(value_parser!(OsString))
            .value_hint(ValueHint::FilePath)
            .action(ArgAction::Append)
            .help_heading("Input and output")
            .help("Read this file of YAML or JSON, lists and several documents included; - is stdin, and the default"),
    )
}

fn completion(build: Build, mut command: Command, given: &ArgMatches) -> Result<String, UsageError> {
    let shell = given.get_one::<clap_complete::Shell>("shell");
    let shell = *shell.ok_or_else(|| UsageError::new("completion: which shell?"))?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, build.name, &mut script);
    Ok(String::from_utf8_lossy(&script).into_owned())
}

fn stop(build: Build, error: &clap::Error) -> Stop {
    match error.kind() {
        ErrorKind::DisplayHelp => Stop::Print(error.render().to_string()),
        ErrorKind::DisplayVersion => Stop::Print(format!("{build}\n")),
        _ => Stop::Usage(usage(error)),
    }
}

/// The first line of clap's message; usage and hints that follow are what `--help` is for.
fn usage(error: &clap::Error) -> UsageError {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    // What is missing stands on the lines that follow.
    let line = match line.strip_suffix(':') {
        Some(start) if error.kind() == ErrorKind::MissingRequiredArgument => {
            format!("{start}: {}", text.lines().nth(1).unwrap_or_default().trim())
        }
        _ => line.to_owned(),
    };
    let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
    let hint = tip.filter(|tip| tip.contains("similar")).map(|tip| format!("; {tip}")).unwrap_or_default();
    UsageError::new(format!("{line}{hint}"))
}

//! From arguments to a clap struct, with the manners all binaries share: one-line errors, `version`, `--version`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};

use super::{Settings, UsageError};
use crate::build::Build;

/// Reads the arguments of the process and resolves them.
///
/// # Errors
/// The process is to end with that exit code: help or version were asked for and printed (0), or the arguments make no
/// sense and one line on stderr says why (2).
pub fn parse<A: CommandFactory + FromArgMatches>(
    build: Build,
    resolve: impl FnOnce(A) -> Result<Settings, UsageError>,
) -> Result<Settings, ExitCode> {
    match parse_from(build, std::env::args_os(), resolve) {
        Ok(settings) => Ok(settings),
        Err(Stop::Print(text)) => {
            // The reader of a pipe may have left: not worth a word.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
            Err(ExitCode::SUCCESS)
        }
        Err(Stop::Usage(error)) => {
            eprintln!("error: {error} (see {} --help)", build.name);
            Err(ExitCode::from(2))
        }
    }
}

/// Why there are no settings to run with.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// Help or version, for stdout.
    Print(String),
    /// The arguments make no sense.
    Usage(UsageError),
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
pub fn parse_from<A: CommandFactory + FromArgMatches>(
    build: Build,
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    resolve: impl FnOnce(A) -> Result<Settings, UsageError>,
) -> Result<Settings, Stop> {
    let matches = command::<A>(build).try_get_matches_from(arguments).map_err(|error| stop(build, &error))?;
    if matches.subcommand_name() == Some("version") {
        return Err(Stop::Print(format!("{build}\n")));
    }
    let arguments = A::from_arg_matches(&matches).map_err(|error| stop(build, &error))?;
    Ok(resolve(arguments)?)
}

fn command<A: CommandFactory>(build: Build) -> Command {
    A::command()
        .name(build.name)
        .version(build.version)
        .subcommand(Command::new("version").about("Print the version"))
        .disable_help_subcommand(true)
        // As Go's flag packages have it, the last of a repeated single value counts.
        .args_override_self(true)
        .subcommand_help_heading("Commands")
        .max_term_width(110)
}

/// The first line of clap's message; usage and hints that follow are what `--help` is for.
fn stop(build: Build, error: &clap::Error) -> Stop {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp => Stop::Print(text),
        ErrorKind::DisplayVersion => Stop::Print(format!("{build}\n")),
        _ => {
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("error: ").unwrap_or(line);
            let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
            let hint = tip.filter(|tip| tip.contains("similar")).map(|tip| format!("; {tip}")).unwrap_or_default();
            Stop::Usage(UsageError::new(format!("{line}{hint}")))
        }
    }
}

//! All options of a binary as a Markdown table: flag, variable of the environment, key of the file, meaning; and its
//! commands, with the options that only they have.

use std::fmt::Write;

use clap::builder::Str;
use clap::{Arg, Command};

use super::environment::variable;
use super::file::key;

/// The table, topic by topic, in the order in which help has them.
pub(super) fn page(command: &Command) -> String {
    let options: Vec<(&str, &Arg)> =
        command.get_arguments().filter_map(|arg| Some((arg.get_help_heading()?, arg))).collect();
    let mut topics: Vec<&str> = Vec::new();
    for (topic, _) in &options {
        if !topics.contains(topic) {
            topics.push(topic);
        }
    }
    let mut out = String::new();
    for topic in topics {
        let _ = write!(out, "### {topic}\n\n| option | environment | file | meaning |\n|---|---|---|---|\n");
        for (_, arg) in options.iter().filter(|(of, _)| *of == topic) {
            row(arg, &mut out);
        }
        out.push('\n');
    }
    commands(command, &mut out);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Each command, then what it takes that is no option of the whole program.
fn commands(command: &Command, out: &mut String) {
    out.push_str("### Commands\n\n| command | meaning |\n|---|---|\n");
    for subcommand in command.get_subcommands() {
        let name = subcommand.get_name();
        let operands = subcommand.get_positionals().map(|arg| format!(" {}", value_name(arg)));
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "| `{name}{}` | {} |", operands.collect::<String>(), escape(&about));
        let shared = |long: &str| command.get_arguments().any(|arg| arg.get_long() == Some(long));
        for arg in subcommand.get_arguments().filter(|arg| arg.get_long().is_some_and(|long| !shared(long))) {
            let Some(option) = option(arg) else { continue };
            let _ = writeln!(out, "| `{name}` {option} | {} |", help(arg));
        }
    }
}

fn row(arg: &Arg, out: &mut String) {
    let (Some(long), Some(option)) = (arg.get_long(), option(arg)) else { return };
    let file = key(long).map(|key| format!("`{key}`")).unwrap_or_default();
    let own = variable(long);
    let other = arg.get_env().and_then(|name| name.to_str()).filter(|name| *name != own);
    let other = other.map(|name| format!(", `{name}`")).unwrap_or_default();
    let _ = writeln!(out, "| {option} | `{own}`{other} | {file} | {} |", help(arg));
}

/// The option with its value, as it stands in a cell of a table.
fn option(arg: &Arg) -> Option<String> {
    let long = arg.get_long()?;
    let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let value = match value_name(arg) {
        "" => String::new(),
        // A value that may be left out.
        name if arg.get_num_args().is_some_and(|range| range.min_values() == 0) => format!("[={name}]"),
        name => format!("={name}"),
    };
    // In code nothing else is escaped.
    Some(format!("{short}`--{long}{}`", value.replace('|', "\\|")))
}

/// The name of its value; none of a flag that takes no value.
fn value_name(arg: &Arg) -> &str {
    let name = arg.get_value_names().and_then(|names| names.first()).map_or("", Str::as_str);
    if arg.get_action().takes_values() { name } else { "" }
}

fn help(arg: &Arg) -> String {
    escape(&arg.get_help().map(ToString::to_string).unwrap_or_default())
}

/// Text as it stands in a cell of a table.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '|' | '<' | '*' | '_' | '`') {
            out.push('\\');
        }
        out.push(if character == '\n' { ' ' } else { character });
    }
    out
}

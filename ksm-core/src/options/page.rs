//! All options of a binary as a Markdown table: flag, variable of the environment, key of the file, meaning.

use std::fmt::Write;

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
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn row(arg: &Arg, out: &mut String) {
    let Some(long) = arg.get_long() else { return };
    let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let value = arg.get_value_names().and_then(|names| names.first()).map(|name| format!("={name}"));
    let value = value.unwrap_or_default();
    // A value that may be left out.
    let value =
        if arg.get_num_args().is_some_and(|range| range.min_values() == 0) { format!("[{value}]") } else { value };
    let file = key(long).map(|key| format!("`{key}`")).unwrap_or_default();
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let own = variable(long);
    let other = arg.get_env().and_then(|name| name.to_str()).filter(|name| *name != own);
    let other = other.map(|name| format!(", `{name}`")).unwrap_or_default();
    let _ = writeln!(out, "| {short}`--{long}{value}` | `{own}`{other} | {file} | {} |", escape(&help));
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

//! Options: from the command line to [`Settings`].
//!
//! Argument groups know clap and hold what was given, nothing more; resolving them into settings is pure and is where
//! defaults, lists and limits are applied. Nothing outside this module sees a clap type.

mod args;
mod duration;
mod environment;
mod file;
mod inert;
mod job;
mod labels;
mod page;
mod parse;
mod patterns;
mod reshard;
mod settings;
mod yaml;

pub use args::{
    ConnectionArgs, FileArgs, GuardArgs, LogArgs, MetricArgs, NodeArgs, ServingArgs, ShardArgs, SharedArgs, WatchArgs,
};
pub(crate) use file::yaml_error;
pub use inert::{CustomResourceArgs, InertArgs};
pub use job::{Configuration, FileContent, Job, Source};
pub use labels::KeyFilters;
pub use parse::{Stop, command, parse, parse_from};
pub use patterns::Patterns;
pub use reshard::Overlap;
pub use settings::{Address, Connection, Enabled, Lists, Part, Settings, Timeouts};

use std::fmt;

/// Arguments that make no sense: one line, for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageError(String);

impl UsageError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// The entries of comma-separated lists, repeated flags adding up; blanks and empty entries do not count.
fn entries(values: &[String]) -> impl Iterator<Item = &str> {
    values.iter().flat_map(|value| value.split(',')).map(str::trim).filter(|entry| !entry.is_empty())
}

#[cfg(test)]
mod tests;

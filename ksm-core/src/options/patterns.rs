//! Regular expressions over family names: allow-, deny- and opt-in lists.
//!
//! They match anywhere in the name and may look around. Matching is linear but for look-around and back references,
//! which are cut off after a million steps.

use fancy_regex::{Regex, RegexBuilder};

use super::{UsageError, entries};

/// How far one match may backtrack. Names are short: honest patterns stay far below.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// The patterns of one flag.
#[derive(Clone, Debug)]
pub struct Patterns {
    flag: &'static str,
    patterns: Vec<Regex>,
}

impl Patterns {
    /// Compiles the comma-separated values of `flag`.
    ///
    /// # Errors
    /// An entry is no regular expression.
    pub fn compile(flag: &'static str, values: &[String]) -> Result<Self, UsageError> {
        let compile = |pattern: &str| {
            let compiled = RegexBuilder::new(pattern).backtrack_limit(BACKTRACK_LIMIT).build();
            compiled.map_err(|error| {
                UsageError::new(format!(
                    "{flag}: {pattern:?} is no regular expression: {}",
                    one_line(&error.to_string())
                ))
            })
        };
        Ok(Self { flag, patterns: entries(values).map(compile).collect::<Result<_, _>>()? })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether one of them matches `name`.
    ///
    /// # Errors
    /// A pattern backtracks for too long.
    pub fn matches(&self, name: &str) -> Result<bool, UsageError> {
        for pattern in &self.patterns {
            let matched = pattern.is_match(name).map_err(|_| {
                UsageError::new(format!("{}: matching {:?} against {name} takes too long", self.flag, pattern.as_str()))
            })?;
            if matched {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Parsers point at the place over several lines; their last one holds the reason.
fn one_line(text: &str) -> &str {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last)
}

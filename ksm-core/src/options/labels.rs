//! Allowlists of labels and annotations: `pods=[app,team],nodes=[*]`.
//!
//! Keys are literal, but for one `*` that stands for any characters. `*` as first key is every key, `*` as resource is
//! every resource served and overrides all others.

use std::collections::{BTreeMap, BTreeSet};

use super::UsageError;
use crate::family::KeyFilter;

/// Keys to copy, by resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFilters(BTreeMap<String, KeyFilter>);

impl KeyFilters {
    /// Reads the value of `flag`, if it has one; `known` are the plural names it may hold, `served` those that make a
    /// difference to this program. Of a repeated resource the last list counts.
    /// The second value holds warnings, one line each.
    ///
    /// # Errors
    /// Bad syntax, or a resource that is not known.
    pub fn parse(
        flag: &str,
        text: Option<&str>,
        known: &[&str],
        served: &[&str],
    ) -> Result<(Self, Vec<String>), UsageError> {
        let (mut filters, mut warnings) = (BTreeMap::new(), Vec::new());
        let mut rest = text.unwrap_or_default().trim();
        while !rest.is_empty() {
            let (resource, keys, behind) = item(rest).ok_or_else(|| malformed(flag, rest))?;
            if resource != "*" && !known.contains(&resource) {
                return Err(UsageError::new(format!(
                    "{flag}: unknown resource {resource:?}, expected * or one of {}",
                    served.join(", ")
                )));
            }
            for key in keys.iter().filter(|key| key.contains(['"', '\''])) {
                warnings
                    .push(format!("{flag}: the quotes of {key} in {resource} belong to the key, it matches nothing"));
            }
            filters.insert(resource.to_owned(), filter(flag, &keys)?);
            rest = behind;
        }
        Ok((Self(filters), warnings))
    }

    /// The keys to copy for the resource with that plural name.
    pub fn of(&self, plural: &str) -> KeyFilter {
        self.0.get("*").or_else(|| self.0.get(plural)).cloned().unwrap_or_default()
    }
}

/// Takes one `resource=[key,key]` off the front; the third value is what stands behind the comma after it.
fn item(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (resource, text) = text.split_once('=')?;
    let (keys, behind) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let keys: Vec<&str> = if keys.trim().is_empty() { Vec::new() } else { keys.split(',').map(str::trim).collect() };
    if resource.contains(['[', ']', ',']) || keys.iter().any(|key| key.is_empty() || key.contains(['[', '='])) {
        return None;
    }
    let behind = match behind.trim_start() {
        "" => "",
        behind => behind.strip_prefix(',').map(str::trim_start).filter(|behind| !behind.is_empty())?,
    };
    Some((resource.trim(), keys, behind))
}

fn filter(flag: &str, keys: &[&str]) -> Result<KeyFilter, UsageError> {
    if keys.first() == Some(&"*") {
        return Ok(KeyFilter::All);
    }
    if let Some(key) = keys.iter().find(|key| key.matches('*').count() > 1) {
        return Err(UsageError::new(format!("{flag}: only one * in a key, not as in {key}")));
    }
    let keys: BTreeSet<String> = keys.iter().filter(|&&key| key != "*").map(|&key| key.to_owned()).collect();
    Ok(if keys.is_empty() { KeyFilter::None } else { KeyFilter::Keys(keys) })
}

fn malformed(flag: &str, rest: &str) -> UsageError {
    UsageError::new(format!("{flag}: cannot read {rest:?}, expected a list like pods=[app,team],nodes=[*]"))
}

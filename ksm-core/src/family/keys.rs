//! Labels and annotations copied from objects: which keys, and as which label names.

use std::collections::{BTreeMap, BTreeSet};

/// Which keys of a map are copied into labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyFilter {
    /// None: the family has no samples at all.
    #[default]
    None,
    /// Every key (`*`).
    All,
    /// These keys, taken literally.
    Keys(BTreeSet<String>),
}

impl KeyFilter {
    /// Whether `key` is copied.
    pub fn admits(&self, key: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Keys(keys) => keys.contains(key),
        }
    }
}

/// `text` with every character that no label name may hold replaced by `_`.
pub fn sanitize(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// Label names and values for the admitted entries of `map`, ordered by key.
///
/// A name is `<prefix>_` and the key, sanitised and in snake case. Keys that end up equal get `_conflict1`,
/// `_conflict2` … in key order, skipping every name another key has already
/// (<https://github.com/kubernetes/kube-state-metrics/issues/3064>).
pub fn copied_labels<'a>(prefix: &str, map: &'a BTreeMap<String, String>, keys: &KeyFilter) -> Vec<(String, &'a str)> {
    let mut labels: Vec<(String, &str)> = map
        .iter()
        .filter(|(key, _)| keys.admits(key))
        .map(|(key, value)| (format!("{prefix}_{}", snake_case(&sanitize(key))), value.as_str()))
        .collect();
    let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, _) in &labels {
        *uses.entry(name).or_default() += 1;
    }
    if uses.values().all(|&uses| uses == 1) {
        return labels;
    }
    let mut taken: BTreeSet<String> =
        uses.iter().filter(|&(_, &uses)| uses == 1).map(|(name, _)| (*name).to_owned()).collect();
    let mut next: BTreeMap<String, u32> =
        uses.into_iter().filter(|&(_, uses)| uses > 1).map(|(name, _)| (name.to_owned(), 1)).collect();
    for (name, _) in &mut labels {
        let Some(number) = next.get_mut(name) else { continue };
        let unique = loop {
            let candidate = format!("{name}_conflict{number}");
            *number += 1;
            if taken.insert(candidate.clone()) {
                break candidate;
            }
        };
        *name = unique;
    }
    labels
}

/// Lower case, with `_` between a lower-case letter or digit and the upper-case letter after it.
fn snake_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    let mut previous = '_';
    for c in text.chars() {
        if c.is_ascii_uppercase() && (previous.is_ascii_lowercase() || previous.is_ascii_digit()) {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
        previous = c;
    }
    out
}

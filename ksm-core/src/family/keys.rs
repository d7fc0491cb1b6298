//! Labels and annotations copied from objects: which keys, and as which label names.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Which keys of a map are copied into labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyFilter {
    /// None: the family has no samples at all.
    #[default]
    None,
    /// Every key (`*`).
    All,
    /// These keys, each literal but for one `*` at most, which stands for any text.
    Keys(BTreeSet<String>),
}

impl KeyFilter {
    /// Whether `key` is copied.
    pub fn admits(&self, key: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Keys(keys) => keys.contains(key) || keys.iter().any(|pattern| wildcard_matches(pattern, key)),
        }
    }
}

/// Whether `key` is `pattern` with its one `*` replaced by some text; patterns without or with more never match.
fn wildcard_matches(pattern: &str, key: &str) -> bool {
    pattern.split_once('*').is_some_and(|(start, end)| {
        !end.contains('*') && key.len() >= start.len() + end.len() && key.starts_with(start) && key.ends_with(end)
    })
}

/// `text` with every character that no label name may hold replaced by `_`.
pub fn sanitize(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// Label names and values for the admitted entries of `map`, ordered by key.
///
/// A name is `<prefix>_` and the key, sanitised and in snake case. Keys that end up equal get `_conflict1`,
/// `_conflict2` … in key order, skipping every name given out before
/// (<https://github.com/kubernetes/kube-state-metrics/issues/3064>).
pub fn copied_labels<'a>(prefix: &str, map: &'a BTreeMap<String, String>, keys: &KeyFilter) -> Vec<(String, &'a str)> {
    let mut labels: Vec<(String, &str)> = map
        .iter()
        .filter(|(key, _)| keys.admits(key))
        .map(|(key, value)| (format!("{prefix}_{}", snake_case(&sanitize(key))), value.as_str()))
        .collect();
    let mut names: Vec<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        number_conflicts(&mut labels);
    }
    labels
}

/// Makes every name unique, in order. The work grows with the number of labels, not with its square.
fn number_conflicts(labels: &mut [(String, &str)]) {
    // Where each name given out so far stands.
    let mut given: HashMap<String, usize> = HashMap::with_capacity(labels.len());
    // How many suffixes each name that collided has used up.
    let mut suffixes: HashMap<String, u32> = HashMap::new();
    for index in 0..labels.len() {
        let mut name = std::mem::take(&mut labels[index].0);
        if let Some(suffix) = suffixes.get_mut(&name) {
            name = free_name(&name, suffix, &given);
        } else if let Some(first) = given.remove(&name) {
            let mut suffix = 0;
            let renamed = free_name(&name, &mut suffix, &given);
            given.insert(renamed.clone(), first);
            labels[first].0 = renamed;
            let next = free_name(&name, &mut suffix, &given);
            suffixes.insert(std::mem::replace(&mut name, next), suffix);
        }
        given.insert(name.clone(), index);
        labels[index].0 = name;
    }
}

/// `name` with the next conflict suffix that makes it unlike every name given out.
fn free_name(name: &str, suffix: &mut u32, given: &HashMap<String, usize>) -> String {
    loop {
        *suffix += 1;
        let candidate = format!("{name}_conflict{suffix}");
        if !given.contains_key(&candidate) {
            return candidate;
        }
    }
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

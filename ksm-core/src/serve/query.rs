//! The query of a scrape: which resources it wants.

use std::borrow::Cow;
use std::collections::HashSet;

/// The resources a scrape picks: all, but for `resources` and `exclude_resources`.
///
/// Each may be repeated and holds a comma-separated list. `resources` without any name picks nothing; names of
/// resources that are not served pick nothing either.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    included: Option<HashSet<String>>,
    excluded: Option<HashSet<String>>,
}

impl Selection {
    /// Reads the query of a URL; parameters it does not know and broken escapes are passed over.
    pub(super) fn parse(query: Option<&str>) -> Self {
        let mut selection = Self::default();
        for parameter in query.unwrap_or_default().split('&').filter(|parameter| !parameter.contains(';')) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (Some(name), Some(value)) = (decode(name), decode(value)) else { continue };
            let set = match name.as_ref() {
                "resources" => &mut selection.included,
                "exclude_resources" => &mut selection.excluded,
                _ => continue,
            };
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
            set.get_or_insert_default().extend(names);
        }
        selection
    }

    /// Whether it picks the resource with that plural name.
    pub(super) fn picks(&self, plural: &str) -> bool {
        self.included.as_ref().is_none_or(|names| names.contains(plural))
            && self.excluded.as_ref().is_none_or(|names| !names.contains(plural))
    }
}

/// `+` and `%XX` undone; `None` if an escape is broken or the result is not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['+', '%']) {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
                u8::try_from(high << 4 | low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        let selection = Selection::parse(Some(query));
        let picked: Vec<&str> = ["nodes", "pods", "secrets"].into_iter().filter(|name| selection.picks(name)).collect();
        assert_eq!(picked, expected, "{query}");
    }

    #[test]
    fn without_parameters_everything_is_picked() {
        assert_eq!(Selection::parse(None), Selection::default());
        check("", &["nodes", "pods", "secrets"]);
        check("other=pods&flag", &["nodes", "pods", "secrets"]);
    }

    #[test]
    fn lists_add_up_and_exclusion_outdoes_inclusion() {
        check("resources=pods", &["pods"]);
        check("resources=pods,+nodes&resources=secrets", &["nodes", "pods", "secrets"]);
        check("resources=pods%2Cnodes", &["nodes", "pods"]);
        check("exclude_resources=pods", &["nodes", "secrets"]);
        check("resources=pods,nodes&exclude_resources=pods", &["nodes"]);
    }

    #[test]
    fn an_empty_list_picks_nothing_and_excludes_nothing() {
        check("resources=", &[]);
        check("resources", &[]);
        check("resources=,%20", &[]);
        check("resources=unknown", &[]);
        check("exclude_resources=", &["nodes", "pods", "secrets"]);
    }

    #[test]
    fn broken_parameters_are_passed_over() {
        check("resources=%", &["nodes", "pods", "secrets"]);
        check("resources=%4", &["nodes", "pods", "secrets"]);
        check("resources=%zz", &["nodes", "pods", "secrets"]);
        check("resources=%ff", &["nodes", "pods", "secrets"]);
        check("resources=pods;x", &["nodes", "pods", "secrets"]);
    }
}

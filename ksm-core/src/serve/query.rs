//! The query of a scrape: which resources it wants, and which part of them.

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
    part: Option<ScrapePart>,
}

/// One of several scrapes that together are the whole: every n-th family, headers and samples.
///
/// Families are counted over all that the process serves, so a family stays in its part whatever objects come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScrapePart {
    /// From 0.
    index: usize,
    count: usize,
}

/// A parameter that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadQuery(String);

impl std::fmt::Display for BadQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl ScrapePart {
    /// Reads `i/n`, 1 ≤ i ≤ n.
    fn parse(text: &str) -> Result<Self, BadQuery> {
        let numbers = text.split_once('/').and_then(|(index, count)| {
            let (index, count): (u32, u32) = (index.parse().ok()?, count.parse().ok()?);
            (1..=count).contains(&index).then(|| (index as usize - 1, count as usize))
        });
        let (index, count) =
            numbers.ok_or_else(|| BadQuery(format!("part={text:?}: expected i/n with 1 ≤ i ≤ n, as in part=1/4")))?;
        Ok(Self { index, count })
    }
}

impl Selection {
    /// Reads the query of a URL; other parameters than `part` are passed over where they are
    /// unknown or their escapes are broken.
    ///
    /// # Errors
    /// A part that cannot be: serving the whole instead would double every series.
    pub(super) fn parse(query: Option<&str>) -> Result<Self, BadQuery> {
        let mut selection = Self::default();
        for parameter in query.unwrap_or_default().split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let Some(name) = decode(name) else { continue };
            let value = decode(value).filter(|_| !parameter.contains(';'));
            if name == "part" && value.is_none() {
                return Err(BadQuery(format!("{parameter:?} has a broken escape or a semicolon")));
            }
            let Some(value) = value else { continue };
            let set = match name.as_ref() {
                "resources" => &mut selection.included,
                "exclude_resources" => &mut selection.excluded,
                "part" => {
                    if selection.part.replace(ScrapePart::parse(&value)?).is_some() {
                        return Err(BadQuery("part is given twice".to_owned()));
                    }
                    continue;
                }
                _ => continue,
            };
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
            set.get_or_insert_default().extend(names);
        }
        Ok(selection)
    }

    /// Whether it picks the family at that place among all that are served.
    pub(super) fn picks_family(&self, family: usize) -> bool {
        self.part.is_none_or(|part| family % part.count == part.index)
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
        let selection = Selection::parse(Some(query)).unwrap();
        let picked: Vec<&str> = ["nodes", "pods", "secrets"].into_iter().filter(|name| selection.picks(name)).collect();
        assert_eq!(picked, expected, "{query}");
    }

    #[test]
    fn without_parameters_everything_is_picked() {
        assert_eq!(Selection::parse(None), Ok(Selection::default()));
        check("", &["nodes", "pods", "secrets"]);
        check("other=pods&flag", &["nodes", "pods", "secrets"]);
    }

    #[test]
    fn lists_add_up_and_exclusion_overrides_inclusion() {
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

    #[test]
    fn parts_share_out_every_family_once() {
        for count in 1..6 {
            let parts: Vec<Selection> =
                (1..=count).map(|index| Selection::parse(Some(&format!("part={index}/{count}"))).unwrap()).collect();
            for family in 0..20 {
                assert_eq!(parts.iter().filter(|part| part.picks_family(family)).count(), 1, "{family} of {count}");
            }
        }
        assert!(Selection::parse(Some("part=1%2F4")).unwrap().picks_family(4));
    }

    #[test]
    fn a_part_that_cannot_be_is_refused() {
        for broken in ["part=%", "part=1%2", "part=1%zz3", "part=1/3;x", "part=1/3&part=1/3", "part=1/3&part=2/3"] {
            assert!(Selection::parse(Some(broken)).is_err(), "{broken}");
        }
        for part in ["", "1", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/4/2", "1/99999999999"] {
            let error = Selection::parse(Some(&format!("part={part}"))).unwrap_err();
            assert!(error.to_string().contains("as in part=1/4"), "{part}: {error}");
        }
    }
}

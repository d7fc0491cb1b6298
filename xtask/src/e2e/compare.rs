//! Compares expositions: the sum of some parts with what a whole should be.
//!
//! Invariant: pure. Numbers compare as numbers, help texts not at all, order of samples not at all; order of labels is
//! a kind of difference of its own. Whatever differs is listed, so an empty report means equal.

#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::exposition::{Exposition, Sample};

/// Lines shown of each kind of difference.
const SHOWN: usize = 20;

/// Everything that one or several bodies say together.
#[derive(Debug, Default)]
pub struct View {
    /// TYPE by family; several where parts disagree.
    kinds: BTreeMap<String, Vec<String>>,
    /// Families whose HELP is empty.
    helpless: Vec<String>,
    /// Samples by name and sorted labels.
    samples: BTreeMap<String, Seen>,
    /// Series that came more than once, with how often.
    repeated: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Seen {
    value: f64,
    /// Label names as written.
    order: Vec<String>,
}

impl View {
    /// The sum of `parts`; a series that several parts have, or one part twice, is remembered as repeated.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a Exposition>) -> Self {
        let mut view = Self::default();
        for family in parts.into_iter().flat_map(|part| &part.families) {
            let kinds = view.kinds.entry(family.name.clone()).or_default();
            if !kinds.contains(&family.kind) {
                kinds.push(family.kind.clone());
            }
            if family.help.trim().is_empty() {
                view.helpless.push(family.name.clone());
            }
            for sample in &family.samples {
                view.add(sample);
            }
        }
        view
    }

    fn add(&mut self, sample: &Sample) {
        let order = sample.labels.iter().map(|(name, _)| name.clone()).collect();
        match self.samples.entry(series(sample)) {
            Entry::Vacant(place) => drop(place.insert(Seen { value: sample.value, order })),
            Entry::Occupied(place) => *self.repeated.entry(place.key().clone()).or_insert(1) += 1,
        }
    }

    /// Families, with or without samples.
    pub fn families(&self) -> usize {
        self.kinds.len()
    }

    /// Series.
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Names of families that no sample belongs to by its bare name.
    pub fn families_without_samples(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self.samples.keys().filter_map(|series| series.split('{').next()).collect();
        self.kinds.keys().map(String::as_str).filter(|family| !names.contains(family)).collect()
    }
}

/// Name and labels in sorted order, values quoted so that no two series look alike.
fn series(sample: &Sample) -> String {
    if sample.labels.is_empty() {
        return sample.name.clone();
    }
    let mut labels: Vec<String> = sample.labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    labels.sort_unstable();
    format!("{}{{{}}}", sample.name, labels.join(","))
}

/// The kinds of difference, in the order in which they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A family that is expected and not there.
    FamilyMissing,
    /// A family that is there and not expected.
    FamilyExtra,
    /// Another TYPE, or parts that disagree.
    Type,
    /// A family of ours without help.
    Help,
    /// A series that is expected and not there.
    SampleMissing,
    /// A series that is there and not expected.
    SampleExtra,
    /// Another number.
    Value,
    /// The same labels in another order.
    LabelOrder,
    /// A series of ours that came more than once.
    Repeated,
}

impl Kind {
    fn title(self) -> &'static str {
        match self {
            Self::FamilyMissing => "families missing",
            Self::FamilyExtra => "families too many",
            Self::Type => "types differ",
            Self::Help => "families without help",
            Self::SampleMissing => "samples missing",
            Self::SampleExtra => "samples too many",
            Self::Value => "values differ",
            Self::LabelOrder => "label orders differ",
            Self::Repeated => "series repeated",
        }
    }
}

/// All differences; empty means equal.
#[derive(Debug, Default)]
pub struct Report {
    differences: BTreeMap<Kind, Vec<String>>,
}

impl Report {
    fn add(&mut self, kind: Kind, line: impl Into<String>) {
        self.differences.entry(kind).or_default().push(line.into());
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    /// How many differences of a kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        self.differences.get(&kind).map_or(0, Vec::len)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, lines) in &self.differences {
            writeln!(f, "{}: {}", kind.title(), lines.len())?;
            for line in lines.iter().take(SHOWN) {
                writeln!(f, "    {line}")?;
            }
            if lines.len() > SHOWN {
                writeln!(f, "    … and {} more", lines.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}

/// How `actual` differs from `expected`. Repeated series count against `actual` only: the reference repeats some, and
/// not to do so is a deliberate difference.
pub fn compare(expected: &View, actual: &View) -> Report {
    let mut report = Report::default();
    for (family, kinds) in &expected.kinds {
        match actual.kinds.get(family) {
            None => report.add(Kind::FamilyMissing, family),
            Some(found) if found != kinds => {
                report.add(Kind::Type, format!("{family}: {}, want {}", found.join(" and "), kinds.join(" and ")));
            }
            Some(_) => {}
        }
    }
    for family in actual.kinds.keys().filter(|family| !expected.kinds.contains_key(*family)) {
        report.add(Kind::FamilyExtra, family);
    }
    for family in &actual.helpless {
        report.add(Kind::Help, family);
    }
    for (series, want) in &expected.samples {
        match actual.samples.get(series) {
            None => report.add(Kind::SampleMissing, format!("{series} {}", want.value)),
            Some(found) => {
                if !same_number(found.value, want.value) {
                    report.add(Kind::Value, format!("{series}: {}, want {}", found.value, want.value));
                }
                if found.order != want.order {
                    let (found, want) = (found.order.join(","), want.order.join(","));
                    report.add(Kind::LabelOrder, format!("{series}: {found}, want {want}"));
                }
            }
        }
    }
    for (series, found) in actual.samples.iter().filter(|(series, _)| !expected.samples.contains_key(*series)) {
        report.add(Kind::SampleExtra, format!("{series} {}", found.value));
    }
    for (series, times) in &actual.repeated {
        report.add(Kind::Repeated, format!("{series}: {times} times"));
    }
    report
}

fn same_number(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

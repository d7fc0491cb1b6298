//! Compares expositions: the sum of some parts with what a whole should be.
//!
//! Invariant: pure. Numbers compare as numbers, help texts not at all, order of samples not at all; order of labels is
//! a kind of difference of its own. Whatever differs is listed, so an empty report means equal.

#[cfg(test)]
mod tests;

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
}

#[derive(Debug)]
struct Seen {
    name: String,
    /// As written.
    labels: Vec<(String, String)>,
    /// One for each time the series came, in order.
    values: Vec<f64>,
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
        let seen = self.samples.entry(series(sample)).or_insert_with(|| Seen {
            name: sample.name.clone(),
            labels: sample.labels.clone(),
            values: Vec::new(),
        });
        seen.values.push(sample.value);
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
        let names: BTreeSet<&str> = self.samples.values().map(|seen| seen.name.as_str()).collect();
        self.kinds.keys().map(String::as_str).filter(|family| !names.contains(family)).collect()
    }

    /// Names of families, each with whether it has samples.
    pub fn coverage(&self) -> BTreeMap<&str, bool> {
        let empty = self.families_without_samples();
        self.kinds.keys().map(|family| (family.as_str(), !empty.contains(&family.as_str()))).collect()
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
    /// A series that is expected more than once, and is there once; see [`written_once`].
    WrittenOnce,
}

impl Kind {
    /// What reports call it.
    pub fn title(self) -> &'static str {
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
            Self::WrittenOnce => "series written once",
        }
    }
}

/// One difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What kind of difference.
    pub kind: Kind,
    /// Name of the family or, for differences of a series, of the sample.
    pub name: String,
    /// Labels of the series, in sorted order; none for differences of a family.
    pub labels: Vec<(String, String)>,
    /// The number that is there.
    pub found: Option<f64>,
    /// The number that is expected; several where the series is expected several times, the first of which counts.
    pub wanted: Vec<f64>,
    text: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// All differences; empty means equal.
#[derive(Debug, Default)]
pub struct Report {
    differences: Vec<Difference>,
}

impl Report {
    fn about_family(&mut self, kind: Kind, family: &str, text: impl Into<String>) {
        let (labels, wanted) = (Vec::new(), Vec::new());
        self.differences.push(Difference {
            kind,
            name: family.to_owned(),
            labels,
            found: None,
            wanted,
            text: text.into(),
        });
    }

    /// `found` and `expected` are the series on either side, if it is there.
    fn about_series(&mut self, kind: Kind, found: Option<&Seen>, expected: Option<&Seen>, text: impl Into<String>) {
        let Some(one) = expected.or(found) else { return };
        let mut labels = one.labels.clone();
        labels.sort_unstable();
        self.differences.push(Difference {
            kind,
            name: one.name.clone(),
            labels,
            found: found.and_then(|seen| seen.values.first().copied()),
            wanted: expected.map(|seen| seen.values.clone()).unwrap_or_default(),
            text: text.into(),
        });
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    /// How many differences of a kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        self.differences.iter().filter(|difference| difference.kind == kind).count()
    }

    /// All of them, in no particular order.
    pub fn into_differences(self) -> Vec<Difference> {
        self.differences
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut by_kind: BTreeMap<Kind, Vec<&Difference>> = BTreeMap::new();
        for difference in &self.differences {
            by_kind.entry(difference.kind).or_default().push(difference);
        }
        for (kind, lines) in by_kind {
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
            None => report.about_family(Kind::FamilyMissing, family, family),
            Some(found) if found != kinds => {
                let text = format!("{family}: {}, want {}", found.join(" and "), kinds.join(" and "));
                report.about_family(Kind::Type, family, text);
            }
            Some(_) => {}
        }
    }
    for family in actual.kinds.keys().filter(|family| !expected.kinds.contains_key(*family)) {
        report.about_family(Kind::FamilyExtra, family, family);
    }
    for family in &actual.helpless {
        report.about_family(Kind::Help, family, family);
    }
    for (series, want) in &expected.samples {
        let found = actual.samples.get(series);
        let Some(seen) = found else {
            report.about_series(Kind::SampleMissing, None, Some(want), format!("{series} {}", want.values[0]));
            continue;
        };
        let (here, there) = (seen.values[0], want.values[0]);
        if !same_number(here, there) {
            report.about_series(Kind::Value, found, Some(want), format!("{series}: {here}, want {there}"));
        }
        if !seen.labels.iter().map(|(name, _)| name).eq(want.labels.iter().map(|(name, _)| name)) {
            let text = format!("{series}: {}, want {}", order(seen), order(want));
            report.about_series(Kind::LabelOrder, found, Some(want), text);
        }
    }
    for (series, found) in &actual.samples {
        if !expected.samples.contains_key(series) {
            report.about_series(Kind::SampleExtra, Some(found), None, format!("{series} {}", found.values[0]));
        }
        if found.values.len() > 1 {
            let text = format!("{series}: {} times", found.values.len());
            report.about_series(Kind::Repeated, Some(found), None, text);
        }
    }
    report
}

/// Series that `expected` has several times and `actual` once, for those who want to account for them.
pub fn written_once(expected: &View, actual: &View) -> Vec<Difference> {
    let mut report = Report::default();
    for (series, want) in expected.samples.iter().filter(|(_, want)| want.values.len() > 1) {
        if let Some(found) = actual.samples.get(series).filter(|found| found.values.len() == 1) {
            let text = format!("{series}: once, {} times there", want.values.len());
            report.about_series(Kind::WrittenOnce, Some(found), Some(want), text);
        }
    }
    report.into_differences()
}

fn order(seen: &Seen) -> String {
    let names: Vec<&str> = seen.labels.iter().map(|(name, _)| name.as_str()).collect();
    names.join(",")
}

/// Whether two samples say the same number; NaN is one.
pub fn same_number(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

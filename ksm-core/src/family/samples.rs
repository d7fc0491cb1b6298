//! Writes the samples of one family for one object.
//!
//! No two samples with the same labels are ever written: the first wins
//! (<https://github.com/kubernetes/kube-state-metrics/issues/2445>).

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use super::{FamilyInfo, KeyFilter, Plan, copied_labels};
use crate::exposition::{Number, write_label, write_number};
use crate::view::Time;

/// Most text of one object in bytes, repeated series included. What an API server admits (3 MiB) stays far below it; an
/// object that is made to multiply must not take the memory and the time of all others.
pub(crate) const MAX_TEXT: usize = 64 << 20;

/// Where a generator writes its samples; once it [is full](Samples::is_full) they are dropped, and so is the object.
pub struct Samples<'a> {
    out: &'a mut Vec<u8>,
    family: FamilyInfo<'a>,
    base: &'a [u8],
    plan: &'a Plan,
    written: &'a mut Written,
}

impl<'a> Samples<'a> {
    /// A writer behind `out` for one family; `base` holds the rendered base labels without braces, and `written` is
    /// memory to reuse.
    pub(crate) fn new(
        out: &'a mut Vec<u8>,
        family: FamilyInfo<'a>,
        base: &'a [u8],
        plan: &'a Plan,
        written: &'a mut Written,
    ) -> Self {
        written.series.clear();
        written.places.clear();
        Self { out, family, base, plan, written }
    }

    /// How many samples were written.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.written.series.len()).unwrap_or(u32::MAX)
    }

    /// Whether the object has more samples than any should have. Generators whose work is the product of two lists
    /// look at it and stop.
    pub fn is_full(&self) -> bool {
        self.out.len() + self.written.repeated > MAX_TEXT
    }

    /// One sample with the base labels only.
    pub fn value(&mut self, value: impl Number) {
        self.sample(&[], value);
    }

    /// One sample with the base labels only, if the optional field is set.
    pub fn optional(&mut self, value: Option<impl Number>) {
        if let Some(value) = value {
            self.value(value);
        }
    }

    /// One sample with the time in whole seconds since the Unix epoch, if it is set.
    pub fn time(&mut self, time: Option<&Time>) {
        self.optional(time.and_then(Time::unix_seconds));
    }

    /// One sample with a value for each of the family's label names, in table order.
    pub fn sample(&mut self, values: &[&str], value: impl Number) {
        let names = self.family.labels;
        assert_eq!(names.len(), values.len(), "{}: a value for each label name", self.family.name);
        self.labelled(names.iter().copied().zip(values.iter().copied()), value);
    }

    /// One sample with label names that depend on the object.
    pub fn labelled<'l>(&mut self, labels: impl IntoIterator<Item = (&'l str, &'l str)>, value: impl Number) {
        if self.is_full() {
            return;
        }
        let start = self.out.len();
        self.out.extend_from_slice(self.family.name.as_bytes());
        let open = self.out.len();
        self.out.push(b'{');
        self.out.extend_from_slice(self.base);
        for (name, value) in labels {
            if self.out.len() > open + 1 {
                self.out.push(b',');
            }
            write_label(self.out, name, value);
        }
        if self.out.len() == open + 1 {
            self.out.pop();
        } else {
            self.out.push(b'}');
        }
        if !self.written.insert(self.out, start..self.out.len()) {
            self.written.repeated += self.out.len() - start;
            self.out.truncate(start);
            return;
        }
        self.out.push(b' ');
        write_number(self.out, value.to_f64());
        self.out.push(b'\n');
    }

    /// One sample a known state, 1 for `current` and 0 for the others; the state is the family's only label.
    pub fn states(&mut self, known: &[&str], current: &str) {
        for state in known {
            self.sample(&[state], *state == current);
        }
    }

    /// The sample of a `*_labels` family: the object's labels that the plan copies, or nothing if it copies none.
    pub fn copied_object_labels(&mut self, labels: &BTreeMap<String, String>) {
        let plan = self.plan;
        self.copied("label", labels, &plan.labels);
    }

    /// The sample of an `*_annotations` family, likewise.
    pub fn copied_annotations(&mut self, annotations: &BTreeMap<String, String>) {
        let plan = self.plan;
        self.copied("annotation", annotations, &plan.annotations);
    }

    /// One sample with the admitted entries of `map` as labels `<prefix>_<key>`; nothing without a filter.
    pub fn copied(&mut self, prefix: &str, map: &BTreeMap<String, String>, keys: &KeyFilter) {
        if *keys == KeyFilter::None {
            return;
        }
        let labels = copied_labels(prefix, map, keys);
        self.labelled(labels.iter().map(|(name, value)| (name.as_str(), *value)), 1.0);
    }
}

/// The three values a condition's status can have, as label words, each with whether it holds.
pub fn condition_statuses(status: &str) -> [(&'static str, bool); 3] {
    [("true", status == "True"), ("false", status == "False"), ("unknown", status == "Unknown")]
}

/// Past this many samples of one family in one object, a hash map spares comparing each with all.
const COMPARE_ALL: usize = 32;

/// The series written so far of one family for one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    /// Bytes of series that were written before, in all families of the object.
    pub(crate) repeated: usize,
    series: Vec<Range<usize>>,
    /// Where in `series` one of that hash stands; filled only past [`COMPARE_ALL`].
    places: HashMap<u64, usize>,
    state: RandomState,
}

impl Written {
    /// Notes the series at `range` of `text`; false if it was noted before.
    fn insert(&mut self, text: &[u8], range: Range<usize>) -> bool {
        let new = &text[range.clone()];
        let same = |noted: &Range<usize>| text[noted.clone()] == *new;
        if self.series.len() < COMPARE_ALL {
            if self.series.iter().any(same) {
                return false;
            }
        } else {
            if self.places.is_empty() {
                let hashes = self.series.iter().map(|noted| self.state.hash_one(&text[noted.clone()]));
                self.places = hashes.zip(0..).collect();
            }
            match self.places.entry(self.state.hash_one(new)) {
                Entry::Vacant(place) => {
                    place.insert(self.series.len());
                }
                // Two series of one hash are next to impossible: only then are all compared.
                Entry::Occupied(place) if same(&self.series[*place.get()]) || self.series.iter().any(same) => {
                    return false;
                }
                Entry::Occupied(_) => {}
            }
        }
        self.series.push(range);
        true
    }
}

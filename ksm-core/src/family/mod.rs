//! Metric families: what a resource's table is made of, and how samples are written.
//!
//! A generator is a pure function of the object view and the plan; it writes the samples of one family for one object.

mod keys;
mod plan;
mod samples;

pub use crate::exposition::Kind;
pub use keys::{KeyFilter, copied_labels, sanitize};
pub use plan::Plan;
pub(crate) use samples::{MAX_TEXT, Written};
pub use samples::{Samples, condition_statuses};

/// What users may rely on (<https://kubernetes.io/docs/reference/using-api/deprecation-policy/> is the model).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stability {
    /// May change or go at any release.
    Experimental,
    /// Name, type and labels stay.
    Stable,
}

impl Stability {
    /// The word in front of the help text and in the docs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Experimental => "EXPERIMENTAL",
            Self::Stable => "STABLE",
        }
    }
}

/// What is known of a family without any object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyInfo<'a> {
    /// Name, as in `# TYPE`.
    pub name: &'a str,
    /// Type.
    pub kind: Kind,
    /// What users may rely on.
    pub stability: Stability,
    /// Served only when `--metric-opt-in-list` matches its name.
    pub opt_in: bool,
    /// Label names behind the resource's base labels; copied labels and annotations are not listed.
    pub labels: &'a [&'a str],
    /// Meaning, unit included, in one sentence.
    pub help: &'a str,
}

/// A family of the objects that view `V` reads.
pub struct Family<V: 'static> {
    /// What is known of it without an object.
    pub info: FamilyInfo<'static>,
    /// Writes the samples of one object; must not look at anything but its arguments.
    pub samples: fn(&V, &mut Samples<'_>),
}

// Not derived: a derive would ask the same of the view, which is only named in a function's type.
impl<V: 'static> Clone for Family<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: 'static> Copy for Family<V> {}

impl<V: 'static> Family<V> {
    /// A gauge with the given label names behind the base labels.
    pub const fn gauge(
        name: &'static str,
        stability: Stability,
        labels: &'static [&'static str],
        help: &'static str,
        samples: fn(&V, &mut Samples<'_>),
    ) -> Self {
        Self { info: FamilyInfo { name, kind: Kind::Gauge, stability, opt_in: false, labels, help }, samples }
    }

    /// A counter; its name ends in `_total`.
    pub const fn counter(
        name: &'static str,
        stability: Stability,
        labels: &'static [&'static str],
        help: &'static str,
        samples: fn(&V, &mut Samples<'_>),
    ) -> Self {
        Self { info: FamilyInfo { name, kind: Kind::Counter, stability, opt_in: false, labels, help }, samples }
    }

    /// The same family, served only on request.
    pub const fn opt_in(mut self) -> Self {
        self.info.opt_in = true;
        self
    }
}

#[cfg(test)]
mod tests;

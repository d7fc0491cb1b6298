//! What is served: per resource its headers, the stores' readers and how its list/watches are doing.
//!
//! A catalogue does not change once it is made; a new configuration makes a new one.

use std::sync::Arc;

use crate::exposition::{Format, write_header};
use crate::family::{Plan, Stability};
use crate::resource::AnyResource;
use crate::store::{Reader, Totals};
use crate::watch::{Filtering, Phase, Progress};

/// A resource as it is served.
pub struct ServedResource {
    resource: &'static dyn AnyResource,
    text_headers: Headers,
    openmetrics_headers: Headers,
    readers: Vec<Reader>,
    progress: Vec<Arc<Progress>>,
}

impl ServedResource {
    /// A resource with the families of `plan`; one reader and one progress for each namespace, in the same order.
    pub fn new(
        resource: &'static dyn AnyResource,
        plan: &Plan,
        readers: Vec<Reader>,
        progress: Vec<Arc<Progress>>,
    ) -> Self {
        Self {
            resource,
            text_headers: Headers::new(resource, plan, Format::Text),
            openmetrics_headers: Headers::new(resource, plan, Format::OpenMetrics),
            readers,
            progress,
        }
    }

    /// Plural name.
    pub fn plural(&self) -> &str {
        self.resource.descriptor().plural
    }

    /// Headers of its families in that format.
    pub(crate) fn headers(&self, format: Format) -> &Headers {
        match format {
            Format::Text => &self.text_headers,
            Format::OpenMetrics => &self.openmetrics_headers,
        }
    }

    /// Readers of its stores, one for each namespace.
    pub(crate) fn readers(&self) -> &[Reader] {
        &self.readers
    }

    /// Its list/watches, one for each namespace.
    pub fn progress(&self) -> &[Arc<Progress>] {
        &self.progress
    }

    /// How many list/watches are not settled yet.
    pub fn unsettled(&self) -> usize {
        self.progress.iter().filter(|progress| !progress.is_settled()).count()
    }

    /// Objects held, and sums over all families.
    pub fn totals(&self) -> (usize, Totals) {
        let mut objects = 0;
        let mut sums = Totals::default();
        for reader in &self.readers {
            let snapshot = reader.snapshot();
            objects += snapshot.objects();
            for family in snapshot.totals() {
                sums.bytes += family.bytes;
                sums.samples += family.samples;
            }
        }
        (objects, sums)
    }

    /// The state farthest from following changes of any of its list/watches.
    pub fn phase(&self) -> Phase {
        let distance = |phase: &Phase| match phase {
            Phase::Watching => 0,
            Phase::Listing => 1,
            Phase::BackingOff => 2,
        };
        self.progress.iter().map(|progress| progress.phase()).max_by_key(distance).unwrap_or(Phase::Watching)
    }

    /// Who filters by shard: the API server only if it does so for all list/watches.
    pub fn filtering(&self) -> Filtering {
        let order = |filtering: &Filtering| match filtering {
            Filtering::Local => 0,
            Filtering::ServerSide => 1,
            Filtering::None => 2,
        };
        self.progress.iter().map(|progress| progress.filtering()).min_by_key(order).unwrap_or(Filtering::None)
    }
}

/// The header lines of each family of a plan.
pub(crate) struct Headers {
    text: Box<[u8]>,
    ends: Box<[usize]>,
}

impl Headers {
    fn new(resource: &dyn AnyResource, plan: &Plan, format: Format) -> Self {
        let table = resource.families();
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for &index in plan.families() {
            let family = table[index];
            match family.stability {
                Stability::Stable => {
                    let help = format!("[{}] {}", family.stability.word(), family.help);
                    write_header(&mut text, format, family.name, family.kind, &help);
                }
                Stability::Experimental => write_header(&mut text, format, family.name, family.kind, family.help),
            }
            ends.push(text.len());
        }
        Self { text: text.into(), ends: ends.into() }
    }

    /// How many families there are.
    pub(crate) fn families(&self) -> usize {
        self.ends.len()
    }

    /// The header of the family at that place in the plan.
    pub(crate) fn family(&self, family: usize) -> &[u8] {
        let start = if family == 0 { 0 } else { self.ends[family - 1] };
        &self.text[start..self.ends[family]]
    }

    /// All of them together, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }
}

/// Every resource served, in the order of the exposition.
pub struct Catalogue {
    resources: Vec<ServedResource>,
}

impl Catalogue {
    /// A catalogue of these resources, in this order.
    pub fn new(resources: Vec<ServedResource>) -> Self {
        Self { resources }
    }

    /// The resources.
    pub fn resources(&self) -> &[ServedResource] {
        &self.resources
    }

    /// Whether every list/watch is settled: its initial list is complete, or refused.
    pub fn is_ready(&self) -> bool {
        self.resources.iter().all(|resource| resource.unsettled() == 0)
    }
}

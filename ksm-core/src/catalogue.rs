//! What is served: per resource its headers, the stores' readers and how its list/watches are doing.
//!
//! A catalogue does not change once it is made; a new configuration makes a new one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::join_all;
use tokio::task::spawn_blocking;

use crate::build::Build;
use crate::exposition::{Format, write_header};
use crate::family::{Plan, Stability};
use crate::resource::AnyResource;
use crate::store::{Packed, Reader, Totals};
use crate::watch::{Filtering, Phase, Progress, Shares};

/// What a process serves at the moment. A new configuration replaces it whole, and a scrape keeps the one it began with.
pub type Live = ArcSwap<Served>;

/// A catalogue, and how it is served.
pub struct Served {
    /// What this process is.
    pub about: About,
    /// What there is.
    pub catalogue: Arc<Catalogue>,
    /// Whether clients that take gzip are sent it.
    pub gzip: bool,
}

/// What a process is, for people.
#[derive(Clone, Debug)]
pub struct About {
    /// Program and version.
    pub build: Build,
    /// Which objects of the cluster it is about, in a few words.
    pub part: String,
    /// Which of these objects are its own.
    pub shares: Shares,
}

/// A resource as it is served.
pub struct ServedResource {
    resource: Arc<dyn AnyResource>,
    /// Names of the families, in the order of the plan.
    families: Vec<String>,
    text_headers: Headers,
    openmetrics_headers: Headers,
    readers: Vec<Reader>,
    progress: Vec<Arc<Progress>>,
}

impl ServedResource {
    /// A resource with the families of `plan`; one reader and one progress for each namespace, in the same order.
    pub fn new(
        resource: Arc<dyn AnyResource>,
        plan: &Plan,
        readers: Vec<Reader>,
        progress: Vec<Arc<Progress>>,
    ) -> Self {
        let table = resource.families();
        let families = plan.families().iter().map(|&index| table[index].name.to_owned()).collect();
        Self {
            families,
            text_headers: Headers::new(&*resource, plan, Format::Text),
            openmetrics_headers: Headers::new(&*resource, plan, Format::OpenMetrics),
            resource,
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

    /// Each family by name, with its sums over all namespaces.
    pub fn families(&self) -> Vec<(&str, Totals)> {
        let mut families: Vec<_> = self.families.iter().map(|name| (name.as_str(), Totals::default())).collect();
        for reader in &self.readers {
            for ((_, sums), totals) in families.iter_mut().zip(reader.snapshot().totals()) {
                sums.bytes += totals.bytes;
                sums.samples += totals.samples;
            }
        }
        families
    }

    /// Bytes of text kept in packed form.
    pub fn packed_bytes(&self) -> usize {
        self.readers.iter().map(|reader| reader.snapshot().packed_bytes()).sum()
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
    packed: OnceLock<Packed>,
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
        Self { text: text.into(), ends: ends.into(), packed: OnceLock::new() }
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

    /// The same as pieces of deflate, packed at the first call.
    pub(crate) fn packed(&self) -> &Packed {
        self.packed.get_or_init(|| Packed::of((0..self.families()).map(|family| self.family(family))))
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

    /// Waits, but not long, until readers see all but changes of less than `tolerance` ago.
    pub async fn refresh(&self, tolerance: Duration) {
        let all = self.resources.iter().flat_map(|resource| &resource.progress);
        join_all(all.map(|progress| progress.freshness.ensure(tolerance))).await;
    }

    /// Packs what readers see and is not packed yet, on another thread.
    pub(crate) async fn pack(self: &Arc<Self>) {
        let catalogue = Arc::clone(self);
        let packed = spawn_blocking(move || {
            for reader in catalogue.resources.iter().flat_map(|resource| &resource.readers) {
                reader.snapshot().packed_totals();
            }
        });
        // A panic shows where the same is done for a scrape.
        let _ = packed.await;
    }

    /// Bytes of text that readers see and that [`Catalogue::pack`] would pack.
    pub(crate) fn unpacked_bytes(&self) -> u64 {
        let readers = self.resources.iter().flat_map(|resource| &resource.readers);
        readers.map(|reader| reader.snapshot().unpacked_bytes()).sum()
    }

    /// Whether every list/watch is settled: its initial list is complete, or refused.
    pub fn is_ready(&self) -> bool {
        self.resources.iter().all(|resource| resource.unsettled() == 0)
    }
}

//! A process of a set, without its servers: config maps read, and the shard found out or given.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ksm_core::autoshard::{Autoshard, Means};
use ksm_core::family::{KeyFilter, Plan};
use ksm_core::resource::AnyResource;
use ksm_core::resources;
use ksm_core::shard::Scheme;
use ksm_core::store::{Reader, Snapshot, Store, TextReader};
use ksm_core::watch::{Progress, Shares, Watch};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The one family that is rendered.
const FAMILY: &str = "kube_configmap_created";

/// What runs.
pub struct Member {
    /// What it serves.
    pub shares: Shares,
    /// How its list/watch is doing.
    pub progress: Arc<Progress>,
    /// What its search for a shard goes by.
    pub means: Option<watch::Sender<Means>>,
    reader: Reader,
    tasks: JoinSet<()>,
    seen: Option<(Arc<Snapshot>, Seen)>,
}

/// What readers see.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
    values: BTreeMap<String, f64>,
}

impl Member {
    /// One that reads what `shares` says.
    pub fn start(client: &kube::Client, shares: Shares) -> Self {
        let resource: &'static dyn AnyResource = resources::find("configmaps").expect("config maps are served");
        let plan = Plan::new(&resource.families(), |family| family.name == FAMILY, KeyFilter::None, KeyFilter::None);
        let store = Store::new(plan.families().len());
        let (reader, progress) = (store.reader(), Arc::new(Progress::default()));
        let watch = Watch {
            resource: Arc::new(resource),
            plan,
            namespace: None,
            field_selector: None,
            shares: shares.clone(),
            use_cache: false,
            object_limit: None,
            store,
            progress: Arc::clone(&progress),
            outage: Arc::default(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(watch.run(client.clone()));
        Self { shares, progress, means: None, reader, tasks, seen: None }
    }

    /// Pod `ksm-<ordinal>` in the namespace `mon`.
    pub fn start_pod(client: &kube::Client, ordinal: u32, scheme: Scheme, overlap: Option<Duration>) -> Self {
        let autoshard = Autoshard::new(format!("ksm-{ordinal}"), "mon".to_owned(), scheme, overlap);
        let mut member = Self::start(client, autoshard.shares());
        let (means, received) = watch::channel(autoshard.means(client.clone()));
        member.means = Some(means);
        member.tasks.spawn(autoshard.run(received, member.shares.clone()));
        member
    }

    /// Whether a task has ended, which none does as long as there is something to do.
    pub fn has_ended(&mut self) -> bool {
        self.tasks.try_join_next().is_some()
    }

    /// Names of the config maps that readers see.
    pub fn names(&mut self) -> &BTreeSet<String> {
        &self.look().names
    }

    /// When each of these config maps was made, in seconds since the Unix epoch, as readers see it.
    pub fn values(&mut self) -> &BTreeMap<String, f64> {
        &self.look().values
    }

    fn look(&mut self) -> &Seen {
        let snapshot = self.reader.snapshot();
        if self.seen.as_ref().is_none_or(|(seen, _)| !Arc::ptr_eq(seen, &snapshot)) {
            let (mut text, mut reader) = (Vec::new(), TextReader::default());
            snapshot.blocks().iter().for_each(|block| block.append(0, &mut reader, &mut text));
            let text = String::from_utf8(text).expect("samples are UTF-8");
            let mut seen = Seen::default();
            for line in text.lines() {
                let name = line.split("configmap=\"").nth(1).and_then(|rest| rest.split('"').next());
                let name = name.expect("every sample names its config map").to_owned();
                let value = line.rsplit(' ').next().and_then(|value| value.parse().ok());
                seen.values.insert(name.clone(), value.expect("every sample has a value"));
                seen.names.insert(name);
            }
            self.seen = Some((snapshot, seen));
        }
        &self.seen.as_ref().expect("it was just set").1
    }
}

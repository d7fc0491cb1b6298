//! A process of a set, without its servers: config maps read, and the shard found out or given.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ksm_core::autoshard::Autoshard;
use ksm_core::family::{KeyFilter, Plan};
use ksm_core::resource::AnyResource;
use ksm_core::resources;
use ksm_core::shard::Scheme;
use ksm_core::store::{Reader, Snapshot, Store, TextReader};
use ksm_core::watch::{Progress, Shares, Watch};
use tokio::task::JoinSet;

/// The one family that is rendered.
const FAMILY: &str = "kube_configmap_created";

/// What runs.
pub struct Member {
    /// What it serves.
    pub shares: Shares,
    /// How its list/watch is doing.
    pub progress: Arc<Progress>,
    reader: Reader,
    tasks: JoinSet<()>,
    seen: Option<(Arc<Snapshot>, BTreeSet<String>)>,
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
        Self { shares, progress, reader, tasks, seen: None }
    }

    /// Pod `ksm-<ordinal>` in the namespace `mon`.
    pub fn start_pod(client: &kube::Client, ordinal: u32, scheme: Scheme, overlap: Option<Duration>) -> Self {
        let autoshard = Autoshard { pod: format!("ksm-{ordinal}"), namespace: "mon".to_owned(), scheme, overlap };
        let mut member = Self::start(client, autoshard.shares());
        let clients = tokio::sync::watch::channel(client.clone()).1;
        member.tasks.spawn(autoshard.run(clients, member.shares.clone()));
        member
    }

    /// Whether a task has ended, which none does as long as there is something to do.
    pub fn has_ended(&mut self) -> bool {
        self.tasks.try_join_next().is_some()
    }

    /// Names of the config maps that readers see.
    pub fn names(&mut self) -> &BTreeSet<String> {
        let snapshot = self.reader.snapshot();
        if self.seen.as_ref().is_none_or(|(seen, _)| !Arc::ptr_eq(seen, &snapshot)) {
            let (mut text, mut reader) = (Vec::new(), TextReader::default());
            snapshot.blocks().iter().for_each(|block| block.append(0, &mut reader, &mut text));
            let text = String::from_utf8(text).expect("samples are UTF-8");
            let name = |line: &str| line.split("configmap=\"").nth(1)?.split('"').next().map(str::to_owned);
            let names = text.lines().map(|line| name(line).expect("every sample names its config map")).collect();
            self.seen = Some((snapshot, names));
        }
        &self.seen.as_ref().expect("it was just set").1
    }
}

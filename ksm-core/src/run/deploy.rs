//! A deployment: the stores and list/watches of one configuration, and the catalogue that reads them.
//!
//! A process runs one, and a second one beside it while a new configuration is listed. Dropping one ends its
//! list/watches; what a scrape in progress reads of it stays until the scrape is done.

use std::sync::Arc;

use super::pending::List;
use super::sharding::Sharding;
use super::{Tasks, Threads};
use crate::build::Build;
use crate::catalogue::{About, Catalogue, Served, ServedResource};
use crate::options::{Part, Settings};
use crate::resource::Scope;
use crate::store::Store;
use crate::watch::{Progress, Shares, Watch};

pub(super) struct Deployment {
    /// What is served.
    pub(super) served: Arc<Served>,
    /// The list/watches.
    pub(super) tasks: Tasks,
    /// How each of them is doing.
    pub(super) lists: Vec<List>,
    /// Which share they keep.
    pub(super) sharding: Arc<Sharding>,
}

impl Deployment {
    /// Starts the list/watches.
    pub(super) fn start(
        build: Build,
        settings: &Settings,
        threads: Threads,
        client: kube::Client,
        sharding: Arc<Sharding>,
    ) -> Self {
        let about = About { build, part: describe(&settings.part), shares: sharding.shares().clone() };
        let (catalogue, watches) = wire(settings, sharding.shares(), threads);
        let mut tasks = Tasks::default();
        tasks.spawn("search for a shard".to_owned(), sharding.ended());
        let mut lists = Vec::new();
        for watch in watches {
            let plural = watch.resource.descriptor().plural.to_owned();
            let name = format!("list/watch of {plural}");
            let (namespace, progress) = (watch.namespace.clone(), Arc::clone(&watch.progress));
            lists.push(List { plural, namespace, progress });
            tasks.spawn(name, watch.run(client.clone()));
        }
        let served = Served { about, catalogue: Arc::new(catalogue), gzip: settings.enable_gzip_encoding };
        Self { served: Arc::new(served), tasks, lists, sharding }
    }
}

/// A store and a list/watch for each resource and namespace, and the catalogue that reads them.
pub(super) fn wire(settings: &Settings, shares: &Shares, threads: Threads) -> (Catalogue, Vec<Watch>) {
    let (mut watches, mut served) = (Vec::new(), Vec::new());
    let outage = Arc::default();
    let threads = match threads {
        Threads::One => 1,
        Threads::Many => std::thread::available_parallelism().map_or(1, usize::from),
    };
    for enabled in &settings.resources {
        let descriptor = enabled.resource.descriptor();
        let (mut readers, mut all_progress) = (Vec::new(), Vec::new());
        for namespace in namespaces(descriptor.scope, &settings.namespaces) {
            let store = Store::new(enabled.plan.families().len()).with_threads(threads);
            let progress = Arc::new(Progress::default());
            readers.push(store.reader());
            all_progress.push(Arc::clone(&progress));
            watches.push(Watch {
                resource: Arc::clone(&enabled.resource),
                plan: enabled.plan.clone(),
                field_selector: field_selector(settings, descriptor.plural, descriptor.scope, namespace.is_none()),
                namespace,
                shares: shares.clone(),
                use_cache: settings.use_apiserver_cache,
                object_limit: settings.object_limit,
                store,
                progress,
                outage: Arc::clone(&outage),
            });
        }
        served.push(ServedResource::new(Arc::clone(&enabled.resource), &enabled.plan, readers, all_progress));
    }
    (Catalogue::new(served), watches)
}

/// The namespaces to watch a resource in, `None` for all at once: resources without namespaces are watched once
/// whatever was asked for (<https://github.com/kubernetes/kube-state-metrics/issues/2998>).
pub(super) fn namespaces(scope: Scope, asked: &[String]) -> Vec<Option<String>> {
    match scope {
        Scope::Namespaced if !asked.is_empty() => asked.iter().cloned().map(Some).collect(),
        Scope::Namespaced | Scope::Cluster => vec![None],
    }
}

/// What the API server is to leave out. Only resources with namespaces are asked to leave some out
/// (<https://github.com/kubernetes/kube-state-metrics/issues/2190>), and only where all are read at once.
fn field_selector(settings: &Settings, plural: &str, scope: Scope, all_namespaces: bool) -> Option<String> {
    let excluded = match scope {
        Scope::Namespaced if all_namespaces => settings.excluded_namespaces.as_slice(),
        Scope::Namespaced | Scope::Cluster => &[],
    };
    let terms = excluded.iter().map(|namespace| format!("metadata.namespace!={namespace}"));
    let terms: Vec<String> = terms.chain(settings.part.field_selector(plural)).collect();
    (!terms.is_empty()).then(|| terms.join(","))
}

fn describe(part: &Part) -> String {
    match part {
        Part::Everything => "All resources".to_owned(),
        Part::Node(node) => format!("Pods of node {node}"),
        Part::Unscheduled => "Pods bound to no node".to_owned(),
        Part::Rest => "All resources but pods".to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::exposition::{Format, Kind};
    use crate::family::{FamilyInfo, Plan, Stability};
    use crate::options::{Address, Connection, Enabled, Lists, SharedArgs, Timeouts};
    use crate::resource::{AnyResource, Descriptor, Fetch, Rendered};
    use crate::serve;
    use crate::shard::Shard;
    use crate::view::{DecodeError, Encoding, Meta, Object, ObjectMeta, decode};

    /// How long anything may take before a test fails.
    const DEADLINE: Duration = Duration::from_secs(120);

    /// Settings to serve these resources with nothing out of the ordinary.
    pub(in crate::run) fn settings(plurals: &[&str]) -> Settings {
        let enabled = |plural: &&str| {
            let resource = crate::resources::find(plural).unwrap();
            Enabled { resource: Arc::new(resource), plan: Plan::by_default(&resource.families()) }
        };
        Settings {
            connection: Connection::default(),
            metrics: Address { host: String::new(), port: 0 },
            telemetry: Address { host: String::new(), port: 0 },
            part: Part::Everything,
            shard: Shard::WHOLE,
            autoshard: None,
            lists: Lists::new(&SharedArgs::default()).unwrap(),
            resources: plurals.iter().map(enabled).collect(),
            namespaces: Vec::new(),
            excluded_namespaces: Vec::new(),
            object_limit: None,
            timeouts: Timeouts::DEFAULT,
            shutdown_delay: Duration::ZERO,
            web_file: None,
            auth_filter: false,
            enable_gzip_encoding: false,
            use_apiserver_cache: false,
            verbosity: 0,
            warnings: Vec::new(),
        }
    }

    fn selectors(settings: &Settings) -> Vec<(String, Option<String>)> {
        let (_, watches) = wire(settings, &settings.shard.into(), Threads::One);
        watches.into_iter().map(|w| (w.resource.descriptor().plural.to_owned(), w.field_selector)).collect()
    }

    /// A resource that is made up at run time: nothing of it is in the program.
    struct Widgets {
        plural: String,
        kind: String,
        family: String,
    }

    impl AnyResource for Widgets {
        fn descriptor(&self) -> Descriptor<'_> {
            let (plural, kind) = (self.plural.as_str(), self.kind.as_str());
            let fetch = Fetch::Whole;
            let scope = Scope::Cluster;
            Descriptor { plural, group: "", version: "v1", kind, scope, fetch, enabled_by_default: true }
        }

        fn families(&self) -> Vec<FamilyInfo<'_>> {
            let (kind, stability) = (Kind::Gauge, Stability::Experimental);
            vec![FamilyInfo { name: &self.family, kind, stability, opt_in: false, labels: &["name"], help: "Help." }]
        }

        fn base_labels(&self) -> Vec<&str> {
            Vec::new()
        }

        fn render(
            &self,
            encoding: Encoding,
            bytes: &[u8],
            _: &Plan,
            admit: &mut dyn FnMut(&ObjectMeta) -> bool,
            out: &mut Rendered,
        ) -> Result<bool, DecodeError> {
            let object: Meta = decode(encoding, bytes)?;
            if !admit(object.metadata()) {
                return Ok(false);
            }
            out.clear();
            let line = format!("{}{{name=\"{}\"}} 1\n", self.family, object.metadata().name);
            out.text.extend_from_slice(line.as_bytes());
            out.ends.push(u32::try_from(line.len()).unwrap());
            out.samples.push(1);
            Ok(true)
        }
    }

    #[tokio::test]
    async fn a_resource_known_at_run_time_only_is_served_and_let_go_of() {
        let testbed = ksm_testbed::Testbed::builder().start().await.unwrap();
        let object = serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "w1"}});
        testbed.cluster().apply(object).unwrap();
        let [plural, kind, family] = ["nodes", "Node", "made_up_widgets"].map(str::to_owned);
        let resource: Arc<dyn AnyResource> = Arc::new(Widgets { plural, kind, family });
        let held = Arc::downgrade(&resource);
        let args = SharedArgs::default();
        let settings = Settings::resolve(&args, Part::Everything, Shard::WHOLE, &[resource]).unwrap();
        let client = kube::Client::try_from(kube::Config::new(testbed.url().parse().unwrap())).unwrap();
        let sharding = Sharding::start(&settings, &client);
        let deployment = Deployment::start(crate::build!(), &settings, Threads::One, client, sharding);
        let listed = async {
            while !deployment.served.catalogue.is_ready() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(DEADLINE, listed).await.expect("it is listed");
        let mut text = Vec::new();
        serve::write_all(&deployment.served.catalogue, Format::Text, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let expected = "# HELP made_up_widgets Help.\n# TYPE made_up_widgets gauge\nmade_up_widgets{name=\"w1\"} 1\n";
        assert_eq!(text, expected);
        drop((settings, deployment));
        let gone = async {
            while held.strong_count() > 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(DEADLINE, gone).await.expect("nobody holds it any more");
    }

    #[test]
    fn cluster_scoped_resources_are_watched_once() {
        // R13, https://github.com/kubernetes/kube-state-metrics/issues/2998
        let asked = ["a".to_owned(), "b".to_owned()];
        assert_eq!(namespaces(Scope::Cluster, &asked), [None]);
        assert_eq!(namespaces(Scope::Namespaced, &asked), [Some("a".to_owned()), Some("b".to_owned())]);
        assert_eq!(namespaces(Scope::Namespaced, &[]), [None]);
    }

    #[test]
    fn each_namespace_has_a_watch_and_a_store_of_its_own() {
        // R30: its own store, progress and back-off.
        let names = vec!["a".to_owned(), "b".to_owned()];
        let settings = Settings { namespaces: names, use_apiserver_cache: true, ..settings(&["daemonsets"]) };
        let (catalogue, watches) = wire(&settings, &settings.shard.into(), Threads::One);
        let namespaces: Vec<_> = watches.iter().map(|watch| watch.namespace.as_deref()).collect();
        assert_eq!(namespaces, [Some("a"), Some("b")]);
        assert!(watches.iter().all(|watch| watch.use_cache && watch.field_selector.is_none()));
        let progress = catalogue.resources()[0].progress();
        assert_eq!(progress.len(), 2);
        for (watch, progress) in watches.iter().zip(progress) {
            assert!(Arc::ptr_eq(&watch.progress, progress));
        }
    }

    #[test]
    fn field_selectors_are_sent_only_where_the_api_takes_them() {
        // R26, https://github.com/kubernetes/kube-state-metrics/issues/2190
        let excluded_namespaces = vec!["team-x".to_owned(), "b".to_owned()];
        let denied = Settings { excluded_namespaces, ..settings(&["nodes", "persistentvolumes", "pods"]) };
        let namespaced = "metadata.namespace!=team-x,metadata.namespace!=b".to_owned();
        let pair = |plural: &str, selector| (plural.to_owned(), selector);
        assert_eq!(
            selectors(&denied),
            [pair("nodes", None), pair("persistentvolumes", None), pair("pods", Some(namespaced.clone()))]
        );
        let part = Part::Unscheduled;
        assert_eq!(
            selectors(&Settings { part, resources: settings(&["pods"]).resources, ..denied }),
            [pair("pods", Some(format!("{namespaced},spec.nodeName=")))]
        );
    }
}

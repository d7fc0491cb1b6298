//! What is watched, and how a run says why it ended.

use std::io;

use super::*;
use crate::options::Enabled;
use crate::resource::AnyResource;

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
    let resource: &'static dyn AnyResource = crate::resources::find("daemonsets").unwrap();
    let plan = crate::family::Plan::by_default(&resource.families());
    let settings = Settings {
        connection: crate::options::Connection::default(),
        metrics: crate::options::Address { host: String::new(), port: 0 },
        telemetry: crate::options::Address { host: String::new(), port: 0 },
        part: Part::Everything,
        shard: crate::shard::Shard::WHOLE,
        autoshard: None,
        resources: vec![Enabled { resource, plan }],
        namespaces: vec!["a".to_owned(), "b".to_owned()],
        enable_gzip_encoding: false,
        use_apiserver_cache: true,
        verbosity: 0,
        warnings: Vec::new(),
    };
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
fn causes_follow_on_one_line_without_repetition() {
    let failure = Failure::Listen {
        what: "metrics",
        host: "::".to_owned(),
        port: 80,
        source: io::Error::new(io::ErrorKind::AddrInUse, "in use\nsecret"),
    };
    assert_eq!(
        chain(&failure),
        "cannot listen on :: port 80 for metrics (see --host, --port, --telemetry-host, --telemetry-port): in use"
    );
    let transparent =
        Failure::from(ConnectError::Url { url: "::".to_owned(), source: "http://".parse::<http::Uri>().unwrap_err() });
    assert_eq!(chain(&transparent), "cannot use API server ::: empty string");
}

#[tokio::test]
async fn a_task_that_ends_or_panics_is_named() {
    let mut tasks = Tasks::default();
    tasks.spawn("good".to_owned(), std::future::pending());
    tasks.spawn("bad".to_owned(), async { panic!("on purpose") });
    assert_eq!(tasks.ended().await, "bad");
    tasks.spawn("done".to_owned(), async {});
    assert_eq!(tasks.ended().await, "done");
}

#[test]
fn versions_are_written_out() {
    let build = Build { name: "ksm-x", version: "1.2.3", revision: "abc" };
    assert_eq!(build.to_string(), "ksm-x 1.2.3 (revision abc)");
    assert_eq!(crate::build!().name, "ksm-core");
}

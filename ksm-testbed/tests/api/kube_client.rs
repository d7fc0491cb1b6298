//! The client that the exporter is built on, unchanged.

use futures::StreamExt;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use ksm_testbed::{SampleOptions, Testbed};
use kube::{
    Api, Client, Config, Resource,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    runtime::{WatchStreamExt, watcher},
};

use crate::client::pod;

fn connect(testbed: &Testbed) -> Client {
    Client::try_from(Config::new(testbed.url().parse().unwrap())).unwrap()
}

#[tokio::test]
async fn lists_gets_and_writes() {
    let testbed = Testbed::builder().sample(SampleOptions::new(60, 1)).start().await.unwrap();
    let client = connect(&testbed);
    let deployments: Api<Deployment> = Api::all(client.clone());
    assert_eq!(
        deployments.list(&ListParams::default()).await.unwrap().items.len(),
        testbed.cluster().count("deployments").unwrap()
    );
    let pods: Api<Pod> = Api::namespaced(client.clone(), "n");
    let new: Pod = serde_json::from_value(pod("n", "p", "x")).unwrap();
    let created = pods.create(&PostParams::default(), &new).await.unwrap();
    assert_eq!(pods.get("p").await.unwrap(), created);
    let patch = serde_json::json!({"metadata": {"labels": {"patched": "yes"}}});
    let patched = pods.patch("p", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    assert_eq!(patched.meta().labels.as_ref().unwrap()["patched"], "yes");
    pods.delete("p", &DeleteParams::default()).await.unwrap();
    let error = pods.get("p").await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 404));
}

#[tokio::test]
async fn watchers_follow_by_list_and_by_streamed_list() {
    let testbed = Testbed::builder().sample(SampleOptions::new(60, 1)).start().await.unwrap();
    let client = connect(&testbed);
    for config in [watcher::Config::default().page_size(20), watcher::Config::default().streaming_lists()] {
        let api: Api<Pod> = Api::all(client.clone());
        let mut events = std::pin::pin!(watcher(api, config).default_backoff());
        let mut initial = 0;
        loop {
            match events.next().await.unwrap().unwrap() {
                watcher::Event::InitApply(_) => initial += 1,
                watcher::Event::InitDone => break,
                _ => {}
            }
        }
        assert_eq!(initial, testbed.cluster().count("pods").unwrap());
        testbed.cluster().apply(pod("n", "p", "x")).unwrap();
        let watcher::Event::Apply(seen) = events.next().await.unwrap().unwrap() else { panic!("not applied") };
        assert_eq!(seen.meta().name.as_deref(), Some("p"));
        testbed.cluster().delete("pods", "n", "p").unwrap();
        assert!(matches!(events.next().await.unwrap().unwrap(), watcher::Event::Delete(_)));
    }
}

//! Watches and streamed lists: events, bookmarks, selectors, 410.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use ksm_testbed::{SampleOptions, ShardRange, Testbed};
use serde_json::{Value, json};

use crate::client::{DEADLINE, JSON, Next, PROTOBUF, STREAMED, empty, pod, start};

fn event(kind: &str, name: &str, version: u64) -> (String, String, u64) {
    (kind.to_owned(), name.to_owned(), version)
}

#[tokio::test]
async fn events_follow_the_version_in_order_in_both_encodings() {
    for accept in [JSON, PROTOBUF] {
        let (testbed, client) = empty().await;
        testbed.cluster().apply(pod("a", "p", "x")).unwrap();
        let version = testbed.cluster().resource_version();
        testbed.cluster().apply(pod("a", "q", "x")).unwrap();
        let mut watch = client.watch(&format!("/api/v1/pods?watch=1&resourceVersion={version}"), accept).await;
        assert_eq!(watch.brief().await, event("ADDED", "q", version + 1));
        testbed.cluster().apply(pod("a", "p", "y")).unwrap();
        assert_eq!(watch.brief().await, event("MODIFIED", "p", version + 2));
        testbed.cluster().delete("pods", "a", "p").unwrap();
        assert_eq!(watch.brief().await, event("DELETED", "p", version + 3));
        testbed.cluster().apply(pod("a", "p", "x")).unwrap();
        assert_eq!(watch.brief().await, event("ADDED", "p", version + 4));
    }
}

#[tokio::test]
async fn objects_on_a_watch_say_their_kind() {
    let (testbed, client) = empty().await;
    testbed.cluster().apply(pod("a", "p", "x")).unwrap();
    for (accept, kind) in [
        (JSON, "Pod"),
        (PROTOBUF, "Pod"),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "PartialObjectMetadata"),
        (&format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"), "PartialObjectMetadata"),
    ] {
        let mut watch = client.watch("/api/v1/pods?watch=1", accept).await;
        let Next::Event(_, object) = watch.next().await else { panic!("no event for {accept}") };
        assert_eq!(
            (&object["kind"], &object["metadata"]["name"], &object["spec"]["x"]),
            (&json!(kind), &json!("p"), &Value::Null)
        );
    }
}

#[tokio::test]
async fn a_watch_for_metadata_lists_ends_at_once() {
    let (testbed, client) = empty().await;
    testbed.cluster().apply(pod("a", "p", "x")).unwrap();
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    assert_eq!(client.watch("/api/v1/pods?watch=1", accept).await.next().await, Next::End);
}

#[tokio::test]
async fn objects_enter_and_leave_selections() {
    let (testbed, client) = empty().await;
    let version = testbed.cluster().resource_version();
    let path = |query: &str| format!("/api/v1/namespaces/a/pods?watch=1&resourceVersion={version}&{query}");
    let mut on_x = client.watch(&path("fieldSelector=spec.nodeName%3Dx"), JSON).await;
    let mut unbound = client.watch(&path("fieldSelector=spec.nodeName%3D"), PROTOBUF).await;
    let mut labelled = client.watch(&path("labelSelector=node%3Dx"), PROTOBUF).await;
    for (namespace, node) in [("b", "x"), ("a", ""), ("a", "x"), ("a", "y")] {
        testbed.cluster().apply(pod(namespace, "p", node)).unwrap();
    }
    for watch in [&mut on_x, &mut labelled] {
        assert_eq!(watch.brief().await, event("ADDED", "p", version + 3));
        assert_eq!(watch.brief().await, event("DELETED", "p", version + 4));
    }
    assert_eq!(unbound.brief().await, event("ADDED", "p", version + 2));
    assert_eq!(unbound.brief().await, event("DELETED", "p", version + 3));
    testbed.cluster().apply(pod("a", "q", "x")).unwrap();
    testbed.cluster().delete("pods", "a", "p").unwrap();
    assert_eq!(on_x.brief().await, event("ADDED", "q", version + 5), "the deletion of a pod on y is no concern of x");
}

#[tokio::test]
async fn a_streamed_list_ends_its_initial_events_with_a_bookmark() {
    for accept in [JSON, PROTOBUF] {
        let (testbed, client) = start(Testbed::builder().sample(SampleOptions::new(50, 1))).await;
        let mut watch = client.watch(&format!("/api/v1/pods?{STREAMED}"), accept).await;
        for _ in 0..50 {
            assert_eq!(watch.brief().await.0, "ADDED");
        }
        let Next::Event(kind, object) = watch.next().await else { panic!("no bookmark") };
        assert_eq!((kind.as_str(), object["kind"].as_str()), ("BOOKMARK", Some("Pod")));
        assert_eq!(object["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
        let version = testbed.cluster().resource_version();
        assert_eq!(object["metadata"]["resourceVersion"], version.to_string());
        testbed.cluster().apply(pod("a", "p", "x")).unwrap();
        assert_eq!(watch.brief().await, event("ADDED", "p", version + 1));
    }
}

#[tokio::test]
async fn streamed_lists_are_sharded_and_selected() {
    let builder = Testbed::builder().sample(SampleOptions::new(100, 1)).sharded_list_watch(true);
    let (_testbed, client) = start(builder).await;
    let mut seen = 0;
    for ordinal in 0..2 {
        let shard = ShardRange::of(ordinal, 2).selector().replace(' ', "%20");
        let mut watch = client.watch(&format!("/api/v1/pods?{STREAMED}&shardSelector={shard}"), PROTOBUF).await;
        while watch.brief().await.0 == "ADDED" {
            seen += 1;
        }
    }
    assert_eq!(seen, 100);
    let path = format!("/api/v1/pods?{STREAMED}&fieldSelector=spec.nodeName%3Dnode-00001");
    let mut watch = client.watch(&path, PROTOBUF).await;
    let expected = client.names("/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-00001").await;
    for name in &expected {
        assert_eq!(&watch.brief().await.1, name);
    }
    assert_eq!(watch.brief().await.0, "BOOKMARK");
}

#[tokio::test]
async fn streamed_lists_need_their_companions() {
    let (_testbed, client) = empty().await;
    for query in [
        "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan",
        "sendInitialEvents=true&resourceVersionMatch=Exact",
    ] {
        let answer = client.get(&format!("/api/v1/pods?watch=1&{query}"), JSON).await;
        assert_eq!(answer.error(), (422, "Invalid".to_owned()), "{query}");
    }
    let (_testbed, client) = start(Testbed::builder().watch_list(false)).await;
    let answer = client.get(&format!("/api/v1/pods?{STREAMED}"), JSON).await;
    assert_eq!(answer.error(), (422, "Invalid".to_owned()));
}

#[tokio::test]
async fn a_forgotten_version_is_an_error_event() {
    for accept in [JSON, PROTOBUF] {
        let (testbed, client) = empty().await;
        let version = testbed.cluster().resource_version();
        testbed.cluster().apply(pod("a", "p", "x")).unwrap();
        testbed.cluster().compact();
        let mut watch = client.watch(&format!("/api/v1/pods?watch=1&resourceVersion={version}"), accept).await;
        let Next::Event(kind, status) = watch.next().await else { panic!("no event") };
        assert_eq!((kind.as_str(), &status["kind"], &status["code"]), ("ERROR", &json!("Status"), &json!(410)));
        assert_eq!(watch.next().await, Next::End);
    }
}

#[tokio::test]
async fn expiry_ends_open_watches_of_its_resource_only() {
    let (testbed, client) = empty().await;
    testbed.cluster().apply(pod("a", "p", "x")).unwrap();
    testbed.cluster().apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})).unwrap();
    let mut pods = client.watch("/api/v1/pods?watch=1", PROTOBUF).await;
    let mut nodes = client.watch("/api/v1/nodes?watch=1", PROTOBUF).await;
    assert_eq!((pods.brief().await.1, nodes.brief().await.1), ("p".to_owned(), "n".to_owned()));
    client.request(Method::POST, "/testbed/expire?resource=pods", &[], Bytes::new()).await;
    let Next::Event(kind, status) = pods.next().await else { panic!("no event") };
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
    assert_eq!(pods.next().await, Next::End);
    testbed.cluster().delete("nodes", "", "n").unwrap();
    assert_eq!(nodes.brief().await.0, "DELETED");
    let wrong = client.request(Method::POST, "/testbed/expire?resource=widgets", &[], Bytes::new()).await;
    assert_eq!(wrong.error().0, 400);
}

#[tokio::test]
async fn bookmarks_come_where_allowed_and_carry_on_the_version() {
    let (testbed, client) = start(Testbed::builder().bookmark_interval(Duration::from_millis(5))).await;
    let version = testbed.cluster().resource_version();
    let path = format!("/api/v1/pods?watch=1&resourceVersion={version}");
    let mut with = client.watch(&format!("{path}&allowWatchBookmarks=true"), JSON).await;
    let mut without = client.watch(&path, JSON).await;
    testbed.cluster().apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})).unwrap();
    loop {
        let (kind, name, seen) = with.brief().await;
        assert_eq!((kind.as_str(), name.as_str()), ("BOOKMARK", ""));
        if seen == version + 1 {
            break;
        }
    }
    testbed.cluster().apply(pod("a", "p", "x")).unwrap();
    assert_eq!(without.brief().await, event("ADDED", "p", version + 2));
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_up() {
    let (_testbed, client) = empty().await;
    let mut watch = client.watch("/api/v1/pods?watch=1&timeoutSeconds=1", JSON).await;
    assert_eq!(watch.next().await, Next::End);
}

#[tokio::test]
async fn closed_watches_are_noticed() {
    let (testbed, client) = empty().await;
    let watch = client.watch("/api/v1/pods?watch=1", JSON).await;
    assert_eq!(testbed.stats().open_watches("pods"), 1);
    drop(watch);
    let deadline = std::time::Instant::now() + DEADLINE;
    while testbed.stats().open_watches("pods") > 0 {
        assert!(std::time::Instant::now() < deadline, "the watch is still counted as open");
        tokio::task::yield_now().await;
    }
}

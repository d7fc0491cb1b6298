//! Lists: pages, selectors, shards, both encodings, metadata only.

use std::collections::BTreeSet;

use k8s_pb::{api::core::v1::PodList, apimachinery::pkg::apis::meta::v1::PartialObjectMetadataList};
use ksm_testbed::{SampleOptions, ShardRange, Testbed, uid_hash};
use prost::Message;
use serde_json::{Value, json};

use crate::client::{Client, JSON, PROTOBUF, empty, open, pod, start};

async fn four_pods() -> (Testbed, Client) {
    let (testbed, client) = empty().await;
    for (namespace, name, node) in [("a", "p", "x"), ("a", "q", "y"), ("b", "r", "x"), ("b", "s", "")] {
        testbed.cluster().apply(pod(namespace, name, node)).unwrap();
    }
    (testbed, client)
}

fn shard(ordinal: u32, total: u32) -> String {
    let encoded = ShardRange::of(ordinal, total).selector().replace(' ', "%20");
    format!("/api/v1/pods?shardSelector={encoded}")
}

#[tokio::test]
async fn json_and_protobuf_lists_agree() {
    let (_testbed, client) = start(Testbed::builder().sample(SampleOptions::new(300, 1))).await;
    let answer = client.get("/api/v1/pods", PROTOBUF).await;
    assert_eq!(answer.headers["content-type"], PROTOBUF);
    assert_eq!(answer.headers["content-length"], answer.body.len().to_string().as_str());
    let (kind, raw) = open(&answer.body);
    let protobuf = PodList::decode(raw).unwrap();
    let json = client.json("/api/v1/pods").await;
    assert_eq!((kind.as_str(), &json["kind"], &json["apiVersion"]), ("PodList", &json!("PodList"), &json!("v1")));
    assert_eq!(protobuf.metadata.unwrap().resource_version.as_deref(), json["metadata"]["resourceVersion"].as_str());
    let items = json["items"].as_array().unwrap();
    assert_eq!((items.len(), protobuf.items.len()), (300, 300));
    for (left, right) in items.iter().zip(protobuf.items) {
        assert_eq!(left["metadata"]["uid"].as_str(), right.metadata.unwrap().uid.as_deref());
        assert_eq!(left["kind"], Value::Null, "items of lists do not say their kind");
    }
}

#[tokio::test]
async fn namespaces_and_names_narrow_down() {
    let (_testbed, client) = four_pods().await;
    assert_eq!(client.names("/api/v1/pods").await, ["p", "q", "r", "s"]);
    assert_eq!(client.names("/api/v1/namespaces/a/pods").await, ["p", "q"]);
    assert_eq!(client.names("/api/v1/namespaces/none/pods").await, [""; 0]);
    let one = client.json("/api/v1/namespaces/a/pods/p").await;
    assert_eq!((&one["kind"], &one["metadata"]["name"]), (&json!("Pod"), &json!("p")));
    assert_eq!(client.get("/api/v1/namespaces/b/pods/p", JSON).await.error(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn selectors_narrow_down() {
    let (_testbed, client) = four_pods().await;
    for (query, expected) in [
        ("labelSelector=app%3Dp", &["p"][..]),
        ("labelSelector=app+in+(p,r),node!%3Dy", &["p", "r"]),
        ("labelSelector=none", &[]),
        ("fieldSelector=spec.nodeName%3Dx", &["p", "r"]),
        ("fieldSelector=spec.nodeName%3D", &["s"]),
        ("fieldSelector=spec.nodeName!%3D,metadata.namespace%3Da", &["p", "q"]),
        ("fieldSelector=metadata.name%3D%3Dq", &["q"]),
        ("fieldSelector=status.phase%3DRunning&labelSelector=node%3Dx", &["p", "r"]),
    ] {
        let list = client.json(&format!("/api/v1/pods?{query}")).await;
        let names: Vec<_> =
            list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].clone()).collect();
        assert_eq!(names, expected, "{query}");
        assert_eq!(list["metadata"]["remainingItemCount"], Value::Null);
    }
    for query in ["fieldSelector=spec.image%3Dx", "labelSelector=a+b", "fieldSelector=metadata.name"] {
        let answer = client.get(&format!("/api/v1/pods?{query}"), JSON).await;
        assert_eq!(answer.error(), (400, "BadRequest".to_owned()), "{query}");
    }
    let answer = client.get("/api/v1/nodes?fieldSelector=spec.nodeName%3Dx", JSON).await;
    assert_eq!(answer.json()["message"], "field label not supported: spec.nodeName");
    let answer = client.get("/apis/apps/v1/deployments?fieldSelector=a%3Dx", JSON).await;
    let message = r#""a" is not a known field selector: only "metadata.name", "metadata.namespace""#;
    assert_eq!(answer.json()["message"], message);
}

#[tokio::test]
async fn pages_show_one_version_until_it_is_forgotten() {
    let (testbed, client) = four_pods().await;
    let first = client.json("/api/v1/pods?limit=2").await;
    assert_eq!((first["items"].as_array().unwrap().len(), &first["metadata"]["remainingItemCount"]), (2, &json!(2)));
    let token = first["metadata"]["continue"].as_str().unwrap();
    testbed.cluster().apply(pod("b", "new", "x")).unwrap();
    testbed.cluster().delete("pods", "b", "s").unwrap();
    let second = client.json(&format!("/api/v1/pods?limit=1&continue={token}")).await;
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(
        (&second["items"][0]["metadata"]["name"], &second["metadata"]["remainingItemCount"]),
        (&json!("r"), &json!(1))
    );
    let token = second["metadata"]["continue"].as_str().unwrap();
    let last = client.json(&format!("/api/v1/pods?limit=1&continue={token}")).await;
    assert_eq!((&last["items"][0]["metadata"]["name"], &last["metadata"]["continue"]), (&json!("s"), &Value::Null));
    testbed.cluster().compact();
    let expired = client.get(&format!("/api/v1/pods?limit=1&continue={token}"), JSON).await;
    assert_eq!(expired.error(), (410, "Expired".to_owned()));
    assert_eq!(
        client.get("/api/v1/pods?limit=1&continue=nonsense", JSON).await.error(),
        (400, "BadRequest".to_owned())
    );
}

#[tokio::test]
async fn pages_count_only_what_is_selected() {
    let (_testbed, client) = four_pods().await;
    let page = client.json("/api/v1/pods?limit=1&labelSelector=node%3Dx").await;
    assert_eq!(page["metadata"]["remainingItemCount"], Value::Null);
    let token = page["metadata"]["continue"].as_str().unwrap();
    let names = client.names(&format!("/api/v1/pods?limit=5&labelSelector=node%3Dx&continue={token}")).await;
    assert_eq!(names, ["r"]);
}

#[tokio::test]
async fn version_zero_has_no_pages() {
    let (_testbed, client) = four_pods().await;
    let list = client.json("/api/v1/pods?limit=2&resourceVersion=0").await;
    assert_eq!((list["items"].as_array().unwrap().len(), &list["metadata"]["continue"]), (4, &Value::Null));
}

#[tokio::test]
async fn versions_are_checked() {
    let (testbed, client) = four_pods().await;
    let version = testbed.cluster().resource_version();
    testbed.cluster().delete("pods", "a", "p").unwrap();
    let exact = format!("/api/v1/pods?resourceVersionMatch=Exact&resourceVersion={version}");
    assert_eq!(client.names(&exact).await, ["p", "q", "r", "s"]);
    let at_least = format!("/api/v1/pods?resourceVersionMatch=NotOlderThan&resourceVersion={version}");
    assert_eq!(client.names(&at_least).await, ["q", "r", "s"]);
    testbed.cluster().compact();
    assert_eq!(client.get(&exact, JSON).await.error(), (410, "Expired".to_owned()));
    let future = client.get("/api/v1/pods?resourceVersion=999999", JSON).await;
    assert_eq!(future.error(), (504, "Timeout".to_owned()));
    assert_eq!(future.json()["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    for query in ["resourceVersion=x", "limit=x"] {
        assert_eq!(client.get(&format!("/api/v1/pods?{query}"), JSON).await.status, 400, "{query}");
    }
    for query in
        ["resourceVersionMatch=Exact", "sendInitialEvents=true", "resourceVersion=0&resourceVersionMatch=Exact"]
    {
        let answer = client.get(&format!("/api/v1/pods?{query}"), JSON).await;
        assert_eq!(answer.error(), (422, "Invalid".to_owned()), "{query}");
    }
}

#[tokio::test]
async fn shards_partition_the_list_and_are_echoed() {
    let sample = SampleOptions::new(200, 1);
    let (_testbed, client) = start(Testbed::builder().sample(sample).sharded_list_watch(true)).await;
    let mut seen = BTreeSet::new();
    for ordinal in 0..3 {
        let list = client.json(&shard(ordinal, 3)).await;
        let range = ShardRange::of(ordinal, 3);
        assert_eq!(list["metadata"]["shardInfo"]["selector"], range.selector());
        for pod in list["items"].as_array().unwrap() {
            let uid = pod["metadata"]["uid"].as_str().unwrap();
            assert!(uid_hash(uid) >= range.start && u128::from(uid_hash(uid)) < range.end);
            assert!(seen.insert(uid.to_owned()), "{uid} is in two shards");
        }
        let (_, raw) = open(&client.get(&shard(ordinal, 3), PROTOBUF).await.body);
        assert_eq!(PodList::decode(raw).unwrap().items.len(), list["items"].as_array().unwrap().len());
    }
    assert_eq!(seen.len(), 200);
    let both = format!("{}{}", shard(0, 3), format!("||{}", ShardRange::of(2, 3).selector()).replace(' ', "%20"));
    assert!(client.names(&both).await.len() < 200);
    let squeezed =
        "/api/v1/pods?shardSelector=shardRange(object.metadata.uid,'0x0000000000000000','0x4000000000000000')";
    assert_eq!(
        client.json(squeezed).await["metadata"]["shardInfo"]["selector"],
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000')"
    );
}

#[tokio::test]
async fn metadata_lists_of_shards_are_filtered_but_not_echoed() {
    let sample = SampleOptions::new(100, 1);
    let (_testbed, client) = start(Testbed::builder().sample(sample).sharded_list_watch(true)).await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = client.get(&shard(0, 2), accept).await.json();
    assert_eq!(list["metadata"]["shardInfo"], Value::Null);
    assert_eq!(list["items"].as_array().unwrap().len(), client.names(&shard(0, 2)).await.len());
}

#[tokio::test]
async fn a_shard_selector_is_ignored_where_off_and_refused_where_wrong() {
    let (_testbed, client) = four_pods().await;
    let list = client.json(&shard(0, 2)).await;
    assert_eq!((list["items"].as_array().unwrap().len(), &list["metadata"]["shardInfo"]), (4, &Value::Null));
    let (_testbed, client) = start(Testbed::builder().sharded_list_watch(true)).await;
    let answer = client.get("/api/v1/pods?shardSelector=half", JSON).await;
    assert_eq!(answer.error().0, 500);
    assert!(answer.json()["message"].as_str().unwrap().starts_with("invalid shard selector: "));
}

#[tokio::test]
async fn metadata_alone_can_be_asked_for() {
    let (_testbed, client) = four_pods().await;
    let list =
        client.get("/api/v1/pods", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").await.json();
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("PartialObjectMetadataList"), &json!("meta.k8s.io/v1")));
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert_eq!((&list["items"][0]["metadata"]["name"], &list["items"][0]["spec"]), (&json!("p"), &Value::Null));
    let accept = format!("{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    let (kind, raw) = open(&client.get("/api/v1/pods", &accept).await.body);
    let list = PartialObjectMetadataList::decode(raw).unwrap();
    assert_eq!((kind.as_str(), list.items.len()), ("PartialObjectMetadataList", 4));
    assert_eq!(list.items[3].metadata.as_ref().unwrap().name(), "s");
    let one =
        client.get("/api/v1/namespaces/a/pods/p", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").await;
    assert_eq!((one.json()["kind"].as_str(), one.json()["spec"].is_null()), (Some("PartialObjectMetadata"), true));
    let table = client.get("/api/v1/pods", "application/json;as=Table;g=meta.k8s.io;v=v1").await;
    assert_eq!(table.json()["kind"], "PodList");
    assert_eq!(client.get("/api/v1/pods", "text/html").await.error(), (406, "NotAcceptable".to_owned()));
}

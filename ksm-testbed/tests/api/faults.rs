//! Each fault does what it says, as often as it says.

use bytes::Bytes;
use http::{Method, header};
use k8s_pb::{api::core::v1::PodList, apimachinery::pkg::apis::meta::v1::WatchEvent};
use ksm_testbed::{Fault, SampleOptions, ShardRange, Testbed, Verb, WatchFault};
use prost::Message;
use serde_json::{Value, json};

use crate::client::{Client, JSON, Next, PROTOBUF, STREAMED, empty, open, pod, start};

async fn two_pods() -> (Testbed, Client) {
    let (testbed, client) = empty().await;
    testbed.cluster().apply(pod("a", "p", "x")).unwrap();
    testbed.cluster().apply(pod("a", "q", "x")).unwrap();
    (testbed, client)
}

fn on_watch(after: u64, event: WatchFault) -> ksm_testbed::Rule {
    Fault::Watch { after, event }.on("pods", Verb::StreamedList, 1)
}

#[tokio::test]
async fn statuses_are_injected_as_often_as_asked() {
    let (testbed, client) = two_pods().await;
    for (code, reason) in [
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (403, "Forbidden"),
    ] {
        testbed.faults().add(Fault::Status { code, retry_after: (code == 429).then_some(7) }.on("pods", Verb::List, 1));
        let answer = client.get("/api/v1/pods", JSON).await;
        assert_eq!(answer.error(), (code, reason.to_owned()));
        assert_eq!(answer.headers.get(header::RETRY_AFTER).is_some(), code == 429);
        assert_eq!(client.get("/api/v1/pods", JSON).await.status, 200);
    }
    testbed.faults().add(Fault::Status { code: 422, retry_after: None }.always_on("pods", Verb::StreamedList));
    for _ in 0..3 {
        assert_eq!(client.get(&format!("/api/v1/pods?{STREAMED}"), JSON).await.error(), (422, "Invalid".to_owned()));
        client.watch("/api/v1/pods?watch=1", JSON).await;
    }
    testbed.faults().clear();
    client.watch(&format!("/api/v1/pods?{STREAMED}"), JSON).await;
}

#[tokio::test]
async fn rules_are_set_and_cleared_over_http() {
    let (_testbed, client) = two_pods().await;
    let rules = json!([{"resource": "pods", "verb": "list", "times": 1, "fault": "status", "code": 503},
        {"fault": "cut-after-bytes", "bytes": 10}]);
    let added = client.request(Method::POST, "/testbed/faults", &[], rules.to_string().into()).await;
    assert_eq!(added.json(), rules);
    assert_eq!(client.get("/api/v1/pods", JSON).await.status, 503);
    assert_eq!(client.json("/testbed/faults").await.as_array().unwrap().len(), 1);
    client.request(Method::DELETE, "/testbed/faults", &[], Bytes::new()).await;
    assert_eq!(client.get("/api/v1/pods", JSON).await.status, 200);
    let wrong = client.request(Method::POST, "/testbed/faults", &[], r#"{"fault": "fire"}"#.into()).await;
    assert!(wrong.json()["message"].as_str().unwrap().contains("fire"));
}

#[tokio::test]
async fn error_events_and_early_ends() {
    let (testbed, client) = two_pods().await;
    testbed.faults().add(on_watch(1, WatchFault::Error { code: 410 }));
    testbed.faults().add(on_watch(2, WatchFault::End));
    let path = format!("/api/v1/pods?{STREAMED}");
    let mut watch = client.watch(&path, PROTOBUF).await;
    assert_eq!(watch.brief().await.0, "ADDED");
    let Next::Event(kind, status) = watch.next().await else { panic!("no event") };
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
    assert_eq!(watch.next().await, Next::End);
    let mut watch = client.watch(&path, PROTOBUF).await;
    assert_eq!((watch.brief().await.0, watch.brief().await.0), ("ADDED".to_owned(), "ADDED".to_owned()));
    assert_eq!(watch.next().await, Next::End);
}

#[tokio::test]
async fn connections_break_between_and_within_frames() {
    let (testbed, client) = two_pods().await;
    for accept in [JSON, PROTOBUF] {
        testbed.faults().add(on_watch(1, WatchFault::Cut));
        let mut watch = client.watch(&format!("/api/v1/pods?{STREAMED}"), accept).await;
        assert_eq!((watch.brief().await.1.as_str(), watch.next().await), ("p", Next::Broken));
        assert!(watch.rest().is_empty());
        testbed.faults().add(on_watch(1, WatchFault::CutFrame));
        let mut watch = client.watch(&format!("/api/v1/pods?{STREAMED}"), accept).await;
        assert_eq!((watch.brief().await.1.as_str(), watch.next().await), ("p", Next::Broken));
        assert!(!watch.rest().is_empty());
    }
}

#[tokio::test]
async fn lists_break_after_so_many_bytes() {
    let (testbed, client) = start(Testbed::builder().sample(SampleOptions::new(200, 1))).await;
    testbed.faults().add(Fault::CutAfterBytes { bytes: 100_000 }.on("pods", Verb::List, 1));
    let mut list = client.watch("/api/v1/pods", PROTOBUF).await;
    assert_eq!(list.next().await, Next::Broken);
    assert_eq!(list.rest().len(), 100_000);
    assert_eq!(testbed.stats().bytes("pods"), 100_000);
}

#[tokio::test]
async fn streams_stall() {
    let (testbed, client) = two_pods().await;
    testbed.faults().add(on_watch(1, WatchFault::Stall));
    testbed.faults().add(Fault::StallAfterBytes { bytes: 5 }.on("pods", Verb::Watch, 1));
    let mut stalled = client.watch(&format!("/api/v1/pods?{STREAMED}"), JSON).await;
    let mut early = client.watch("/api/v1/pods?watch=1", JSON).await;
    let mut healthy = client.watch(&format!("/api/v1/pods?{STREAMED}"), JSON).await;
    assert_eq!(stalled.brief().await.1, "p");
    for _ in 0..3 {
        healthy.next().await;
    }
    testbed.cluster().apply(pod("a", "r", "x")).unwrap();
    // What reaches one watch would have reached the others.
    assert_eq!(healthy.brief().await.1, "r");
    stalled.halts_after(0).await;
    early.halts_after(5).await;
    assert_eq!(early.rest().len(), 5);
}

#[tokio::test]
async fn the_end_of_initial_events_can_be_left_out() {
    let (testbed, client) = two_pods().await;
    testbed.faults().add(Fault::NoInitialEventsEnd.on("pods", Verb::StreamedList, 1));
    let mut watch = client.watch(&format!("/api/v1/pods?{STREAMED}"), JSON).await;
    watch.next().await;
    watch.next().await;
    testbed.cluster().apply(pod("a", "r", "x")).unwrap();
    assert_eq!(watch.brief().await.1, "r");
}

#[tokio::test]
async fn frames_can_be_garbage_huge_or_undecodable() {
    let (testbed, client) = two_pods().await;
    let path = format!("/api/v1/pods?{STREAMED}");
    testbed.faults().add(on_watch(1, WatchFault::Garbage));
    let mut watch = client.watch(&path, PROTOBUF).await;
    watch.raw().await;
    assert!(WatchEvent::decode(watch.raw().await).is_err());
    assert!(WatchEvent::decode(watch.raw().await).is_ok(), "the watch goes on");

    testbed.faults().add(on_watch(0, WatchFault::Garbage));
    assert!(serde_json::from_slice::<Value>(&client.watch(&path, JSON).await.raw().await).is_err());

    testbed.faults().add(on_watch(2, WatchFault::HugeFrame));
    let mut watch = client.watch(&path, PROTOBUF).await;
    watch.raw().await;
    watch.raw().await;
    watch.halts_after(4).await;
    assert!(u32::from_be_bytes(*watch.rest().first_chunk().unwrap()) > 4_000_000_000);

    testbed.faults().add(on_watch(1, WatchFault::BadObject));
    let mut watch = client.watch(&path, PROTOBUF).await;
    watch.raw().await;
    let event = WatchEvent::decode(watch.raw().await).unwrap();
    let (kind, raw) = open(&event.object.unwrap().raw.unwrap());
    assert_eq!(kind, "Pod");
    assert!(k8s_pb::api::core::v1::Pod::decode(raw).is_err());
    assert_eq!(watch.brief().await.1, "q", "the watch goes on");
}

#[tokio::test]
async fn events_can_be_of_unknown_type_or_without_metadata() {
    let (testbed, client) = two_pods().await;
    testbed.faults().add(on_watch(1, WatchFault::UnknownType));
    testbed.faults().add(on_watch(1, WatchFault::NoMetadata));
    let path = format!("/api/v1/pods?{STREAMED}");
    let mut watch = client.watch(&path, JSON).await;
    watch.next().await;
    assert_eq!(watch.brief().await.0, "RENAMED");
    let mut watch = client.watch(&path, JSON).await;
    watch.next().await;
    let Next::Event(kind, object) = watch.next().await else { panic!("no event") };
    assert_eq!((kind.as_str(), &object["metadata"]), ("MODIFIED", &Value::Null));
}

#[tokio::test]
async fn lists_can_have_an_undecodable_item() {
    let (testbed, client) = two_pods().await;
    for index in [0, 1, 2, 9] {
        testbed.faults().add(Fault::BadItem { index }.on("pods", Verb::List, 2));
        let answer = client.get("/api/v1/pods", PROTOBUF).await;
        let (_, raw) = open(&answer.body);
        assert!(PodList::decode(raw).is_err());
        let list = client.json("/api/v1/pods").await;
        assert_eq!(list["items"].as_array().unwrap().len(), 3);
        assert_eq!(list["items"][index.min(2)], json!({"metadata": ["bad"]}));
    }
}

#[tokio::test]
async fn continue_tokens_expire_at_a_page() {
    let (testbed, client) = start(Testbed::builder().sample(SampleOptions::new(10, 1))).await;
    testbed.faults().add(Fault::ExpiredContinue { page: 3 }.on("pods", Verb::List, 1));
    let mut path = "/api/v1/pods?limit=2".to_owned();
    for _ in 0..2 {
        let token = client.json(&path).await["metadata"]["continue"].as_str().unwrap().to_owned();
        path = format!("/api/v1/pods?limit=2&continue={token}");
    }
    assert_eq!(client.get(&path, JSON).await.error(), (410, "Expired".to_owned()));
    assert_eq!(client.get(&path, JSON).await.status, 200);
}

#[tokio::test]
async fn shard_selectors_can_be_ignored() {
    let builder = Testbed::builder().sample(SampleOptions::new(50, 1)).sharded_list_watch(true);
    let (testbed, client) = start(builder).await;
    testbed.faults().add(Fault::IgnoreShardSelector.on("pods", Verb::List, 1));
    let path = format!("/api/v1/pods?shardSelector={}", ShardRange::of(0, 2).selector().replace(' ', "%20"));
    let list = client.json(&path).await;
    assert_eq!((list["items"].as_array().unwrap().len(), &list["metadata"]["shardInfo"]), (50, &Value::Null));
    assert!(client.names(&path).await.len() < 50);
}

#[tokio::test]
async fn shard_selectors_can_be_refused_and_halved() {
    let builder = Testbed::builder().sample(SampleOptions::new(50, 1)).sharded_list_watch(true);
    let (testbed, client) = start(builder).await;
    testbed.faults().add(Fault::RefuseShardSelector { code: 500 }.on("pods", Verb::List, 1));
    let path =
        |total| format!("/api/v1/pods?shardSelector={}", ShardRange::of(0, total).selector().replace(' ', "%20"));
    assert_eq!(client.get(&path(2), JSON).await.error(), (500, "InternalError".to_owned()));
    testbed.faults().add(Fault::HalveShardSelector.on("pods", Verb::List, 1));
    let halved = client.json(&path(2)).await;
    assert_eq!(halved["metadata"]["shardInfo"]["selector"], ShardRange::of(0, 4).selector());
    assert_eq!(halved["items"], client.json(&path(4)).await["items"]);
}

#[tokio::test]
async fn the_server_goes_away_and_comes_back_under_its_address() {
    let (testbed, client) = two_pods().await;
    let mut watch = client.watch("/api/v1/pods?watch=1", JSON).await;
    watch.next().await;
    watch.next().await;
    testbed.down().await;
    assert_eq!(watch.next().await, Next::Broken);
    assert!(tokio::net::TcpStream::connect(client.address).await.is_err());
    testbed.up().await;
    assert_eq!(client.names("/api/v1/pods").await, ["p", "q"]);
}

#[tokio::test]
async fn nobody_is_given_the_address_of_a_server_that_is_away() {
    // Nobody has connected yet: the remains of a connection would hold the address as well.
    let (testbed, client) = empty().await;
    testbed.down().await;
    let other = tokio::net::TcpSocket::new_v4().unwrap();
    assert_eq!(other.bind(client.address).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    testbed.up().await;
    assert_eq!(client.names("/api/v1/pods").await, [""; 0]);
}

#[tokio::test]
async fn statistics_tell_what_clients_did() {
    let (testbed, client) = two_pods().await;
    client.get("/api/v1/pods?limit=1", JSON).await;
    let size = client.get("/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dx", PROTOBUF).await.body.len();
    client.get("/api/v1/namespaces/a/pods/none", JSON).await;
    let stats = testbed.stats();
    assert_eq!((stats.requests("pods", Verb::List), stats.requests("pods", Verb::Get)), (2, 1));
    let records = stats.records();
    let record = records.iter().find(|record| record.accept == PROTOBUF).unwrap();
    assert_eq!((record.status(), record.bytes(), record.path.as_str()), (200, size as u64, "/api/v1/pods"));
    assert_eq!(record.parameter("fieldSelector"), Some("spec.nodeName=x"));
    assert_eq!(records.iter().find(|record| record.verb == Verb::Get).unwrap().status(), 404);
    let shown = client.json("/testbed/stats").await;
    let total = shown["totals"].as_array().unwrap().iter().find(|total| total["verb"] == "list").unwrap();
    assert_eq!((&total["resource"], &total["requests"]), (&json!("pods"), &json!(2)));
    client.request(Method::DELETE, "/testbed/stats", &[], Bytes::new()).await;
    assert_eq!(stats.requests("pods", Verb::List), 0);
}

#[tokio::test]
async fn generated_objects_replace_what_is_there() {
    let (testbed, client) = two_pods().await;
    let path = "/testbed/variety?seed=3&seeds=2&objects=4&resources=pods,nodes&marker=last";
    let made = client.request(Method::POST, path, &[], Bytes::new()).await;
    assert_eq!((made.status.as_u16(), made.json()), (200, json!({"objects": 18})));
    assert_eq!(testbed.cluster().counts().into_iter().collect::<Vec<_>>(), [("nodes", 9), ("pods", 9)]);
    client
        .request(Method::POST, "/testbed/variety?objects=0&resources=pods&marker=next&keep=true", &[], Bytes::new())
        .await;
    assert!(testbed.cluster().get("pods", "marker", "next").unwrap().is_some());
    assert_eq!(testbed.cluster().count("pods").unwrap(), 10);
    let wrong = client.request(Method::POST, "/testbed/variety?resources=pots", &[], Bytes::new()).await;
    assert_eq!(wrong.error(), (400, "BadRequest".to_owned()));
}

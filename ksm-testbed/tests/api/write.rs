//! Create, update, patch and delete over HTTP.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::client::{Answer, Client, JSON, PROTOBUF, empty, open, pod};

const PODS: &str = "/api/v1/namespaces/a/pods";

impl Client {
    async fn write(&self, method: Method, path: &str, body: &Value) -> Answer {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { JSON };
        self.request(method, path, &[("content-type", kind)], body.to_string().into()).await
    }
}

#[tokio::test]
async fn objects_are_created_replaced_patched_and_deleted() {
    let (testbed, client) = empty().await;
    let created = client.write(Method::POST, PODS, &pod("a", "p", "x")).await;
    assert_eq!(created.status, 201);
    assert_eq!(client.write(Method::POST, PODS, &pod("a", "p", "x")).await.error(), (409, "AlreadyExists".to_owned()));

    let mut object = created.json();
    object["spec"]["nodeName"] = "y".into();
    let path = format!("{PODS}/p");
    assert_eq!(client.write(Method::PUT, &path, &object).await.json()["spec"]["nodeName"], "y");
    assert_eq!(client.write(Method::PUT, &path, &object).await.error(), (409, "Conflict".to_owned()));

    let patch = json!({"metadata": {"labels": {"app": null, "new": "label"}}});
    let patched = client.write(Method::PATCH, &path, &patch).await.json();
    assert_eq!(patched["metadata"]["labels"], json!({"new": "label", "node": "x"}));
    assert_eq!(patched["metadata"]["uid"], created.json()["metadata"]["uid"]);

    let deleted = client.request(Method::DELETE, &path, &[], Bytes::new()).await;
    assert_eq!((deleted.status.as_u16(), deleted.json()["status"].as_str()), (200, Some("Success")));
    for method in [Method::DELETE, Method::PUT, Method::PATCH] {
        let answer = client.write(method.clone(), &path, &pod("a", "p", "x")).await;
        assert_eq!(answer.error(), (404, "NotFound".to_owned()), "{method}");
    }
    assert_eq!(testbed.cluster().count("pods").unwrap(), 0);
}

#[tokio::test]
async fn the_status_is_written_by_itself() {
    let (_testbed, client) = empty().await;
    client.write(Method::POST, PODS, &pod("a", "p", "x")).await;
    let body = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "z"}, "status": {"phase": "Failed"}});
    let pod = client.write(Method::PUT, &format!("{PODS}/p/status"), &body).await.json();
    assert_eq!((&pod["spec"]["nodeName"], &pod["status"]["phase"]), (&json!("x"), &json!("Failed")));
    let patch = json!({"status": {"reason": "Gone"}});
    let pod = client.write(Method::PATCH, &format!("{PODS}/p/status"), &patch).await.json();
    assert_eq!(pod["status"], json!({"phase": "Failed", "reason": "Gone"}));
}

#[tokio::test]
async fn collections_are_deleted_by_selector() {
    let (testbed, client) = empty().await;
    for (namespace, name) in [("a", "p"), ("a", "q"), ("b", "p")] {
        testbed.cluster().apply(pod(namespace, name, "x")).unwrap();
    }
    client.request(Method::DELETE, &format!("{PODS}?labelSelector=app%3Dp"), &[], Bytes::new()).await;
    assert_eq!(client.names("/api/v1/pods").await, ["q", "p"]);
}

#[tokio::test]
async fn protobuf_bodies_are_taken_and_given() {
    let (_testbed, client) = empty().await;
    client.write(Method::POST, PODS, &pod("a", "p", "x")).await;
    let stored = client.get(&format!("{PODS}/p"), PROTOBUF).await.body;
    client.request(Method::DELETE, &format!("{PODS}/p"), &[], Bytes::new()).await;
    let headers = [("content-type", PROTOBUF), ("accept", PROTOBUF)];
    let created = client.request(Method::POST, PODS, &headers, stored).await;
    assert_eq!((created.status.as_u16(), open(&created.body).0.as_str()), (201, "Pod"));
    assert_eq!(client.json(&format!("{PODS}/p")).await["spec"]["nodeName"], "x");
}

#[tokio::test]
async fn mistakes_are_refused() {
    let (_testbed, client) = empty().await;
    let refused = async |method: Method, path: &str, change: fn(&mut Value)| {
        let mut object = pod("a", "p", "x");
        change(&mut object);
        client.write(method, path, &object).await.error().0
    };
    assert_eq!(refused(Method::POST, PODS, |pod| pod["spec"]["nodename"] = "x".into()).await, 400);
    assert_eq!(refused(Method::POST, PODS, |pod| pod["kind"] = "Node".into()).await, 400);
    assert_eq!(refused(Method::POST, PODS, |pod| pod["metadata"]["namespace"] = "b".into()).await, 400);
    assert_eq!(refused(Method::POST, PODS, |pod| pod["metadata"] = json!({})).await, 422);
    assert_eq!(refused(Method::POST, "/api/v1/nodes", |pod| pod["kind"] = "Node".into()).await, 400);
    assert_eq!(refused(Method::POST, &format!("{PODS}/p"), |_| ()).await, 405);
    assert_eq!(refused(Method::PUT, PODS, |_| ()).await, 405);
    let answer =
        client.request(Method::PATCH, &format!("{PODS}/p"), &[("content-type", "text/plain")], Bytes::new()).await;
    assert_eq!(answer.error(), (415, "UnsupportedMediaType".to_owned()));
}

#[tokio::test]
async fn names_are_generated() {
    let (_testbed, client) = empty().await;
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}});
    let name = client.write(Method::POST, PODS, &object).await.json()["metadata"]["name"].clone();
    let name = name.as_str().unwrap();
    assert!(name.starts_with("p-") && name.len() == 7, "{name}");
}

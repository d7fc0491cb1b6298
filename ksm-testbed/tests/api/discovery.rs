//! Discovery, version and health pages.

use k8s_pb::apimachinery::pkg::apis::meta::v1::{APIResourceList, Status};
use ksm_testbed::RESOURCES;
use prost::Message;
use serde_json::json;

use crate::client::{JSON, PROTOBUF, empty, open};

#[tokio::test]
async fn health_and_version_are_served() {
    let (_testbed, client) = empty().await;
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(client.get(path, "*/*").await.body, "ok", "{path}");
    }
    assert_eq!(client.json("/version").await["gitVersion"], "v1.37.2");
}

#[tokio::test]
async fn every_resource_is_discovered_where_it_is_served() {
    let (_testbed, client) = empty().await;
    assert_eq!(client.json("/api").await["versions"], json!(["v1"]));
    let groups = client.json("/apis").await;
    for resource in RESOURCES {
        let path = match resource.group {
            "" => format!("/api/{}", resource.version),
            group => {
                assert!(groups["groups"].as_array().unwrap().iter().any(|found| found["name"] == group), "{group}");
                format!("/apis/{group}/{}", resource.version)
            }
        };
        let list = client.json(&path).await;
        assert_eq!(list["kind"], "APIResourceList");
        let found = list["resources"].as_array().unwrap().iter().find(|found| found["name"] == resource.plural);
        let found = found.unwrap_or_else(|| panic!("{} is not in {path}", resource.plural));
        assert_eq!((&found["kind"], &found["namespaced"]), (&json!(resource.kind), &json!(resource.namespaced)));
        assert_eq!(client.json(&format!("{path}/{}", resource.plural)).await["kind"], format!("{}List", resource.kind));
    }
}

#[tokio::test]
async fn who_asks_for_aggregated_discovery_gets_the_legacy_form() {
    let (_testbed, client) = empty().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let answer = client.get("/apis", accept).await;
    assert_eq!(
        (&answer.headers["content-type"], answer.json()["kind"].as_str()),
        (&"application/json".parse().unwrap(), Some("APIGroupList"))
    );
}

#[tokio::test]
async fn discovery_speaks_protobuf() {
    let (_testbed, client) = empty().await;
    let (kind, raw) = open(&client.get("/api/v1", PROTOBUF).await.body);
    assert_eq!(kind, "APIResourceList");
    assert!(APIResourceList::decode(raw).unwrap().resources.iter().any(|resource| resource.name() == "pods"));
}

#[tokio::test]
async fn unknown_paths_are_not_found_in_either_encoding() {
    let (_testbed, client) = empty().await;
    for path in ["/", "/api/v2", "/apis/none", "/apis/apps/v2", "/apis/apps/v1/pods", "/api/v1/namespaces/a/nodes"] {
        assert_eq!(client.get(path, JSON).await.error(), (404, "NotFound".to_owned()), "{path}");
    }
    let (kind, raw) = open(&client.get("/apis/none", PROTOBUF).await.body);
    assert_eq!((kind.as_str(), Status::decode(raw).unwrap().code), ("Status", Some(404)));
}

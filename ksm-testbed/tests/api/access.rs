//! Tokens and rights: 401 without, 403 with too few.

use bytes::Bytes;
use http::Method;
use ksm_testbed::{Denial, Testbed, Token};

use serde_json::{Value, json};

use crate::client::{Client, JSON, STREAMED, start};

#[tokio::test]
async fn a_wrong_token_is_not_let_in() {
    let (_testbed, client) = start(Testbed::builder().token(Token::new("right"))).await;
    assert_eq!(client.get("/api/v1/pods", JSON).await.error(), (401, "Unauthorized".to_owned()));
    assert_eq!(client.get("/apis", JSON).await.error().0, 401);
    assert_eq!(client.get("/readyz", JSON).await.status, 200);
    let client = Client { token: Some("wrong"), ..client };
    assert_eq!(client.get("/api/v1/pods", JSON).await.error().0, 401);
    let client = Client { token: Some("right"), ..client };
    assert_eq!(client.get("/api/v1/pods", JSON).await.status, 200);
}

#[tokio::test]
async fn rights_can_be_missing_by_verb_resource_and_namespace() {
    let cluster_wide = Denial { namespace: Some(String::new()), resource: Some("secrets".into()), ..Denial::default() };
    let token = Token::new("t").deny("list", "pods").deny("watch", "nodes").with_denial(cluster_wide);
    let (_testbed, client) = start(Testbed::builder().token(token)).await;
    let client = Client { token: Some("t"), ..client };
    for path in [
        "/api/v1/pods",
        "/api/v1/namespaces/a/pods",
        "/api/v1/nodes?watch=1",
        &format!("/api/v1/nodes?{STREAMED}"),
        "/api/v1/secrets",
    ] {
        assert_eq!(client.get(path, JSON).await.error(), (403, "Forbidden".to_owned()), "{path}");
    }
    for path in ["/api/v1/nodes", "/api/v1/namespaces/a/secrets"] {
        assert_eq!(client.get(path, JSON).await.status, 200, "{path}");
    }
    let message = client.get("/api/v1/namespaces/a/pods", JSON).await.json()["message"].clone();
    assert_eq!(
        message,
        "pods is forbidden: User \"system:serviceaccount:default:testbed\" cannot list resource \"pods\" in API group \"\" \
         in the namespace \"a\""
    );
}

#[tokio::test]
async fn tokens_and_access_are_reviewed() {
    let token = Token::new("scraper").deny("get", "/metrics");
    let (_testbed, client) = start(Testbed::builder().token(token).token(Token::new("me"))).await;
    let client = Client { token: Some("me"), ..client };
    let review = async |path: &str, spec: Value| {
        let body = Bytes::from(json!({"spec": spec}).to_string());
        client.request(Method::POST, path, &[("content-type", JSON)], body).await.json()["status"].clone()
    };
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let status = review(path, json!({"token": "scraper"})).await;
    assert_eq!(status["authenticated"], true);
    let user = status["user"]["username"].clone();
    assert_eq!(review(path, json!({"token": "other"})).await["authenticated"], false);
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    for (asked, allowed) in [("/metrics", false), ("/healthz", true)] {
        let spec = json!({"user": user, "nonResourceAttributes": {"verb": "get", "path": asked}});
        assert_eq!(review(path, spec).await["allowed"], allowed, "{asked}");
    }
    let nobody = json!({"user": "nobody", "resourceAttributes": {"verb": "get", "resource": "pods"}});
    assert_eq!(review(path, nobody).await["allowed"], false);
}

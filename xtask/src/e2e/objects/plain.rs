//! Namespaces, services, config maps and secrets.
//!
//! Invariant: names are unique within a resource and namespace.

use serde_json::{Value, json};

use super::{Object, condition, metadata, odd_annotations, odd_labels, owner, time};

/// Namespaces that other objects live in, and an empty one.
pub fn namespaces() -> Vec<Object> {
    let namespace = |body: Value| Object::cluster("api/v1", "namespaces", body);
    vec![
        namespace(json!({"metadata": metadata("team-a", odd_labels(), odd_annotations())})),
        namespace(json!({"metadata": metadata("team-b", json!({"team": "b"}), json!({}))})),
        namespace(json!({"metadata": {"name": "bulk"}})),
        namespace(json!({"metadata": {"name": "quiet"}})),
        namespace(json!({"metadata": {"name": "conditions"}})).status(json!({
            "conditions": [
                condition("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", 1),
                condition("NamespaceDeletionContentFailure", "Unknown", "", 2),
            ],
        })),
    ]
}

/// Namespaces that stay in deletion, since nothing clears them up. Made last: nothing can be created in them.
pub fn namespaces_to_delete() -> Vec<Object> {
    let going = Object::cluster("api/v1", "namespaces", json!({"metadata": {"name": "going"}}));
    let conditions = json!({
        "conditions": [
            condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", 3),
            condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", 3),
        ],
    });
    vec![going.status(conditions).deleted()]
}

/// Services, config maps and secrets.
pub fn objects() -> Vec<Object> {
    [services(), config_maps(), secrets()].into_iter().flatten().collect()
}

fn service(namespace: &str, name: &str, spec: Value) -> Object {
    Object::namespaced("api/v1", "services", namespace, json!({"metadata": {"name": name}, "spec": spec}))
}

fn services() -> Vec<Object> {
    let port = json!([{"name": "web", "port": 80, "protocol": "TCP"}]);
    let mut objects = vec![
        service("team-a", "plain", json!({"ports": port})).metadata(metadata("plain", odd_labels(), odd_annotations())),
        service("team-a", "headless", json!({"clusterIP": "None", "ports": port, "selector": {"app": "x"}})),
        service("team-a", "outside", json!({"type": "ExternalName", "externalName": "db.example.test"})),
        service("team-a", "local", json!({
            "type": "NodePort", "ports": port, "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Local",
        })),
        service("team-b", "addresses", json!({"ports": port, "externalIPs": ["192.0.2.10", "192.0.2.11"]})),
        service("team-b", "balanced", json!({
            "type": "LoadBalancer", "ports": port, "loadBalancerIP": "192.0.2.20", "externalTrafficPolicy": "Cluster",
        }))
        .status(json!({"loadBalancer": {"ingress": [
            {"ip": "192.0.2.20", "ports": [{"port": 80, "protocol": "TCP"}]},
            {"hostname": "lb.example.test"},
            {"ip": "192.0.2.21", "hostname": "both.example.test", "ipMode": "VIP"},
        ]}})),
        service("team-b", "balancing", json!({"type": "LoadBalancer", "ports": port})),
        service("team-b", "going", json!({"ports": port})).deleted(),
    ];
    objects.extend((0..12).map(|n| service("bulk", &format!("service-{n}"), json!({"ports": port}))));
    objects
}

/// A config map with data that no exporter needs to read.
pub fn config_map(namespace: &str, name: &str) -> Object {
    let body = json!({"metadata": {"name": name}, "data": {"key": "value"}});
    Object::namespaced("api/v1", "configmaps", namespace, body)
}

fn config_maps() -> Vec<Object> {
    let mut objects = vec![
        config_map("team-a", "plain"),
        config_map("team-a", "odd").metadata(metadata("odd", odd_labels(), odd_annotations())),
        config_map("team-b", "dots.in.name"),
        config_map("team-b", "going").deleted(),
    ];
    objects.extend((0..40).map(|n| {
        let labels = json!({"tier": if n % 2 == 0 { "front" } else { "back" }, format!("only-on-{n}"): "x"});
        config_map("bulk", &format!("config-{n}")).metadata(json!({"labels": labels}))
    }));
    objects
}

fn secret(namespace: &str, name: &str, kind: &str, data: Value) -> Object {
    let body = json!({"metadata": {"name": name}, "type": kind, "stringData": data});
    Object::namespaced("api/v1", "secrets", namespace, body)
}

fn secrets() -> Vec<Object> {
    let mut objects = vec![
        secret("team-a", "opaque", "Opaque", json!({"password": "not shown"})),
        secret("team-a", "untyped", "", json!({})),
        secret("team-a", "own-type", "example.com/token", json!({"token": "not shown"})).metadata(metadata(
            "own-type",
            odd_labels(),
            odd_annotations(),
        )),
        secret("team-a", "login", "kubernetes.io/basic-auth", json!({"username": "u", "password": "not shown"})),
        secret("team-a", "ssh", "kubernetes.io/ssh-auth", json!({"ssh-privatekey": "not shown"})),
        secret("team-a", "tls", "kubernetes.io/tls", json!({"tls.crt": "", "tls.key": ""})),
        secret("team-b", "pull", "kubernetes.io/dockerconfigjson", json!({".dockerconfigjson": "{\"auths\":{}}"})),
        secret("team-b", "owned", "Opaque", json!({})).metadata(json!({"ownerReferences": [
            owner("Widget", "w1", Some(true)), owner("Deployment", "web", None), owner("Job", "j", Some(false)),
        ]})),
        secret("team-b", "going", "Opaque", json!({})).deleted(),
        secret("team-b", "fixed", "Opaque", json!({})).metadata(json!({"annotations": {"since": time(0)}})),
    ];
    objects.extend((0..20).map(|n| secret("bulk", &format!("secret-{n}"), "Opaque", json!({}))));
    objects
}

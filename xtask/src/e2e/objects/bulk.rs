//! Many similar pods on a few nodes: enough that shares, bytes and sums say something.
//!
//! Invariant: the n-th pod is the same in every run, apart from what the API server adds.

use serde_json::{Value, json};

use super::{Object, condition, owner, time};

/// Nodes that pods are bound to, one `ksm-node` each in the partition scenario.
pub const NODES: [&str; 4] = ["bulk-0", "bulk-1", "bulk-2", "bulk-3"];

/// Where the pods are.
pub const NAMESPACE: &str = "bulk";

/// The nodes.
pub fn nodes() -> Vec<Object> {
    let node = |name: &str| {
        let body = json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "node-role.kubernetes.io/worker": ""}}});
        let quantities = json!({"cpu": "16", "memory": "65806448Ki", "ephemeral-storage": "1Ti", "pods": "250"});
        Object::cluster("api/v1", "nodes", body).status(json!({
            "capacity": quantities, "allocatable": quantities,
            "conditions": [condition("Ready", "True", "KubeletReady", 1)],
            "addresses": [{"type": "Hostname", "address": name}],
        }))
    };
    NODES.map(node).into()
}

/// A pod with one container and no status.
pub fn simple_pod(namespace: &str, name: &str, node: Option<&str>) -> Object {
    let mut spec = json!({"containers": [{"name": "main", "image": "registry.example.test/main:1"}]});
    if let Some(node) = node {
        spec["nodeName"] = node.into();
    }
    Object::namespaced("api/v1", "pods", namespace, json!({"metadata": {"name": name}, "spec": spec}))
}

/// `count` pods: nine of ten are bound and run, the others wait for a node.
pub fn objects(count: u32) -> Vec<Object> {
    (0..count).map(bulk_pod).collect()
}

fn bulk_pod(n: u32) -> Object {
    let bound = !n.is_multiple_of(10);
    let name = format!("app-{}-{n:05}", n % 40);
    let node = NODES[n as usize % NODES.len()];
    simple_pod(NAMESPACE, &name, bound.then_some(node))
        .metadata(json!({
            "labels": {
                "app": format!("app-{}", n % 40), "pod-template-hash": format!("{:x}", n % 40 * 7_919),
                "app.kubernetes.io/instance": format!("release-{}", n % 7), "version": format!("v{}", n % 3),
            },
            "ownerReferences": [owner("ReplicaSet", &format!("app-{}", n % 40), Some(true))],
        }))
        .patch_spec(spec(n))
        .status(status(n, bound))
}

fn spec(n: u32) -> Value {
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.test/{name}:v{}", n % 3),
            "resources": {
                "requests": {"cpu": format!("{}m", 50 + n % 20 * 25), "memory": format!("{}Mi", 64 << (n % 4))},
                "limits": {"memory": format!("{}Mi", 128 << (n % 4))},
            },
        })
    };
    json!({
        "containers": [container("main"), container("proxy")],
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
    })
}

fn status(n: u32, bound: bool) -> Value {
    if !bound {
        return json!({"conditions": [condition("PodScheduled", "False", "Unschedulable", n % 3600)]});
    }
    let running = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.test/{name}:v{}", n % 3), "imageID": format!("sha256:{n:064x}"),
            "containerID": format!("containerd://{n:064x}"), "ready": true, "started": true, "restartCount": n % 5,
            "state": {"running": {"startedAt": time(n % 3600 + 5)}},
        })
    };
    let address = format!("10.{}.{}.{}", 64 + n / 65_536, n / 256 % 256, n % 256);
    let moment = n % 3600;
    json!({
        "phase": "Running", "startTime": time(moment), "hostIP": format!("192.0.2.{}", n as usize % NODES.len()),
        "podIP": address, "podIPs": [{"ip": address}],
        "containerStatuses": [running("main"), running("proxy")],
        "conditions": [
            condition("PodScheduled", "True", "", moment), condition("Initialized", "True", "", moment + 1),
            condition("ContainersReady", "True", "", moment + 6), condition("Ready", "True", "", moment + 6),
        ],
    })
}

//! Hand-made pods whose spec or metadata is what matters: quantities, volumes, claims, tolerations, owners, containers.
//!
//! Invariant: bound pods are bound to nodes of `bulk`, so that node, unscheduled and rest are told apart on them too.

use serde_json::{Value, json};

use super::access::{OVERHEAD_CLASS, PLAIN_CLASS, PRIORITY_CLASS};
use super::{BULK_NODES, Object, metadata, odd_annotations, odd_labels, owner};

/// A pod in `team-a` on the first bulk node, with one container; `spec` is merged in.
pub fn pod(name: &str, spec: Value) -> Object {
    let mut full = json!({"nodeName": BULK_NODES[0], "containers": [container("main", json!({}))]});
    super::merge(&mut full, spec);
    Object::namespaced("api/v1", "pods", "team-a", json!({"metadata": {"name": name}, "spec": full}))
}

/// A container; `fields` is merged in.
pub fn container(name: &str, fields: Value) -> Value {
    let mut full = json!({"name": name, "image": format!("registry.example.test/{name}:1")});
    super::merge(&mut full, fields);
    full
}

/// All of them.
pub fn objects() -> Vec<Object> {
    [quantities(), volumes(), claims(), scheduling(), owners(), labelled(), containers(), going()]
        .into_iter()
        .flatten()
        .collect()
}

fn with_resources(name: &str, requests: Value, limits: Value) -> Object {
    let resources = json!({"requests": requests, "limits": limits});
    pod(name, json!({"containers": [container("main", json!({"resources": resources}))]}))
}

fn quantities() -> Vec<Object> {
    let cpu_and_memory = json!({"cpu": "1", "memory": "1Gi"});
    let mut huge = json!({"hugepages-2Mi": "100Mi", "hugepages-1Gi": "2Gi", "example.com/Foo.Bar-baz": "3", "nvidia.com/gpu": "1"});
    super::merge(&mut huge, cpu_and_memory.clone());
    vec![
        with_resources("q-milli", json!({"cpu": "100m", "memory": "129e6"}), json!({"cpu": "1e3", "memory": "1Ei"})),
        with_resources(
            "q-fraction",
            json!({"cpu": "0.5", "memory": "100m"}),
            json!({"cpu": "1.0005", "memory": "123Mi"}),
        ),
        with_resources("q-small", json!({"cpu": "1u", "memory": "1"}), json!({"cpu": "1500u", "memory": "1500m"})),
        with_resources("q-nano", json!({"cpu": "1n"}), json!({"cpu": "1001n", "ephemeral-storage": "1e3"})),
        with_resources("q-suffix", json!({"memory": "1k"}), json!({"memory": "2M", "ephemeral-storage": "3Ti"})),
        with_resources("q-exponent", json!({"memory": "12E2"}), json!({"memory": "1.5e4", "ephemeral-storage": "2P"})),
        with_resources("q-zero", json!({"cpu": "0", "memory": "0"}), json!({})),
        with_resources("q-limits-only", json!({}), json!({"cpu": "2", "memory": "256Mi"})),
        with_resources("q-guaranteed", cpu_and_memory.clone(), cpu_and_memory),
        with_resources("q-devices", huge.clone(), huge),
        pod("q-whole-pod", json!({"resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "4", "memory": "1Gi"}}})),
    ]
}

fn volumes() -> Vec<Object> {
    let claim = |volume: &str, claim: &str, read_only: bool| json!({"name": volume, "persistentVolumeClaim": {"claimName": claim, "readOnly": read_only}});
    let ephemeral = json!({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }}}});
    vec![
        pod("v-claims", json!({"volumes": [claim("data", "data-0", false), claim("log", "log-0", true)]})),
        pod("v-same-claim", json!({"volumes": [claim("one", "shared", false), claim("two", "shared", true)]})),
        pod("v-ephemeral", json!({"volumes": [ephemeral, {"name": "tmp", "emptyDir": {}}, claim("data", "d", false)]})),
        pod("v-none", json!({"volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}]})),
    ]
}

fn claims() -> Vec<Object> {
    vec![
        pod(
            "c-claims",
            json!({"resourceClaims": [
                {"name": "gpu", "resourceClaimName": "shared-gpu"},
                {"name": "nic", "resourceClaimTemplateName": "nic-template"},
                {"name": "late", "resourceClaimTemplateName": "late-template"},
            ]}),
        )
        .status(json!({"resourceClaimStatuses": [{"name": "nic", "resourceClaimName": "c-claims-nic-x7k2p"}]})),
    ]
}

fn scheduling() -> Vec<Object> {
    let tolerations = json!([
        {"operator": "Exists"},
        {"key": "example.com/upgrade", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "example.com/upgrade", "operator": "Equal", "value": "v1", "effect": "NoExecute", "tolerationSeconds": 30},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
        {"key": "plain", "value": "x"},
        {"key": "prefer", "operator": "Exists", "effect": "PreferNoSchedule"},
    ]);
    let selector = json!({
        "kubernetes.io/os": "linux", "camelCase": "1", "camel-case": "2", "a.b": "dot", "a-b": "dash", "9.9": "nine",
    });
    vec![
        pod("s-tolerant", json!({"tolerations": tolerations})),
        pod("s-selective", json!({"nodeSelector": selector})),
        pod("s-overhead", json!({"runtimeClassName": OVERHEAD_CLASS})),
        pod("s-runtime", json!({"runtimeClassName": PLAIN_CLASS})),
        pod("s-priority", json!({"priorityClassName": PRIORITY_CLASS})),
        pod("s-host", json!({"hostNetwork": true, "serviceAccountName": "builder", "schedulerName": "own-scheduler"})),
        pod("s-never", json!({"restartPolicy": "Never"})),
        pod("s-on-failure", json!({"restartPolicy": "OnFailure"})),
        pod("s-missing-node", json!({"nodeName": "not-there"})),
        pod("s-gated", json!({"nodeName": null, "schedulingGates": [{"name": "example.com/wait"}]})),
        pod("s-unbound", json!({"nodeName": null})),
    ]
}

fn owners() -> Vec<Object> {
    let owned = |name: &str, owners: Value| pod(name, json!({})).metadata(json!({"ownerReferences": owners}));
    vec![
        owned("o-set", json!([owner("ReplicaSet", "web-1", Some(true))])),
        owned("o-two", json!([owner("Widget", "w1", Some(false)), owner("StatefulSet", "db", Some(true))])),
        owned("o-unsaid", json!([owner("Widget", "w1", None)])),
        owned("o-not-controlled", json!([owner("Job", "j", Some(false))])),
        owned("o-node", json!([owner("Node", "bulk-0", Some(true))])),
        pod("o-none", json!({})),
    ]
}

fn labelled() -> Vec<Object> {
    vec![
        pod("l-odd", json!({})).metadata(metadata("l-odd", odd_labels(), odd_annotations())),
        pod("l-labels", json!({})).metadata(json!({"labels": {"app": "x"}})),
        pod("l-annotations", json!({})).metadata(json!({"annotations": {"note": "x"}})),
        Object::namespaced(
            "api/v1",
            "pods",
            "team-b",
            json!({
                "metadata": {"generateName": "ignored-", "name": "l-other-namespace.with.dots"},
                "spec": {"nodeName": BULK_NODES[1], "containers": [container("main", json!({}))]},
            }),
        ),
    ]
}

fn containers() -> Vec<Object> {
    let limits = json!({"resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "20m"}}});
    let mut sidecar = json!({"restartPolicy": "Always"});
    super::merge(&mut sidecar, limits.clone());
    let ephemeral = json!({"spec": {"ephemeralContainers": [
        {"name": "debug", "image": "registry.example.test/debug:1", "targetContainerName": "main"},
    ]}});
    vec![
        pod("k-init", json!({"initContainers": [container("prepare", limits), container("proxy", sidecar)]})).status(json!({
            "initContainerStatuses": [
                {
                    "name": "prepare", "image": "registry.example.test/prepare@sha256:00", "imageID": "sha256:11",
                    "containerID": "containerd://a", "ready": true, "restartCount": 2,
                    "state": {"terminated": {
                        "exitCode": 0, "reason": "Completed", "startedAt": super::time(1), "finishedAt": super::time(9),
                    }},
                    "lastState": {"terminated": {
                        "exitCode": 7, "reason": "Error", "startedAt": super::time(0), "finishedAt": super::time(1),
                    }},
                },
                {
                    "name": "proxy", "image": "registry.example.test/proxy:1", "imageID": "", "ready": true,
                    "restartCount": 0, "started": true, "state": {"running": {"startedAt": super::time(10)}},
                },
            ],
        })),
        pod("k-init-waiting", json!({"initContainers": [container("slow", json!({}))]})).status(json!({
            "initContainerStatuses": [{
                "name": "slow", "image": "", "imageID": "", "ready": false, "restartCount": 11,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "not shown"}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": super::time(40)}},
            }],
        })),
        pod("k-ephemeral", json!({})).patch("ephemeralcontainers", ephemeral).status(json!({
            "ephemeralContainerStatuses": [{
                "name": "debug", "image": "registry.example.test/debug:1", "imageID": "", "ready": false,
                "restartCount": 0, "state": {"running": {"startedAt": super::time(50)}},
            }],
        })),
        pod("k-many", json!({"containers": (0..6).map(|n| container(&format!("c{n}"), json!({}))).collect::<Vec<_>>()})),
    ]
}

fn going() -> Vec<Object> {
    vec![
        pod("g-bound", json!({"terminationGracePeriodSeconds": 3600})).deleted(),
        pod("g-unbound", json!({"nodeName": null})).deleted(),
    ]
}

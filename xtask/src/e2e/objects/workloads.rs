//! Deployments, replica sets, stateful sets and daemon sets, with the status that their controllers would write.
//!
//! Invariant: no controller runs, so every status stays as it is written here.

use serde_json::{Value, json};

use super::{Object, condition, metadata, odd_annotations, odd_labels, owner};

const APPS: &str = "apis/apps/v1";

/// All workloads of `apps/v1`.
pub fn objects() -> Vec<Object> {
    [deployments(), replica_sets(), stateful_sets(), daemon_sets(), bulk()].into_iter().flatten().collect()
}

/// A workload named `name` in `team-a`; `spec` is added to a selector and a template.
fn workload(resource: &str, name: &str, spec: Value) -> Object {
    let mut full = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "registry.example.test/app:1"}]},
        },
    });
    if resource == "statefulsets" {
        full["serviceName"] = name.into();
    }
    super::merge(&mut full, spec);
    Object::namespaced(APPS, resource, "team-a", json!({"metadata": {"name": name}, "spec": full}))
}

fn rolling(max_unavailable: Value, max_surge: Value) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": max_unavailable, "maxSurge": max_surge}})
}

fn deployments() -> Vec<Object> {
    let deployment = |name: &str, spec: Value| workload("deployments", name, spec);
    vec![
        deployment("percent", json!({"replicas": 10, "strategy": rolling("25%".into(), "25%".into())}))
            .metadata(metadata("percent", odd_labels(), odd_annotations()))
            .status(json!({
                "observedGeneration": 1, "replicas": 12, "updatedReplicas": 7, "readyReplicas": 9, "availableReplicas": 8,
                "unavailableReplicas": 4, "terminatingReplicas": 2,
                "conditions": [
                    condition("Available", "True", "MinimumReplicasAvailable", 1),
                    condition("Progressing", "True", "ReplicaSetUpdated", 2),
                ],
            })),
        deployment("thirds", json!({"replicas": 7, "strategy": rolling("33%".into(), "34%".into())})),
        deployment("all", json!({"replicas": 3, "strategy": rolling("100%".into(), "0%".into())})),
        deployment("counts", json!({"replicas": 5, "strategy": rolling(0.into(), 2.into())})),
        deployment("tiny", json!({"replicas": 1, "strategy": rolling("1%".into(), "1%".into())})),
        deployment("none", json!({"replicas": 0})),
        deployment("default", json!({})),
        deployment("recreate", json!({"replicas": 2, "strategy": {"type": "Recreate"}})).status(json!({
            "replicas": 2, "unavailableReplicas": 2,
            "conditions": [
                condition("Available", "False", "MinimumReplicasUnavailable", 3),
                condition("Progressing", "False", "ProgressDeadlineExceeded", 4),
                condition("ReplicaFailure", "True", "FailedCreate", 5),
            ],
        })),
        deployment("paused", json!({"replicas": 2, "paused": true})).status(json!({
            "conditions": [
                condition("Progressing", "Unknown", "DeploymentPaused", 6),
                condition("Available", "Unknown", "", 7),
                condition("example.com/Own", "True", "AReasonNobodyKnows", 8),
            ],
        })),
        deployment("resumed", json!({})).status(json!({
            "conditions": [
                condition("Progressing", "True", "DeploymentResumed", 6),
                condition("Available", "True", "FoundNewReplicaSet", 7),
            ],
        })),
        deployment("complete", json!({})).status(json!({
            "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
            "conditions": [condition("Progressing", "True", "NewReplicaSetAvailable", 9)],
        })),
        deployment("owned", json!({})).metadata(json!({"ownerReferences": [
            owner("Widget", "w1", Some(true)), owner("Widget", "w2", None),
        ]})),
        deployment("going", json!({"replicas": 1})).deleted(),
    ]
}

fn replica_sets() -> Vec<Object> {
    let set = |name: &str, spec: Value| workload("replicasets", name, spec);
    vec![
        set("web-1", json!({"replicas": 3}))
            .metadata(metadata("web-1", odd_labels(), odd_annotations()))
            .metadata(json!({"ownerReferences": [owner("Deployment", "web", Some(true))]}))
            .status(json!({
                "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 2, "availableReplicas": 1,
                "observedGeneration": 1, "terminatingReplicas": 1,
            })),
        set("old", json!({"replicas": 0})).metadata(json!({"ownerReferences": [
            owner("Deployment", "web", Some(false)), owner("Widget", "w", None),
        ]})),
        set("alone", json!({})),
        set("going", json!({"replicas": 1})).deleted(),
    ]
}

fn stateful_sets() -> Vec<Object> {
    let set = |name: &str, spec: Value| workload("statefulsets", name, spec);
    vec![
        set(
            "db",
            json!({
                "replicas": 3,
                "ordinals": {"start": 5},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
            }),
        )
        .metadata(metadata("db", odd_labels(), odd_annotations()))
        .status(json!({
            "observedGeneration": 1, "replicas": 3, "readyReplicas": 2, "currentReplicas": 1, "updatedReplicas": 2,
            "availableReplicas": 2, "currentRevision": "db-6c5f", "updateRevision": "db-7d8e", "collisionCount": 0,
        })),
        set("start-zero", json!({"replicas": 1, "ordinals": {"start": 0}})),
        set("silent", json!({})),
        set("empty", json!({"replicas": 0})).status(json!({"replicas": 0, "currentRevision": "empty-1"})),
        set("going", json!({"replicas": 1})).deleted(),
    ]
}

fn daemon_sets() -> Vec<Object> {
    let set = |name: &str, spec: Value| workload("daemonsets", name, spec);
    vec![
        set("agent", json!({})).metadata(metadata("agent", odd_labels(), odd_annotations())).status(json!({
            "currentNumberScheduled": 3, "numberMisscheduled": 1, "desiredNumberScheduled": 4, "numberReady": 2,
            "observedGeneration": 1, "updatedNumberScheduled": 3, "numberAvailable": 2, "numberUnavailable": 2,
        })),
        set("silent", json!({})),
        set("going", json!({})).deleted(),
    ]
}

fn bulk() -> Vec<Object> {
    (0..60)
        .map(|n: u32| {
            let resource = ["deployments", "replicasets", "statefulsets", "daemonsets"][n as usize % 4];
            let spec = if resource == "daemonsets" { json!({}) } else { json!({"replicas": n % 5}) };
            workload(resource, &format!("bulk-{n}"), spec).metadata(json!({"labels": {"tier": format!("t{}", n % 3)}}))
        })
        .collect()
}

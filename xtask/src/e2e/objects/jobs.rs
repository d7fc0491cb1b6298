//! Jobs in every state that their controller writes.
//!
//! Invariant: each status passes the API server's own checks, which know what follows what (a complete job has met its
//! success criteria, a failed one has a failure target).

use serde_json::{Value, json};

use super::{Object, condition, metadata, odd_annotations, odd_labels, owner, time};

fn job(name: &str, spec: Value) -> Object {
    let mut full = json!({
        "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example.test/job:1"}],
        }},
    });
    super::merge(&mut full, spec);
    Object::namespaced("apis/batch/v1", "jobs", "team-b", json!({"metadata": {"name": name}, "spec": full}))
}

fn failed(reason: &str, pods: u32) -> Value {
    json!({
        "startTime": time(0), "failed": pods,
        "conditions": [condition("FailureTarget", "True", reason, 50), condition("Failed", "True", reason, 60)],
    })
}

fn complete(succeeded: u32, failed: u32) -> Value {
    json!({
        "startTime": time(0), "completionTime": time(125), "succeeded": succeeded, "failed": failed,
        "conditions": [
            condition("SuccessCriteriaMet", "True", "CompletionsReached", 120),
            condition("Complete", "True", "CompletionsReached", 125),
        ],
    })
}

/// All jobs.
pub fn objects() -> Vec<Object> {
    let mut objects = vec![
        job("fresh", json!({})),
        job("active", json!({"parallelism": 3, "completions": 9, "activeDeadlineSeconds": 600}))
            .metadata(metadata("active", odd_labels(), odd_annotations()))
            .metadata(json!({"ownerReferences": [owner("CronJob", "nightly", Some(true))]}))
            .status(json!({"startTime": time(10), "active": 3, "ready": 2, "succeeded": 1, "terminating": 1})),
        job("retry", json!({})).status(json!({"startTime": time(10), "active": 1, "failed": 3})),
        job("complete", json!({})).status(complete(1, 0)),
        job("flaky", json!({})).status(complete(1, 1)),
        job("backoff", json!({"backoffLimit": 2})).status(failed("BackoffLimitExceeded", 3)),
        job("deadline", json!({"activeDeadlineSeconds": 5})).status(failed("DeadlineExceeded", 1)),
        job("policy", json!({})).status(failed("PodFailurePolicy", 1)),
        job("evicted", json!({})).status(failed("Evicted", 2)),
        job("failed-without-pods", json!({})).status(failed("BackoffLimitExceeded", 0)),
        job("suspended", json!({"suspend": true, "parallelism": 0})).status(json!({
            "conditions": [condition("Suspended", "True", "JobSuspended", 5)],
        })),
        job("resumed", json!({})).status(json!({
            "startTime": time(20), "active": 1, "conditions": [condition("Suspended", "False", "JobResumed", 20)],
        })),
        job("queue", json!({"parallelism": 5})),
        job("owners", json!({})).metadata(json!({"ownerReferences": [
            owner("Widget", "w", None), owner("CronJob", "hourly", Some(false)),
        ]})),
        job("going", json!({})).deleted(),
    ];
    objects.extend((0..20).map(|n| job(&format!("bulk-{n}"), json!({"completions": n + 1}))));
    objects
}

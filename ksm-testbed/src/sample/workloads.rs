//! The controllers of pods: deployments with their replica sets, stateful sets, daemon sets, jobs and cron jobs; and the
//! service account, config map and secret that every workload brings.

use serde_json::{Value, json};

use super::{
    plan::{NOW, Plan, PodPlan, State, Workload, WorkloadKind},
    pods::{labels, template_spec, timestamp},
};
use crate::cluster::uuid;

/// Everything but pods, network and storage.
pub(super) fn objects(plan: &Plan, workload: &Workload, pods: &[PodPlan]) -> Vec<Value> {
    let mut objects = vec![
        object(
            workload,
            "v1",
            "ServiceAccount",
            &workload.name,
            json!({"automountServiceAccountToken": true, "imagePullSecrets": [{"name": "registry"}], "secrets": [{"name": format!("{}-credentials", workload.name)}]}),
        ),
        object(workload, "v1", "ConfigMap", &format!("{}-config", workload.name), config(workload)),
        object(
            workload,
            "v1",
            "Secret",
            &format!("{}-credentials", workload.name),
            json!({"type": "Opaque", "data": {"password": "c2VjcmV0", "username": "c2VydmljZQ=="}}),
        ),
    ];
    match &workload.kind {
        WorkloadKind::Deployment { .. } => objects.extend(deployment(workload, pods)),
        WorkloadKind::StatefulSet => objects.push(stateful_set(workload, pods)),
        WorkloadKind::DaemonSet => objects.push(daemon_set(plan, workload, pods)),
        WorkloadKind::Job { outcome, cron_job } => objects.extend(job(workload, pods, *outcome, cron_job.as_ref())),
        WorkloadKind::Static | WorkloadKind::Bare => {}
    }
    objects
}

/// An object of the workload's namespace with its labels.
pub(super) fn object(workload: &Workload, api_version: &str, kind: &str, name: &str, mut content: Value) -> Value {
    content["apiVersion"] = api_version.into();
    content["kind"] = kind.into();
    // What is random about the object follows from the workload and what it is for.
    let seed = crate::uid_hash(&format!("{}/{kind}/{name}", workload.uid));
    let mut random = fastrand::Rng::with_seed(seed);
    content["metadata"] = json!({
        "name": name,
        "namespace": workload.namespace,
        "uid": uuid(&mut random),
        "creationTimestamp": timestamp(workload.created),
    });
    content["metadata"]["labels"] = labels(workload);
    leave(&mut random, &mut content);
    content
}

/// Few objects are being deleted and wait for a finalizer.
pub(super) fn leave(random: &mut fastrand::Rng, object: &mut Value) {
    if random.u32(..50) == 0 {
        object["metadata"]["deletionTimestamp"] = timestamp(NOW - 120).into();
        object["metadata"]["finalizers"] = json!(["example.com/cleanup"]);
    }
}

fn config(workload: &Workload) -> Value {
    json!({"data": {
        "service.yaml": format!("name: {}\nteam: {}\nworkers: {}\n", workload.name, workload.team, workload.style % 16),
        "log.level": "info",
    }})
}

fn template(workload: &Workload) -> Value {
    let mut template = json!({"metadata": {"annotations": {"prometheus.io/scrape": "true"}}});
    template["metadata"]["labels"] = labels(workload);
    template["spec"] = template_spec(workload);
    template
}

fn selector(workload: &Workload) -> Value {
    json!({"matchLabels": {"app.kubernetes.io/name": workload.name}})
}

/// Pods that are ready.
pub(super) fn ready(pods: &[PodPlan]) -> usize {
    pods.iter().filter(|pod| matches!(pod.state, State::Running | State::Restarted)).count()
}

fn alive(pods: &[PodPlan]) -> usize {
    let gone =
        |pod: &&PodPlan| !matches!(pod.state, State::Evicted | State::Terminating | State::Failed | State::Succeeded);
    pods.iter().filter(gone).count()
}

fn deployment(workload: &Workload, pods: &[PodPlan]) -> Vec<Value> {
    let WorkloadKind::Deployment { replica_set, replica_set_uid, hash } = &workload.kind else { return Vec::new() };
    let (replicas, alive, ready) = (pods.len(), alive(pods), ready(pods));
    let terminating = pods.iter().filter(|pod| pod.state == State::Terminating).count();
    let template = template(workload);
    let mut deployment = object(
        workload,
        "apps/v1",
        "Deployment",
        &workload.name,
        json!({
            "spec": {
                "replicas": replicas, "selector": selector(workload),
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {
                    "maxSurge": if workload.style.is_multiple_of(4) { json!(2) } else { json!("25%") }, "maxUnavailable": "25%"}},
                "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "minReadySeconds": 0,
                "paused": (workload.style / 13).is_multiple_of(50),
            },
            "status": {
                "observedGeneration": 2, "replicas": alive, "updatedReplicas": alive, "readyReplicas": ready,
                "availableReplicas": ready, "unavailableReplicas": replicas - ready.min(replicas),
                    "terminatingReplicas": terminating,
                "conditions": [
                    condition(workload, "Available", ready * 4 >= replicas * 3, "MinimumReplicasAvailable"),
                    condition(workload, "Progressing", true, "NewReplicaSetAvailable"),
                ],
            },
        }),
    );
    deployment["spec"]["template"] = template.clone();
    deployment["metadata"]["uid"] = workload.uid.as_str().into();
    deployment["metadata"]["generation"] = 2.into();
    deployment["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "2"});
    let revision = |name: &str, uid: Option<&str>, hash: &str, replicas: usize, alive: usize, ready: usize| {
        let mut set = object(
            workload,
            "apps/v1",
            "ReplicaSet",
            name,
            json!({
                "spec": {"replicas": replicas, "selector": selector(workload)},
                "status": {"observedGeneration": 1, "replicas": alive, "fullyLabeledReplicas": alive,
                    "readyReplicas": ready, "availableReplicas": ready, "terminatingReplicas": terminating},
            }),
        );
        set["spec"]["template"] = template.clone();
        if let Some(uid) = uid {
            set["metadata"]["uid"] = uid.into();
        }
        set["metadata"]["generation"] = 1.into();
        set["metadata"]["labels"]["pod-template-hash"] = hash.into();
        set["spec"]["selector"]["matchLabels"]["pod-template-hash"] = hash.into();
        set["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = hash.into();
        set["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment",
            "name": workload.name, "uid": workload.uid, "controller": true, "blockOwnerDeletion": true}]);
        set
    };
    // The set of the revision before is kept for rolling back.
    let old = format!("{}-{:09x}", workload.name, workload.style & 0xf_ffff_ffff);
    let old_hash = format!("{:09x}", workload.style & 0xf_ffff_ffff);
    vec![
        deployment,
        revision(replica_set, Some(replica_set_uid), hash, replicas, alive, ready),
        revision(&old, None, &old_hash, 0, 0, 0),
    ]
}

fn condition(workload: &Workload, kind: &str, on: bool, reason: &str) -> Value {
    json!({"type": kind, "status": if on { "True" } else { "False" }, "reason": reason,
        "message": format!("{kind} of {}", workload.name),
        "lastUpdateTime": timestamp(workload.created + 60), "lastTransitionTime": timestamp(workload.created + 60)})
}

fn stateful_set(workload: &Workload, pods: &[PodPlan]) -> Value {
    let (replicas, ready) = (pods.len(), ready(pods));
    let revision = format!("{}-{:x}", workload.name, workload.style as u32);
    let mut set = object(
        workload,
        "apps/v1",
        "StatefulSet",
        &workload.name,
        json!({
            "spec": {
                "replicas": replicas, "serviceName": workload.name, "selector": selector(workload), "ordinals": {"start": 0},
                "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                "volumeClaimTemplates": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}},
                        "storageClassName": "fast", "volumeMode": "Filesystem"},
                    "status": {"phase": "Pending"}}],
            },
            "status": {"observedGeneration": 1, "replicas": replicas, "readyReplicas": ready, "currentReplicas": replicas,
                "updatedReplicas": replicas, "availableReplicas": ready, "currentRevision": revision,
                "updateRevision": revision, "collisionCount": 0},
        }),
    );
    set["spec"]["template"] = template(workload);
    set["metadata"]["uid"] = workload.uid.as_str().into();
    set["metadata"]["generation"] = 1.into();
    set
}

fn daemon_set(plan: &Plan, workload: &Workload, pods: &[PodPlan]) -> Value {
    let (desired, ready) = (plan.nodes.len(), ready(pods));
    let mut set = object(
        workload,
        "apps/v1",
        "DaemonSet",
        &workload.name,
        json!({
            "spec": {"selector": selector(workload), "revisionHistoryLimit": 10,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}},
            "status": {"currentNumberScheduled": pods.len(), "numberMisscheduled": 0, "desiredNumberScheduled": desired,
                "numberReady": ready, "observedGeneration": 1, "updatedNumberScheduled": pods.len(),
                "numberAvailable": ready, "numberUnavailable": desired.saturating_sub(ready)},
        }),
    );
    set["spec"]["template"] = template(workload);
    set["metadata"]["uid"] = workload.uid.as_str().into();
    set["metadata"]["generation"] = 1.into();
    set
}

fn job(workload: &Workload, pods: &[PodPlan], outcome: State, cron_job: Option<&(String, String)>) -> Vec<Value> {
    let mut spec = json!({
        "parallelism": pods.len(), "completions": pods.len(), "backoffLimit": 6, "suspend": false,
        "completionMode": "NonIndexed", "activeDeadlineSeconds": 7200,
    });
    spec["template"] = template(workload);
    let mut created = spec.clone();
    created["selector"] = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": workload.uid}});
    let (start, end) = (timestamp(workload.created + 1), timestamp(workload.created + 700));
    let condition = |kind: &str, reason: &str| json!([{"type": kind, "status": "True", "reason": reason, "lastProbeTime": end, "lastTransitionTime": end}]);
    let status = match outcome {
        State::Succeeded => json!({"succeeded": pods.len(), "startTime": start, "completionTime": end,
            "conditions": condition("Complete", "CompletionsReached"), "terminating": 0, "ready": 0}),
        State::Failed => json!({"failed": pods.len(), "startTime": start, "terminating": 0, "ready": 0,
            "conditions": condition("Failed", "BackoffLimitExceeded")}),
        _ => json!({"active": pods.len(), "ready": pods.len(), "terminating": 0, "startTime": start,
            "conditions": [{"type": "Suspended", "status": "False", "reason": "JobResumed", "lastTransitionTime": start}]}),
    };
    let mut job = object(workload, "batch/v1", "Job", &workload.name, json!({"spec": created, "status": status}));
    job["metadata"]["uid"] = workload.uid.as_str().into();
    job["metadata"]["generation"] = 1.into();
    let Some((name, uid)) = cron_job else { return vec![job] };
    job["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": name, "uid": uid,
        "controller": true, "blockOwnerDeletion": true}]);
    let mut cron = object(
        workload,
        "batch/v1",
        "CronJob",
        name,
        json!({
            "spec": {"schedule": format!("{} */{} * * *", workload.style % 60, 1 + workload.style % 12),
                "concurrencyPolicy": "Forbid", "suspend": workload.style.is_multiple_of(20), "startingDeadlineSeconds": 300,
                "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
                "jobTemplate": {"metadata": {"labels": labels(workload)}, "spec": spec}},
            "status": {"lastScheduleTime": timestamp(NOW - 1800), "lastSuccessfulTime": timestamp(NOW - 1000)},
        }),
    );
    cron["metadata"]["uid"] = uid.as_str().into();
    cron["metadata"]["generation"] = 1.into();
    if outcome == State::Running {
        cron["status"]["active"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "namespace": workload.namespace,
            "name": workload.name, "uid": workload.uid}]);
    }
    vec![job, cron]
}

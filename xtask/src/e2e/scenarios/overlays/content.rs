//! What lives in the cluster beside our own workloads: a little of everything, made real by its controllers.
//!
//! Invariant: once [`create`] returns, none of it changes by itself.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::e2e::api::Api;
use crate::wait;

/// Where it is.
pub const NAMESPACE: &str = "team-a";

/// Time for controllers, the scheduler and kwok to do their part.
const LIMIT: Duration = Duration::from_secs(90);

/// Makes it and waits until it has come to rest.
pub fn create(api: &mut Api) -> Result<()> {
    let client = api.client().clone();
    for object in objects() {
        if object["kind"] == "Pod" {
            // A pod is refused until a controller has made this account, and nobody makes a bare pod again.
            let account = "/api/v1/namespaces/team-a/serviceaccounts/default";
            wait::until("the namespace has its account", LIMIT, || {
                Ok((client.get(account, None)?.status == 200).then_some(()))
            })?;
        }
        api.create(&object)?;
    }
    let path = "/apis/apps/v1/namespaces/team-a";
    wait::until("the workloads of the cluster are ready", LIMIT, || {
        let ready = client.get_json(&format!("{path}/deployments/web"))?["status"]["readyReplicas"] == 20
            && client.get_json(&format!("{path}/statefulsets/db"))?["status"]["readyReplicas"] == 2
            && client.get_json(&format!("{path}/daemonsets/agent"))?["status"]["numberReady"] == 3
            && client.get_json("/apis/batch/v1/namespaces/team-a/jobs/once")?["status"]["succeeded"] == 1;
        Ok(ready.then_some(()))
    })
}

/// A pod that no node is good enough for.
pub fn waiting_pod() -> Value {
    let mut pod = namespaced("v1", "Pod", "waiting", json!({"spec": pod_spec("waiting")}));
    pod["spec"]["nodeSelector"] = json!({"example.com/disk": "fast"});
    pod
}

fn namespaced(version: &str, kind: &str, name: &str, rest: Value) -> Value {
    let mut object = cluster(version, kind, name, rest);
    object["metadata"]["namespace"] = json!(NAMESPACE);
    object
}

fn cluster(version: &str, kind: &str, name: &str, rest: Value) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    for (key, value) in rest.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

fn pod_spec(name: &str) -> Value {
    json!({
        "containers": [{
            "name": name,
            "image": "registry.example.test/app:1",
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}},
        }],
    })
}

fn template(name: &str) -> Value {
    json!({"metadata": {"labels": {"app": name}}, "spec": pod_spec(name)})
}

fn workload(kind: &str, name: &str, more: Value) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": name}}, "template": template(name)});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    namespaced("apps/v1", kind, name, json!({"spec": spec}))
}

fn job() -> Value {
    let mut template = template("once");
    template["spec"]["restartPolicy"] = json!("Never");
    json!({"template": template})
}

fn objects() -> Vec<Value> {
    let selector = json!({"matchLabels": {"app": "web"}});
    let mut objects = vec![
        cluster("v1", "Namespace", NAMESPACE, json!({})),
        cluster("storage.k8s.io/v1", "StorageClass", "by-hand", json!({"provisioner": "example.com/none"})),
        cluster(
            "v1",
            "PersistentVolume",
            "disk",
            json!({"spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand",
                "hostPath": {"path": "/nowhere"},
            }}),
        ),
        namespaced("v1", "ConfigMap", "settings", json!({"data": {"a": "b"}})),
        namespaced("v1", "Secret", "password", json!({"stringData": {"a": "b"}})),
        namespaced("v1", "ResourceQuota", "room", json!({"spec": {"hard": {"pods": "100"}}})),
        namespaced("v1", "Service", "web", json!({"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})),
        namespaced(
            "v1",
            "PersistentVolumeClaim",
            "disk",
            json!({"spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand",
                "resources": {"requests": {"storage": "1Gi"}},
            }}),
        ),
        namespaced(
            "networking.k8s.io/v1",
            "Ingress",
            "web",
            json!({"spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}}),
        ),
        namespaced("networking.k8s.io/v1", "NetworkPolicy", "none", json!({"spec": {"podSelector": {}}})),
        namespaced(
            "policy/v1",
            "PodDisruptionBudget",
            "web",
            json!({"spec": {"minAvailable": 10, "selector": selector}}),
        ),
        workload("Deployment", "web", json!({"replicas": 20})),
        workload("StatefulSet", "db", json!({"replicas": 2, "serviceName": "db", "podManagementPolicy": "Parallel"})),
        workload("DaemonSet", "agent", json!({})),
        namespaced("batch/v1", "Job", "once", json!({"spec": job()})),
        namespaced(
            "batch/v1",
            "CronJob",
            "nightly",
            json!({"spec": {"schedule": "0 3 * * *", "suspend": true, "jobTemplate": {"spec": job()}}}),
        ),
    ];
    let mut hopeless = waiting_pod();
    hopeless["metadata"]["name"] = json!("hopeless");
    hopeless["spec"]["nodeSelector"] = json!({"example.com/disk": "none"});
    objects.push(hopeless);
    objects
}

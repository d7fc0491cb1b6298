//! What belongs to no workload: namespaces with their quotas, limits and roles, and kinds a cluster has few of.

use serde_json::{Value, json};

use super::{
    plan::{NODE_LEASES, NOW, Plan, SYSTEM},
    pods::timestamp,
    workloads::leave,
};

pub(super) fn objects(plan: &Plan) -> Vec<Value> {
    let mut objects: Vec<Value> = plan.namespaces.iter().enumerate().flat_map(|(i, name)| namespace(i, name)).collect();
    objects.extend(cluster_roles());
    objects.extend(replication_controllers(plan));
    objects.extend(events(plan));
    objects
}

/// A cluster-scoped object, or with a namespace one in it; its UID follows from what it is.
pub(super) fn object(api_version: &str, kind: &str, namespace: &str, name: &str, mut content: Value) -> Value {
    let seed = crate::uid_hash(&format!("{api_version}/{kind}/{namespace}/{name}"));
    let mut random = fastrand::Rng::with_seed(seed);
    content["apiVersion"] = api_version.into();
    content["kind"] = kind.into();
    content["metadata"]["name"] = name.into();
    if !namespace.is_empty() {
        content["metadata"]["namespace"] = namespace.into();
    }
    content["metadata"]["uid"] = crate::cluster::uuid(&mut random).into();
    content["metadata"]["creationTimestamp"] = timestamp(NOW - random.i64(30 * 86_400..300 * 86_400)).into();
    if matches!(kind, "PersistentVolume" | "PersistentVolumeClaim") {
        leave(&mut random, &mut content);
    }
    content
}

fn namespace(index: usize, name: &str) -> Vec<Value> {
    let system = matches!(name, SYSTEM | NODE_LEASES | "default");
    let labels = if system {
        json!({"kubernetes.io/metadata.name": name})
    } else {
        json!({"kubernetes.io/metadata.name": name, "team": name.split('-').next(),
            "pod-security.kubernetes.io/enforce": "restricted"})
    };
    let mut namespace = json!({
        "metadata": {"labels": labels, "annotations": {"example.com/cost-center": format!("cc-{:04}", index * 37 % 10_000)}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    });
    if index > 10 && index % 20 == 11 {
        namespace["status"] = json!({"phase": "Terminating", "conditions": [{"type": "NamespaceContentRemaining",
            "status": "True", "reason": "SomeResourcesRemain", "lastTransitionTime": timestamp(NOW - 300)}]});
    }
    let mut objects = vec![
        object("v1", "Namespace", "", name, namespace),
        object("v1", "ServiceAccount", name, "default", json!({})),
        object(
            "v1",
            "ConfigMap",
            name,
            "kube-root-ca.crt",
            json!({"data": {"ca.crt": "-----BEGIN CERTIFICATE-----\n"}}),
        ),
    ];
    if system {
        return objects;
    }
    let hard = json!({"pods": "5000", "requests.cpu": "2k", "requests.memory": "4Ti", "count/jobs.batch": "500"});
    let used = json!({"pods": (index * 17).to_string(), "requests.cpu": format!("{}m", index * 1250),
        "requests.memory": format!("{}Mi", index * 4096), "count/jobs.batch": "12"});
    objects.extend([
        object(
            "v1",
            "ResourceQuota",
            name,
            "compute",
            json!({
            "spec": {"hard": hard}, "status": {"hard": hard, "used": used}}),
        ),
        object(
            "v1",
            "LimitRange",
            name,
            "defaults",
            json!({"spec": {"limits": [
                {"type": "Container", "default": {"cpu": "500m", "memory": "512Mi"},
                    "defaultRequest": {"cpu": "100m", "memory": "128Mi"}, "max": {"cpu": "8", "memory": "32Gi"}},
                {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "1Ti"}},
            ]}}),
        ),
        object(
            "rbac.authorization.k8s.io/v1",
            "Role",
            name,
            "deployer",
            json!({"rules": [
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch", "patch"]}]}),
        ),
        object(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            name,
            "deployer",
            json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": name}]}),
        ),
        object(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            name,
            "default-deny",
            json!({"spec": {
            "podSelector": {}, "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [{"podSelector": {}}]}],
            "egress": [{"to": [{"namespaceSelector": {}}], "ports": [{"protocol": "UDP", "port": 53}]}, {}]}}),
        ),
    ]);
    objects
}

fn cluster_roles() -> Vec<Value> {
    let group = "rbac.authorization.k8s.io";
    ["cluster-admin", "view", "metrics-reader", "node-agent"]
        .into_iter()
        .flat_map(|name| {
            let labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
            let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]);
            [
                object(
                    &format!("{group}/v1"),
                    "ClusterRole",
                    "",
                    name,
                    json!({"metadata": {"labels": labels}, "rules": rules}),
                ),
                object(
                    &format!("{group}/v1"),
                    "ClusterRoleBinding",
                    "",
                    name,
                    json!({
                    "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                    "subjects": [{"kind": "Group", "apiGroup": group, "name": format!("team:{name}")}]}),
                ),
            ]
        })
        .collect()
}

fn replication_controllers(plan: &Plan) -> Vec<Value> {
    let Some(namespace) = plan.namespaces.last() else { return Vec::new() };
    vec![object(
        "v1",
        "ReplicationController",
        namespace,
        "legacy",
        json!({
        "metadata": {"generation": 1},
        "spec": {"replicas": 0, "selector": {"app": "legacy"}, "template": {
            "metadata": {"labels": {"app": "legacy"}},
            "spec": {"containers": [{"name": "main", "image": "registry.example.com/legacy:1"}]}}},
        "status": {"replicas": 0, "fullyLabeledReplicas": 0, "readyReplicas": 0, "availableReplicas": 0,
            "observedGeneration": 1}}),
    )]
}

fn events(plan: &Plan) -> Vec<Value> {
    let event = |(index, pod): (usize, &super::plan::PodPlan)| {
        let workload = plan.workloads.iter().find(|workload| workload.pods.contains(&index))?;
        let name = format!("{}.{:016x}", pod.name, pod.seed);
        let time = timestamp(NOW - 600);
        Some(object(
            "v1",
            "Event",
            &workload.namespace,
            &name,
            json!({
            "involvedObject": {"kind": "Pod", "apiVersion": "v1", "namespace": workload.namespace, "name": pod.name,
                "uid": pod.uid},
            "reason": "Unhealthy", "message": "Readiness probe failed", "type": "Warning", "count": 3,
            "source": {"component": "kubelet"}, "reportingComponent": "kubelet", "reportingInstance": "",
            "firstTimestamp": time, "lastTimestamp": time}),
        ))
    };
    plan.pods.iter().enumerate().step_by(500).filter_map(event).collect()
}

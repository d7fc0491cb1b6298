//! Pods but for their status: metadata, containers and volumes.

use serde_json::{Value, json};

use super::{
    managed,
    plan::{Plan, PodPlan, State, Workload, WorkloadKind},
    pod_status::{CREATED, DELETED, READY, status},
    resource,
};
use crate::{
    codec::{self, schema, wire},
    store::object::replace_field,
};

// Field numbers of pods and of their metadata, of which managed fields are the last.
const METADATA: u32 = 1;
const STATUS: u32 = 3;
const MANAGED_FIELDS: u32 = 17;

/// Containers of a pod at most, init containers included.
pub(super) const CONTAINER_IDS: usize = 4;

/// In what the pods of a workload differ.
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) node: Option<String>,
    pub(crate) host_ip: String,
    pub(crate) pod_ip: String,
    pub(crate) container_ids: [String; CONTAINER_IDS],
    pub(crate) state: State,
    /// Seconds since the epoch.
    pub(crate) created: i64,
}

impl Identity {
    /// What the plan says of a pod.
    pub(super) fn of(plan: &Plan, pod: &PodPlan) -> Self {
        let node = pod.node.map(|index| &plan.nodes[index]);
        let mut random = fastrand::Rng::with_seed(pod.seed);
        Self {
            name: pod.name.clone(),
            uid: pod.uid.clone(),
            node: node.map(|node| node.name.clone()),
            host_ip: node.map(|node| node.ip.clone()).unwrap_or_default(),
            pod_ip: pod.ip.clone(),
            container_ids: std::array::from_fn(|_| container_id(&mut random)),
            state: pod.state,
            created: pod.created,
        }
    }

    /// A time of the pod's life, in RFC 3339.
    pub(super) fn at(&self, delay: i64) -> String {
        timestamp(self.created + delay)
    }
}

/// A random container ID: 64 hexadecimal digits.
pub(crate) fn container_id(random: &mut fastrand::Rng) -> String {
    format!("{:032x}{:032x}", random.u128(..), random.u128(..))
}

/// RFC 3339.
pub(crate) fn timestamp(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_default()
}

/// A pod of the workload, encoded.
pub(super) fn encode(workload: &Workload, identity: &Identity) -> Vec<u8> {
    with_status(&encode_without_status(workload, identity), workload, identity)
}

/// The pod but for its status: the same for all states that have a node and are not terminating.
pub(super) fn encode_without_status(workload: &Workload, identity: &Identity) -> Vec<u8> {
    let mut pod = json!({});
    // Moved in, not written in the macro: that would copy them, which is slow for values of this size.
    pod["metadata"] = metadata(workload, identity);
    pod["spec"] = spec(workload, identity);
    let mut set = json!({"f:metadata": {}});
    for part in ["labels", "ownerReferences"] {
        set["f:metadata"][format!("f:{part}")] = managed::fields(&pod["metadata"][part]);
    }
    set["f:spec"] = managed::fields(&pod["spec"]);
    let entry = managed::entry("kube-controller-manager", "", "v1", &identity.at(CREATED), set);
    pod["metadata"]["managedFields"] = Value::Array(vec![entry]);
    let message = resource("Pod", "v1").message();
    codec::to_protobuf(message, &pod).unwrap_or_else(|error| panic!("sample pod: {error}"))
}

/// The pod with the status of a state, and a note of who set it.
pub(super) fn with_status(pod: &[u8], workload: &Workload, identity: &Identity) -> Vec<u8> {
    let status = status(workload, identity);
    let encode = |message: &str, value: &Value| {
        let message = schema::message(message).expect("pods are in the schema");
        codec::to_protobuf(message, value).unwrap_or_else(|error| panic!("sample pod status: {error}"))
    };
    let mut metadata = wire::bytes_field(pod, METADATA).unwrap_or_default().to_vec();
    if identity.node.is_some() {
        let mut set = json!({});
        set["f:status"] = managed::fields(&status);
        let entry = managed::entry("kubelet", "status", "v1", &identity.at(READY), set);
        let entry = encode("k8s.io.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", &entry);
        wire::put_bytes(&mut metadata, MANAGED_FIELDS, &entry);
    }
    let pod = replace_field(pod, METADATA, Some(&metadata));
    replace_field(&pod, STATUS, Some(&encode("k8s.io.api.core.v1.PodStatus", &status)))
}

/// Labels that the workload's selector and templates have.
pub(super) fn labels(workload: &Workload) -> Value {
    json!({
        "app.kubernetes.io/name": workload.name,
        "app.kubernetes.io/instance": format!("{}-{}", workload.name, workload.namespace),
        "app.kubernetes.io/version": format!("{}.{}.{}", workload.style % 5, workload.style / 5 % 20, workload.style / 100 % 9),
        "app.kubernetes.io/managed-by": "helm",
        "team": workload.team,
        "tier": if workload.style.is_multiple_of(3) { "backend" } else { "frontend" },
    })
}

fn metadata(workload: &Workload, identity: &Identity) -> Value {
    let mut labels = labels(workload);
    let owner = |kind: &str, api_version: &str, name: &str, uid: &str| {
        json!([{
            "apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true,
            "blockOwnerDeletion": true,
        }])
    };
    let mut generate_name = Some(format!("{}-", workload.name));
    let owners = match &workload.kind {
        WorkloadKind::Deployment { replica_set, replica_set_uid, hash } => {
            labels["pod-template-hash"] = hash.as_str().into();
            generate_name = Some(format!("{replica_set}-"));
            owner("ReplicaSet", "apps/v1", replica_set, replica_set_uid)
        }
        WorkloadKind::StatefulSet => {
            labels["controller-revision-hash"] = format!("{}-{:x}", workload.name, workload.style as u32).into();
            labels["statefulset.kubernetes.io/pod-name"] = identity.name.as_str().into();
            labels["apps.kubernetes.io/pod-index"] =
                identity.name.rsplit('-').next().unwrap_or_default().to_owned().into();
            owner("StatefulSet", "apps/v1", &workload.name, &workload.uid)
        }
        WorkloadKind::DaemonSet => {
            labels["controller-revision-hash"] = format!("{:x}", workload.style as u32).into();
            labels["pod-template-generation"] = "1".into();
            owner("DaemonSet", "apps/v1", &workload.name, &workload.uid)
        }
        WorkloadKind::Job { .. } => {
            labels["batch.kubernetes.io/job-name"] = workload.name.as_str().into();
            labels["batch.kubernetes.io/controller-uid"] = workload.uid.as_str().into();
            owner("Job", "batch/v1", &workload.name, &workload.uid)
        }
        WorkloadKind::Static => {
            generate_name = None;
            owner("Node", "v1", identity.node.as_deref().unwrap_or_default(), &workload.uid)
        }
        WorkloadKind::Bare => Value::Null,
    };
    let mut metadata = json!({
        "name": identity.name,
        "namespace": workload.namespace,
        "uid": identity.uid,
        "creationTimestamp": identity.at(CREATED),
        "generation": 1,
        "annotations": {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "9102",
            "checksum/config": format!("{:016x}{:016x}", workload.style, workload.style.rotate_left(32)),
        },
        "generateName": generate_name.filter(|_| !owners.is_null()),
    });
    metadata["labels"] = labels;
    metadata["ownerReferences"] = owners;
    if identity.state == State::Terminating {
        metadata["deletionTimestamp"] = identity.at(DELETED).into();
        metadata["deletionGracePeriodSeconds"] = 30.into();
    }
    metadata
}

/// What a workload's pods run; the same for all of them.
pub(super) struct Shape {
    init: bool,
    sidecar: bool,
    containers: usize,
}

impl Shape {
    pub(super) fn of(workload: &Workload) -> Self {
        let style = workload.style;
        Self {
            init: style % 10 < 3,
            sidecar: style / 10 % 10 < 1,
            containers: if style / 100 % 10 < 3 { 1 } else { 2 },
        }
    }

    pub(super) fn init_names(&self) -> impl Iterator<Item = &'static str> {
        [("prepare", self.init), ("mesh-proxy", self.sidecar)].into_iter().filter(|(_, on)| *on).map(|(name, _)| name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        ["main", "metrics"].into_iter().take(self.containers)
    }
}

/// The spec of the workload's template.
pub(super) fn template_spec(workload: &Workload) -> Value {
    let shape = Shape::of(workload);
    let job = matches!(workload.kind, WorkloadKind::Job { .. });
    let mut spec = json!({
        "volumes": [
            {"name": "config", "configMap": {"name": format!("{}-config", workload.name), "defaultMode": 420}},
            {"name": "credentials", "secret": {"secretName": format!("{}-credentials", workload.name), "defaultMode": 420}},
            {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
        ],
        "restartPolicy": if job { "Never" } else { "Always" },
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": workload.name,
        "serviceAccount": workload.name,
        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"}},
        "schedulerName": "default-scheduler",
    });
    spec["containers"] = shape.names().map(|name| container(workload, name)).collect();
    let init: Vec<_> = shape.init_names().map(|name| container(workload, name)).collect();
    if !init.is_empty() {
        spec["initContainers"] = init.into();
    }
    if (workload.style / 1000).is_multiple_of(10) {
        spec["nodeSelector"] = json!({"kubernetes.io/os": "linux", "node.kubernetes.io/pool": "general"});
    }
    if workload.style / 10_000 % 10 < 2 && matches!(workload.kind, WorkloadKind::Deployment { .. }) {
        let selector = json!({"matchLabels": {"app.kubernetes.io/name": workload.name}});
        spec["topologySpreadConstraints"] = json!([{
            "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": selector,
        }]);
        spec["affinity"] = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
            "weight": 100, "podAffinityTerm": {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"},
        }]}});
    }
    if (workload.style / 7000).is_multiple_of(15) {
        spec["runtimeClassName"] = "sandboxed".into();
        spec["overhead"] = json!({"cpu": "250m", "memory": "120Mi"});
    }
    if (workload.style / 3000).is_multiple_of(25) {
        spec["resourceClaims"] = json!([{"name": "accelerator", "resourceClaimTemplateName": "one-accelerator"}]);
    }
    if workload.kind == WorkloadKind::DaemonSet {
        spec["hostNetwork"] = true.into();
        spec["priorityClassName"] = "system-node-critical".into();
    }
    spec
}

/// The image of a container.
pub(super) fn image(workload: &Workload, name: &str) -> String {
    let (team, style) = (workload.team, workload.style);
    match name {
        "main" => format!("registry.example.com/{team}/{}:{}.{}", workload.name, style % 5, style / 5 % 20),
        other => format!("registry.example.com/platform/{other}:3.1.4"),
    }
}

fn container(workload: &Workload, name: &str) -> Value {
    let style = workload.style;
    let cpu = [100, 250, 500, 1000][(style / 7 % 4) as usize];
    let memory = [128, 256, 512, 1024][(style / 11 % 4) as usize];
    let variables: &[&str] = if name == "main" { &["LOG_LEVEL", "REGION", "HTTP_PORT", "FEATURE_FLAGS"] } else { &[] };
    let env: Vec<_> = variables
        .iter()
        .map(|key| json!({"name": key, "value": format!("{}-{}", key.to_lowercase().replace('_', "-"), style % 1000)}))
        .chain([
            json!({"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}),
            json!({"name": "PASSWORD", "valueFrom": {"secretKeyRef": {
                "name": format!("{}-credentials", workload.name), "key": "password"}}}),
        ])
        .collect();
    let mut container = json!({
        "name": name,
        "image": image(workload, name),
        "imagePullPolicy": "IfNotPresent",
        "resources": {
            "requests": {"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")},
            "limits": {"cpu": format!("{}m", cpu * 2), "memory": format!("{}Mi", memory * 2)},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/service", "readOnly": true},
            {"name": "scratch", "mountPath": "/tmp"},
        ],
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    });
    container["env"] = Value::Array(env);
    if matches!(name, "main" | "metrics") {
        let port = if name == "main" { 8080 } else { 9102 };
        container["ports"] = json!([{"name": name, "containerPort": port, "protocol": "TCP"}]);
        let probe = |path: &str, period: u32| {
            json!({"httpGet": {"path": path, "port": name, "scheme": "HTTP"}, "periodSeconds": period,
                "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3})
        };
        container["livenessProbe"] = probe("/livez", 10);
        container["readinessProbe"] = probe("/readyz", 5);
    }
    if name == "mesh-proxy" {
        container["restartPolicy"] = "Always".into();
    }
    container
}

fn spec(workload: &Workload, identity: &Identity) -> Value {
    let mut spec = template_spec(workload);
    let token = format!("kube-api-access-{:05x}", workload.style & 0xf_ffff);
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            let path = "/var/run/secrets/kubernetes.io/serviceaccount";
            if let Some(mounts) = container["volumeMounts"].as_array_mut() {
                mounts.push(json!({"name": token, "mountPath": path, "readOnly": true}));
            }
        }
    }
    if let Some(volumes) = spec["volumes"].as_array_mut() {
        volumes.push(json!({"name": token, "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [
                {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ]}}));
        if workload.kind == WorkloadKind::StatefulSet {
            let claim = format!("data-{}", identity.name);
            volumes.push(json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}}));
        }
    }
    if workload.kind == WorkloadKind::StatefulSet {
        spec["hostname"] = identity.name.as_str().into();
    }
    if workload.kind == WorkloadKind::DaemonSet {
        spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": [identity.node]}]}]}}});
    }
    let mut tolerations = Vec::new();
    for taint in ["not-ready", "unreachable"] {
        let key = format!("node.kubernetes.io/{taint}");
        tolerations.push(if workload.kind == WorkloadKind::DaemonSet {
            json!({"key": key, "operator": "Exists", "effect": "NoExecute"})
        } else {
            json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
        });
    }
    spec["tolerations"] = tolerations.into();
    spec["nodeName"] = identity.node.as_deref().into();
    spec["enableServiceLinks"] = true.into();
    spec["preemptionPolicy"] = "PreemptLowerPriority".into();
    spec["priority"] = if workload.kind == WorkloadKind::DaemonSet { 2_000_001_000 } else { 0 }.into();
    spec
}

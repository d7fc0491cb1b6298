//! Each check passes what is in `deploy/`, read as it stands there, and fails what is wrong with it in one place.

use std::fs;

use super::*;
use crate::manifests::render::parse;

const PART_OF: &str = "app.kubernetes.io/part-of";

/// The objects in files of `deploy/`, with the label that the bases' kustomizations give.
fn read(paths: &[&str]) -> Vec<Value> {
    let read = |path: &&str| {
        let path = cargo::workspace_root().join("deploy").join(path);
        parse(&fs::read_to_string(&path).unwrap()).unwrap()
    };
    let mut objects: Vec<Value> = paths.iter().flat_map(read).collect();
    for object in &mut objects {
        let name = json!("kube-state-metrics-sharded");
        object["metadata"]["labels"][PART_OF] = name.clone();
        if object.pointer("/spec/template").is_some() {
            object["spec"]["template"]["metadata"]["labels"][PART_OF] = name;
        }
    }
    objects
}

/// A base with a component of every kind.
fn everything() -> Vec<Value> {
    read(&[
        "base/ksm-shard-auto/workload.yaml",
        "base/ksm-shard-auto/service.yaml",
        "base/ksm-shard-auto/service-account.yaml",
        "base/ksm-shard-auto/rbac.yaml",
        "components/prometheus-operator/service-monitor.yaml",
        "components/network-policy/network-policy.yaml",
        "components/disruption-budget/disruption-budget.yaml",
        "components/vertical-autoscaling/ksm-shard-auto/autoscaler.yaml",
    ])
}

fn change(objects: &mut [Value], kind: &str, pointer: &str, value: &Value) {
    let object = objects.iter_mut().find(|object| object["kind"] == kind).unwrap();
    let field = object.pointer_mut(pointer).unwrap_or_else(|| panic!("{kind} has no {pointer}"));
    assert_ne!(field, value, "{kind} {pointer}");
    *field = value.clone();
}

#[test]
fn what_is_in_deploy_is_taken() {
    check("deploy/base/x", &everything()).unwrap();
    for base in ["ksm-shard", "ksm-node", "ksm-unscheduled", "ksm-rest"] {
        let files = ["workload", "service", "service-account", "rbac"].map(|file| format!("base/{base}/{file}.yaml"));
        check("deploy/base/x", &read(&files.each_ref().map(String::as_str))).unwrap();
    }
}

/// Killed in the middle of an answer, or gone before Prometheus knows.
#[test]
fn a_pod_has_time_to_stop() {
    let path = cargo::workspace_root().join("ksm-core/src/serve/pace.rs");
    assert!(fs::read_to_string(path).unwrap().contains(&format!("grace: Duration::from_secs({GRACE})")));
    let files = ["workload", "service", "service-account", "rbac"].map(|file| format!("base/ksm-rest/{file}.yaml"));
    let mut objects = read(&files.each_ref().map(String::as_str));
    let spec = "/spec/template/spec";
    change(&mut objects, "Deployment", &format!("{spec}/terminationGracePeriodSeconds"), &json!(30));
    let error = format!("{:#}", check("deploy/base/x", &objects).unwrap_err());
    assert!(error.contains("takes up to 40 s to stop"), "{error}");
    change(&mut objects, "Deployment", &format!("{spec}/containers/0/args"), &json!([]));
    let error = format!("{:#}", check("deploy/base/x", &objects).unwrap_err());
    assert!(error.contains("--shutdown-delay is for"), "{error}");
}

#[test]
fn one_fault_is_enough() {
    let pod = "/spec/template/spec";
    let container = "/spec/template/spec/containers/0";
    for (kind, pointer, value, expected) in [
        ("StatefulSet", format!("{container}/securityContext/readOnlyRootFilesystem"), json!(false), "readOnlyRoot"),
        ("StatefulSet", format!("{container}/securityContext"), json!({}), "readOnlyRootFilesystem"),
        ("StatefulSet", format!("{container}/securityContext/capabilities/drop"), json!([]), "capabilities"),
        ("StatefulSet", format!("{pod}/securityContext/runAsNonRoot"), json!(false), "runAsNonRoot"),
        (
            "StatefulSet",
            format!("{pod}/securityContext"),
            {
                let profile = json!({"type": "RuntimeDefault"});
                json!({"runAsNonRoot": true, "runAsUser": 65534, "seccompProfile": profile})
            },
            "runAsUser is given",
        ),
        ("StatefulSet", format!("{pod}/serviceAccountName"), json!("default"), "which is not there"),
        ("StatefulSet", format!("{container}/ports/0/containerPort"), json!(8082), "--port is 8080 by default"),
        ("StatefulSet", format!("{container}/ports/1/name"), json!("self"), "the port telemetry"),
        ("StatefulSet", format!("{container}/resources/requests/memory"), json!("32Mi"), "when it was measured"),
        ("StatefulSet", format!("{container}/resources/requests/memory"), json!("512Mi"), "when it was measured"),
        ("StatefulSet", "/spec/template/metadata/labels/app.kubernetes.io~1name".to_owned(), json!("x"), "spread"),
        ("StatefulSet", "/spec/replicas".to_owned(), json!(1), "not about several pods"),
        ("Service", "/spec/selector/app.kubernetes.io~1name".to_owned(), json!("ksm"), "selects no pods"),
        ("Service", "/spec/ports/0/targetPort".to_owned(), json!("http"), "leads to no port"),
        ("Service", "/spec/ports/1/port".to_owned(), json!(8082), "leads to no port"),
        (
            "ServiceMonitor",
            "/spec/endpoints/0/relabelings/2/sourceLabels/0".to_owned(),
            json!("__meta_kubernetes_endpointslice_name"),
            "not every discovery",
        ),
        ("StatefulSet", "/spec/serviceName".to_owned(), json!("ksm"), "a Service that is not there"),
        ("Role", "/rules/1/resourceNames/0".to_owned(), json!("ksm"), "which is not there"),
        ("ServiceMonitor", "/spec/selector/matchLabels".to_owned(), json!({"app": "x"}), "selects no Service"),
        ("ServiceMonitor", "/spec/endpoints/0/port".to_owned(), json!("http"), "has no port http"),
        ("ServiceMonitor", "/spec/endpoints/0/honorLabels".to_owned(), json!(false), "honorLabels is to be true"),
        ("ServiceMonitor", "/spec/endpoints/1/relabelings/0/regex".to_owned(), json!("true;.*"), "stay targets"),
        ("ServiceMonitor", "/spec/endpoints/0/relabelings/6/regex".to_owned(), json!("pod"), "drops the labels"),
        ("NetworkPolicy", "/spec/podSelector/matchLabels".to_owned(), json!({"app": "x"}), "is not about"),
        ("NetworkPolicy", "/spec/ingress/0/ports/0/port".to_owned(), json!("http"), "the policy opens"),
        ("NetworkPolicy", "/spec/egress/1/ports/1/port".to_owned(), json!(1), "6443"),
        ("PodDisruptionBudget", "/spec/selector/matchLabels".to_owned(), json!({"app": "x"}), "several pods"),
        (
            "PodDisruptionBudget",
            "/spec/unhealthyPodEvictionPolicy".to_owned(),
            json!("AlwaysAllow"),
            "not IfHealthyBudget",
        ),
        ("VerticalPodAutoscaler", "/spec/targetRef/kind".to_owned(), json!("Deployment"), "has no target"),
        ("ClusterRoleBinding", "/subjects/0/name".to_owned(), json!("ksm"), "an account that is not there"),
        ("RoleBinding", "/roleRef/name".to_owned(), json!("ksm"), "a role that is not there"),
    ] {
        let mut objects = everything();
        change(&mut objects, kind, &pointer, &value);
        let Err(error) = check("deploy/base/x", &objects) else { panic!("{kind} {pointer} {value} is taken") };
        assert!(format!("{error:#}").contains(expected), "{kind} {pointer}: {error:#}");
    }
}

/// In place of the ServiceMonitor and of every Service.
#[test]
fn a_pod_monitor_is_checked_like_a_service_monitor() {
    let mut objects = everything();
    objects.retain(|object| !["Service", "ServiceMonitor"].contains(&object["kind"].as_str().unwrap()));
    objects.extend(read(&["components/pod-monitor/pod-monitor.yaml"]));
    check("deploy/base/x", &objects).unwrap();
    let endpoint = "/spec/podMetricsEndpoints/0";
    for (pointer, value, expected) in [
        ("/spec/selector/matchLabels".to_owned(), json!({"app": "x"}), "selects no pods"),
        (format!("{endpoint}/port"), json!("http"), "has no port http"),
        (format!("{endpoint}/honorLabels"), json!(false), "honorLabels is to be true"),
        (
            format!("{endpoint}/relabelings/1/sourceLabels/0"),
            json!("__meta_kubernetes_endpointslice_name"),
            "not every discovery",
        ),
    ] {
        let mut wrong = objects.clone();
        change(&mut wrong, "PodMonitor", &pointer, &value);
        let error = format!("{:#}", check("deploy/base/x", &wrong).unwrap_err());
        assert!(error.contains(expected), "{pointer}: {error}");
    }
    objects.extend(read(&["base/ksm-shard-auto/service.yaml"]));
    let error = format!("{:#}", check("deploy/base/x", &objects).unwrap_err());
    assert!(error.contains("not 0 Services"), "{error}");
}

#[test]
fn no_overlay_brings_a_namespace() {
    let mut objects = everything();
    objects.push(read(&["namespace/namespace.yaml"]).remove(0));
    let error = format!("{:#}", check("deploy/overlays/x", &objects).unwrap_err());
    assert!(error.contains("a Namespace is among other objects"), "{error}");
    check("deploy/namespace", &read(&["namespace/namespace.yaml"])).unwrap();
}

#[test]
fn static_shards_are_all_there() {
    let shard = |index: u64, total: u64| {
        json!({"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": {"spec": {"containers": [
            {"args": [format!("--shard={index}"), format!("--total-shards={total}")]},
        ]}}}})
    };
    shards(&[shard(1, 2), shard(0, 2)]).unwrap();
    for wrong in [vec![shard(0, 2)], vec![shard(0, 2), shard(0, 2)], vec![shard(0, 2), shard(1, 3)]] {
        assert!(shards(&wrong).is_err(), "{wrong:?}");
    }
}

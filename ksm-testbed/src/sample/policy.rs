//! Policies: autoscalers and disruption budgets of deployments, classes, webhooks and admission policies.

use serde_json::{Value, json};

use super::{
    cluster,
    plan::{NOW, Plan, PodPlan, Workload, WorkloadKind},
    pods::timestamp,
    workloads::{object, ready},
};

pub(super) fn objects(plan: &Plan) -> Vec<Value> {
    let deployments = plan.workloads.iter().filter(|w| matches!(w.kind, WorkloadKind::Deployment { .. }));
    let mut objects = Vec::new();
    for workload in deployments {
        match workload.style % 3 {
            0 => objects.push(autoscaler(workload)),
            1 => objects.push(disruption_budget(workload, plan.pods_of(workload))),
            _ => {}
        }
    }
    objects.extend(classes());
    objects.extend(admission());
    objects
}

fn autoscaler(workload: &Workload) -> Value {
    let replicas = workload.pods.len();
    // One of five has asked for all that it may.
    let limited = workload.style.is_multiple_of(5);
    let (scaling_limited, reason) = if limited { ("True", "TooManyReplicas") } else { ("False", "DesiredWithinRange") };
    let time = timestamp(NOW - 700);
    let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": time});
    let mut autoscaler = object(
        workload,
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        &workload.name,
        json!({
            "spec": {"minReplicas": 1, "maxReplicas": if limited { replicas } else { replicas * 2 },
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": workload.name},
                "metrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
                    {"type": "Pods", "pods": {"metric": {"name": "requests_per_second"},
                        "target": {"type": "AverageValue", "averageValue": "250"}}},
                    {"type": "External", "external": {"metric": {"name": "queue_depth"},
                        "target": {"type": "Value", "value": "1500m"}}}]},
            "status": {"observedGeneration": 1, "currentReplicas": replicas, "desiredReplicas": replicas, "lastScaleTime": time,
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": workload.style % 100, "averageValue": "210m"}}}],
                "conditions": [condition("AbleToScale", "True", "ReadyForNewScale"),
                    condition("ScalingActive", "True", "ValidMetricFound"),
                    condition("ScalingLimited", scaling_limited, reason)]},
        }),
    );
    if workload.style.is_multiple_of(2) {
        autoscaler["spec"]["behavior"] = json!({"scaleUp": {"tolerance": "50m", "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]},
            "scaleDown": {"tolerance": "100m"}});
    }
    autoscaler
}

fn disruption_budget(workload: &Workload, planned: &[PodPlan]) -> Value {
    let (pods, healthy) = (planned.len(), ready(planned));
    let desired = pods.saturating_sub(1);
    let allowed = healthy.saturating_sub(desired);
    let (status, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    object(
        workload,
        "policy/v1",
        "PodDisruptionBudget",
        &workload.name,
        json!({
        "spec": {"maxUnavailable": if workload.style.is_multiple_of(2) { json!(1) } else { json!("20%") },
            "selector": {"matchLabels": {"app.kubernetes.io/name": workload.name}}},
        "status": {"observedGeneration": 1, "currentHealthy": healthy, "desiredHealthy": desired,
            "expectedPods": pods, "disruptionsAllowed": allowed,
            "conditions": [{"type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
                "observedGeneration": 1, "lastTransitionTime": timestamp(workload.created + 90)}]}}),
    )
}

fn classes() -> Vec<Value> {
    let storage = |name: &str, default: bool| {
        cluster::object(
            "storage.k8s.io/v1",
            "StorageClass",
            "",
            name,
            json!({
            "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": default.to_string()}},
            "provisioner": "csi.example.com", "parameters": {"tier": name}, "reclaimPolicy": "Delete",
            "allowVolumeExpansion": true, "volumeBindingMode": "WaitForFirstConsumer"}),
        )
    };
    let ingress = |name: &str| {
        cluster::object(
            "networking.k8s.io/v1",
            "IngressClass",
            "",
            name,
            json!({
            "metadata": {"labels": {"exposure": name}}, "spec": {"controller": format!("example.com/{name}")}}),
        )
    };
    vec![storage("fast", true), storage("slow", false), ingress("edge"), ingress("internal")]
}

fn admission() -> Vec<Value> {
    let version = "admissionregistration.k8s.io/v1";
    let webhook = json!([{
        "name": "pods.policy.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore", "matchPolicy": "Equivalent", "timeoutSeconds": 5,
        "clientConfig": {"service": {"namespace": "kube-system", "name": "policy-webhook", "path": "/pods", "port": 443}},
        "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
            "scope": "Namespaced"}]}]);
    let constraints = json!({"matchPolicy": "Equivalent", "resourceRules": [{"operations": ["CREATE"],
        "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "scope": "*"}]});
    vec![
        cluster::object(version, "ValidatingWebhookConfiguration", "", "policy", json!({"webhooks": webhook})),
        cluster::object(version, "MutatingWebhookConfiguration", "", "sidecars", json!({"webhooks": webhook})),
        cluster::object(
            version,
            "ValidatingAdmissionPolicy",
            "",
            "replicas",
            json!({"spec": {
            "failurePolicy": "Fail", "matchConstraints": constraints,
            "validations": [{"expression": "object.spec.replicas <= 500", "message": "too many replicas"}]}}),
        ),
        cluster::object(
            version,
            "ValidatingAdmissionPolicyBinding",
            "",
            "replicas",
            json!({"spec": {
            "policyName": "replicas", "validationActions": ["Deny", "Audit"]}}),
        ),
        cluster::object(
            version,
            "MutatingAdmissionPolicy",
            "",
            "team-label",
            json!({"spec": {
            "failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": constraints,
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {
                "expression": "Object{metadata: Object.metadata{labels: {\"team\": \"platform\"}}}"}}]}}),
        ),
        cluster::object(
            version,
            "MutatingAdmissionPolicyBinding",
            "",
            "team-label",
            json!({"spec": {
            "policyName": "team-label"}}),
        ),
    ]
}

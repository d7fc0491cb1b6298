//! Services of workloads with their endpoint slices, endpoints and ingresses.

use serde_json::{Value, json};

use super::{
    plan::{Plan, PodPlan, State, Workload, WorkloadKind},
    workloads::object,
};

/// Endpoints of one slice at most, as the endpoint slice controller has it.
const SLICE: usize = 100;

pub(super) fn objects(plan: &Plan, workload: &Workload, pods: &[PodPlan]) -> Vec<Value> {
    let headless = workload.kind == WorkloadKind::StatefulSet;
    if !headless && !matches!(workload.kind, WorkloadKind::Deployment { .. }) {
        return Vec::new();
    }
    let name = &workload.name;
    let mut objects = vec![service(workload, headless)];
    let with_address: Vec<_> = pods.iter().filter(|pod| has_address(pod)).collect();
    for (index, pods) in with_address.chunks(SLICE).enumerate() {
        let endpoints: Vec<_> = pods.iter().map(|pod| endpoint(plan, workload, pod)).collect();
        let mut slice = object(
            workload,
            "discovery.k8s.io/v1",
            "EndpointSlice",
            &format!("{name}-{index:05x}"),
            json!({
            "addressType": "IPv4", "endpoints": endpoints, "ports": ports()}),
        );
        slice["metadata"]["labels"]["kubernetes.io/service-name"] = name.as_str().into();
        objects.push(slice);
    }
    // Endpoints are deprecated, but the controller still writes them.
    let (ready, not_ready): (Vec<_>, Vec<_>) = with_address.into_iter().partition(|pod| is_ready(pod));
    let addresses = |pods: Vec<&PodPlan>| pods.into_iter().map(|pod| address(plan, workload, pod)).collect::<Vec<_>>();
    objects.push(object(
        workload,
        "v1",
        "Endpoints",
        name,
        json!({"subsets": [
        {"addresses": addresses(ready), "notReadyAddresses": addresses(not_ready), "ports": ports()}]}),
    ));
    if !headless && workload.style % 5 == 1 {
        objects.push(ingress(workload));
    }
    objects
}

fn has_address(pod: &PodPlan) -> bool {
    matches!(pod.state, State::Running | State::Restarted | State::NotReady | State::CrashLoop | State::Terminating)
}

fn is_ready(pod: &PodPlan) -> bool {
    matches!(pod.state, State::Running | State::Restarted)
}

fn ports() -> Value {
    json!([{"name": "http", "port": 8080, "protocol": "TCP"}])
}

fn service(workload: &Workload, headless: bool) -> Value {
    let style = workload.style;
    let address = format!("10.96.{}.{}", style / 256 % 256, style % 256);
    let address = if headless { "None" } else { &address };
    let kind = match style % 20 {
        3 if !headless => "LoadBalancer",
        7 if !headless => "NodePort",
        _ => "ClusterIP",
    };
    let mut service = object(
        workload,
        "v1",
        "Service",
        &workload.name,
        json!({
            "spec": {"type": kind, "clusterIP": address, "clusterIPs": [address], "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                "selector": {"app.kubernetes.io/name": workload.name},
                "ports": [{"name": "http", "port": 80, "targetPort": "main", "protocol": "TCP"},
                    {"name": "metrics", "port": 9102, "targetPort": 9102, "protocol": "TCP"}]},
            "status": {"loadBalancer": {}},
        }),
    );
    if kind == "LoadBalancer" {
        let ingress = json!({"ip": format!("203.0.113.{}", style % 250), "ipMode": "VIP"});
        service["status"]["loadBalancer"]["ingress"] = json!([ingress, {"hostname": "lb.example.com"}]);
        service["spec"]["externalIPs"] = json!([format!("198.51.100.{}", style % 250)]);
    }
    service
}

fn endpoint(plan: &Plan, workload: &Workload, pod: &PodPlan) -> Value {
    let node = pod.node.map(|index| &plan.nodes[index]);
    let zone = node.map(|node| format!("eu-north-9{}", node.zone));
    let terminating = pod.state == State::Terminating;
    json!({
        "addresses": [pod.ip],
        "conditions": {"ready": is_ready(pod), "serving": is_ready(pod) || terminating, "terminating": terminating},
        "nodeName": node.map(|node| &node.name),
        "zone": zone,
        "hints": {"forZones": [{"name": zone}]},
        "targetRef": {"kind": "Pod", "namespace": workload.namespace, "name": pod.name, "uid": pod.uid},
    })
}

fn address(plan: &Plan, workload: &Workload, pod: &PodPlan) -> Value {
    json!({"ip": pod.ip, "nodeName": pod.node.map(|index| &plan.nodes[index].name),
        "targetRef": {"kind": "Pod", "namespace": workload.namespace, "name": pod.name, "uid": pod.uid}})
}

fn ingress(workload: &Workload) -> Value {
    let host = format!("{}.{}.example.com", workload.name, workload.namespace);
    let backend = json!({"service": {"name": workload.name, "port": {"name": "http"}}});
    object(
        workload,
        "networking.k8s.io/v1",
        "Ingress",
        &workload.name,
        json!({
        "spec": {"ingressClassName": "edge", "tls": [{"hosts": [host], "secretName": format!("{}-tls", workload.name)}],
            "rules": [{"host": host, "http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": backend},
                {"path": "/admin", "pathType": "Exact", "backend": backend}]}}]},
        "status": {"loadBalancer": {"ingress": [{"hostname": "edge.example.com"}]}}}),
    )
}

//! Nodes with their leases and signing requests.

use serde_json::{Value, json};

use super::{
    cluster,
    plan::{NODE_LEASES, NOW, NodePlan, Plan},
    pods::timestamp,
};

pub(super) fn objects(plan: &Plan) -> Vec<Value> {
    let mut objects: Vec<Value> =
        plan.nodes.iter().enumerate().flat_map(|(index, node)| [self::node(index, node), lease(node)]).collect();
    objects.extend(plan.nodes.iter().take(10).enumerate().map(|(index, node)| signing_request(index, node)));
    objects
}

fn node(index: usize, node: &NodePlan) -> Value {
    let mut labels = json!({
        "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": node.name,
        "node.kubernetes.io/instance-type": "m8.16xlarge", "node.kubernetes.io/pool": "general",
        "topology.kubernetes.io/region": "eu-north-9", "topology.kubernetes.io/zone": format!("eu-north-9{}", node.zone),
    });
    let mut taints = Vec::new();
    if node.control_plane {
        labels["node-role.kubernetes.io/control-plane"] = "".into();
        taints.push(json!({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}));
    } else {
        labels["node-role.kubernetes.io/worker"] = "".into();
    }
    if !node.ready {
        let since = timestamp(NOW - 900);
        taints.push(json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": since}));
    }
    let cordoned = index % 50 == 20;
    if cordoned {
        taints.push(json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}));
    }
    let provider = format!("example:///eu-north-9{}/i-{:017x}", node.zone, crate::uid_hash(&node.uid));
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name, "uid": node.uid, "creationTimestamp": timestamp(node.created), "labels": labels,
            "annotations": {"node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"podCIDR": format!("10.{}.{}.0/24", 100 + index / 156 % 156, 100 + index % 156),
            "podCIDRs": [format!("10.{}.{}.0/24", 100 + index / 156 % 156, 100 + index % 156)],
            "providerID": provider, "taints": taints, "unschedulable": cordoned},
        "status": {
            "capacity": {"cpu": "64", "memory": "65857652Ki", "pods": "110", "ephemeral-storage": "209702892Ki",
                "hugepages-1Gi": "0", "hugepages-2Mi": "0"},
            "allocatable": {"cpu": "63770m", "memory": "62890100Ki", "pods": "110", "ephemeral-storage": "192188443124",
                "hugepages-1Gi": "0", "hugepages-2Mi": "0"},
            "conditions": conditions(node),
            "addresses": [{"type": "InternalIP", "address": node.ip}, {"type": "Hostname", "address": node.name}],
            "nodeInfo": {"machineID": node.uid.replace('-', ""), "systemUUID": node.uid, "bootID": node.uid,
                "kernelVersion": "6.12.48", "osImage": "Example Linux 13", "containerRuntimeVersion": "containerd://2.2.0",
                "kubeletVersion": "v1.37.2", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"},
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": (0..8).map(|image| json!({"names": [format!("registry.example.com/platform/image-{image}:3.1.4")],
                "sizeBytes": 40_000_000 + image * 7_000_000})).collect::<Vec<_>>(),
        },
    })
}

fn conditions(node: &NodePlan) -> Value {
    let condition = |kind: &str, healthy: &str, reason: &str| {
        let status = if node.ready { healthy } else { "Unknown" };
        json!({"type": kind, "status": status, "reason": if node.ready { reason } else { "NodeStatusUnknown" },
            "message": format!("kubelet: {reason}"), "lastHeartbeatTime": timestamp(NOW - 60),
            "lastTransitionTime": timestamp(if node.ready { node.created + 30 } else { NOW - 900 })})
    };
    json!([
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        condition("Ready", "True", "KubeletReady"),
    ])
}

fn lease(node: &NodePlan) -> Value {
    let renewed = timestamp(NOW - if node.ready { 5 } else { 900 });
    let mut lease = cluster::object(
        "coordination.k8s.io/v1",
        "Lease",
        NODE_LEASES,
        &node.name,
        json!({
        "spec": {"holderIdentity": node.name, "leaseDurationSeconds": 40, "renewTime": renewed}}),
    );
    lease["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}]);
    lease
}

fn signing_request(index: usize, node: &NodePlan) -> Value {
    let (kind, reason) = if index % 4 == 3 { ("Denied", "PolicyDenied") } else { ("Approved", "AutoApproved") };
    let mut status = json!({"conditions": [{"type": kind, "status": "True", "reason": reason,
        "lastUpdateTime": timestamp(NOW - 500), "lastTransitionTime": timestamp(NOW - 500)}]});
    match index % 4 {
        1 => status["certificate"] = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t".into(),
        2 => status = json!({}),
        _ => {}
    }
    cluster::object(
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        "",
        &format!("csr-{}", node.name),
        json!({
        "spec": {"request": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0=",
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "usages": ["digital signature", "client auth"],
            "username": format!("system:node:{}", node.name), "groups": ["system:nodes", "system:authenticated"],
            "extra": {"authentication.kubernetes.io/credential-id": ["X509"]}},
        "status": status}),
    )
}

//! Hand-made nodes: roles, taints, conditions, addresses, quantities.
//!
//! Invariant: no two resource names of one node are equal after sanitising.

use serde_json::{Value, json};

use super::{Object, condition, metadata, odd_annotations, odd_labels};

fn node(body: Value, status: Value) -> Object {
    Object::cluster("api/v1", "nodes", body).status(status)
}

/// Nodes that no bulk pod is bound to.
pub fn objects() -> Vec<Object> {
    vec![control_plane(), worker_with_devices(), troubled(), bare(), going()]
}

fn control_plane() -> Object {
    let labels = json!({
        "node-role.kubernetes.io/control-plane": "",
        "node-role.kubernetes.io/etcd": "true",
        "kubernetes.io/hostname": "control-1",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "zone-a",
    });
    let body = json!({
        "metadata": metadata("control-1", labels, json!({"node.alpha.kubernetes.io/ttl": "0"})),
        "spec": {
            "podCIDR": "10.1.0.0/24",
            "podCIDRs": ["10.1.0.0/24", "fd00:1::/64"],
            "providerID": "cloud:///zone-a/i-0123",
            "taints": [
                {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
                {"key": "example.com/upgrade", "value": "v1.37", "effect": "PreferNoSchedule"},
                {"key": "example.com/upgrade", "value": "now", "effect": "NoExecute", "timeAdded": "2026-03-04T12:00:00Z"},
            ],
        },
    });
    let status = json!({
        "capacity": {"cpu": "4", "memory": "16374172Ki", "ephemeral-storage": "101430960Ki", "pods": "110", "hugepages-2Mi": "0"},
        "allocatable": {"cpu": "3920m", "memory": "15Gi", "ephemeral-storage": "93478772582", "pods": "110", "hugepages-2Mi": "0"},
        "conditions": [
            condition("Ready", "True", "KubeletReady", 10),
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory", 10),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure", 10),
            condition("PIDPressure", "False", "KubeletHasSufficientPID", 10),
            condition("NetworkUnavailable", "False", "RouteCreated", 10),
        ],
        "addresses": [
            {"type": "InternalIP", "address": "192.0.2.1"},
            {"type": "InternalIP", "address": "fd00::1"},
            {"type": "ExternalIP", "address": "198.51.100.1"},
            {"type": "InternalDNS", "address": "control-1.internal"},
            {"type": "ExternalDNS", "address": "control-1.example.test"},
            {"type": "Hostname", "address": "control-1"},
        ],
        "nodeInfo": {
            "machineID": "m1", "systemUUID": "5f0c5d3a-0000-0000-0000-000000000001", "bootID": "b1",
            "kernelVersion": "6.12.1", "osImage": "Some \"quoted\" Linux \\ 1", "containerRuntimeVersion": "containerd://2.1.0",
            "kubeletVersion": "v1.37.2", "kubeProxyVersion": "deprecated", "operatingSystem": "linux", "architecture": "amd64",
        },
    });
    node(body, status)
}

fn worker_with_devices() -> Object {
    let labels = json!({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/gpu": ""});
    let quantities = json!({
        "cpu": "0.5",
        "memory": "1Ei",
        "ephemeral-storage": "1e11",
        "storage": "123456789",
        "pods": "1k",
        "hugepages-1Gi": "2Gi",
        "hugepages-2Mi": "100Mi",
        "example.com/Foo.Bar-baz": "4",
        "nvidia.com/gpu": "2",
        "attachable-volumes-csi-x": "39",
    });
    let body = json!({"metadata": metadata("devices-1", labels, json!({})), "spec": {"podCIDR": "10.1.1.0/24", "podCIDRs": ["10.1.1.0/24"]}});
    let mut allocatable = quantities.clone();
    super::merge(&mut allocatable, json!({"cpu": "129e-3", "memory": "10Pi", "ephemeral-storage": "5E", "pods": "0"}));
    let conditions = json!([condition("Ready", "True", "KubeletReady", 5)]);
    node(body, json!({"capacity": quantities, "allocatable": allocatable, "conditions": conditions}))
}

fn troubled() -> Object {
    let body = json!({
        "metadata": metadata("troubled-1", odd_labels(), odd_annotations()),
        "spec": {"unschedulable": true, "taints": [
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
        ]},
    });
    let status = json!({
        "capacity": {"cpu": "100m", "memory": "100m"},
        "conditions": [
            condition("Ready", "Unknown", "NodeStatusUnknown", 20),
            condition("KernelDeadlock", "True", "DockerHung", 21),
            condition("example.com/Custom-Check", "False", "", 22),
        ],
        "nodeInfo": {
            "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "", "containerRuntimeVersion": "",
            "kubeletVersion": "v1.36.0", "kubeProxyVersion": "", "operatingSystem": "", "architecture": "",
        },
    });
    node(body, status)
}

fn bare() -> Object {
    Object::cluster("api/v1", "nodes", json!({"metadata": {"name": "bare-1"}}))
}

fn going() -> Object {
    let body = json!({"metadata": {"name": "going-1"}});
    node(body, json!({"conditions": [condition("Ready", "False", "KubeletNotReady", 30)]})).deleted()
}

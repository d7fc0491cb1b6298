//! Volumes of stateful sets: claims, volumes and attachments.

use serde_json::{Value, json};

use super::{
    cluster,
    plan::{Plan, PodPlan, Workload, WorkloadKind},
    workloads::object,
};

pub(super) fn objects(plan: &Plan, workload: &Workload, pods: &[PodPlan]) -> Vec<Value> {
    if workload.kind != WorkloadKind::StatefulSet {
        return Vec::new();
    }
    pods.iter().flat_map(|pod| volume(plan, workload, pod)).collect()
}

fn volume(plan: &Plan, workload: &Workload, pod: &PodPlan) -> Vec<Value> {
    let name = format!("data-{}", pod.name);
    // One of fifty claims still waits for its volume.
    let pending = pod.seed.is_multiple_of(50);
    let mut claim = object(
        workload,
        "v1",
        "PersistentVolumeClaim",
        &name,
        json!({
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}},
                "storageClassName": "fast", "volumeMode": "Filesystem"},
            "status": {"phase": if pending { "Pending" } else { "Bound" }},
        }),
    );
    if pending {
        return vec![claim];
    }
    let volume_name = format!("pvc-{}", claim["metadata"]["uid"].as_str().unwrap_or_default());
    claim["spec"]["volumeName"] = volume_name.as_str().into();
    claim["status"]["accessModes"] = json!(["ReadWriteOnce"]);
    claim["status"]["capacity"] = json!({"storage": "20Gi"});
    if pod.seed.is_multiple_of(20) {
        claim["status"]["conditions"] = json!([{"type": "FileSystemResizePending", "status": "True",
            "lastTransitionTime": claim["metadata"]["creationTimestamp"]}]);
    }
    let volume = cluster::object(
        "v1",
        "PersistentVolume",
        "",
        &volume_name,
        json!({
            "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "csi.example.com"},
                "finalizers": ["kubernetes.io/pv-protection"]},
            "spec": {"capacity": {"storage": "20Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Filesystem",
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": workload.namespace,
                    "name": name, "uid": claim["metadata"]["uid"]},
                "csi": {"driver": "csi.example.com", "volumeHandle": format!("vol-{:017x}", pod.seed), "fsType": "ext4",
                    "volumeAttributes": {"tier": "ssd", "storage.kubernetes.io/csiProvisionerIdentity": "csi.example.com"}}},
            "status": {"phase": "Bound", "lastPhaseTransitionTime": claim["metadata"]["creationTimestamp"]},
        }),
    );
    let mut objects = vec![claim, volume];
    if let Some(node) = pod.node.map(|index| &plan.nodes[index].name) {
        objects.push(cluster::object(
            "storage.k8s.io/v1",
            "VolumeAttachment",
            "",
            &format!("csi-{:064x}", pod.seed),
            json!({
            "spec": {"attacher": "csi.example.com", "nodeName": node, "source": {"persistentVolumeName": volume_name}},
            "status": {"attached": true, "attachmentMetadata": {"devicePath": "/dev/xvdba"}}}),
        ));
    }
    objects
}

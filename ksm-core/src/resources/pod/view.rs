//! View of a pod: metadata, and of spec and status only what families read.
//!
//! Source: <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/>; field numbers are those of
//! `core/v1/generated.proto`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::view::{Object, ObjectMeta, Quantity, Time};

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Pod {
    #[prost(message, required, tag = "1")]
    pub(super) metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    pub(super) spec: PodSpec,
    #[prost(message, required, tag = "3")]
    pub(super) status: PodStatus,
}

impl Object for Pod {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodSpec {
    #[prost(message, repeated, tag = "1")]
    pub(super) volumes: Vec<Volume>,
    #[prost(message, repeated, tag = "2")]
    pub(super) containers: Vec<Container>,
    #[prost(string, tag = "3")]
    pub(super) restart_policy: String,
    #[prost(btree_map = "string, string", tag = "7")]
    pub(super) node_selector: BTreeMap<String, String>,
    #[prost(string, tag = "8")]
    pub(super) service_account_name: String,
    #[prost(string, tag = "10")]
    pub(super) node_name: String,
    #[prost(bool, tag = "11")]
    pub(super) host_network: bool,
    #[prost(string, tag = "19")]
    pub(super) scheduler_name: String,
    #[prost(message, repeated, tag = "20")]
    pub(super) init_containers: Vec<Container>,
    #[prost(message, repeated, tag = "22")]
    pub(super) tolerations: Vec<Toleration>,
    #[prost(string, tag = "24")]
    pub(super) priority_class_name: String,
    #[prost(string, optional, tag = "29")]
    pub(super) runtime_class_name: Option<String>,
    #[prost(btree_map = "string, message", tag = "32")]
    pub(super) overhead: BTreeMap<String, Quantity>,
    #[prost(message, repeated, tag = "39")]
    pub(super) resource_claims: Vec<PodResourceClaim>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Container {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) image: String,
    #[prost(message, required, tag = "8")]
    pub(super) resources: ResourceRequirements,
    /// Unset where the pod's own policy holds; `Always` makes an init container a sidecar.
    #[prost(string, optional, tag = "24")]
    pub(super) restart_policy: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResourceRequirements {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(super) limits: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub(super) requests: BTreeMap<String, Quantity>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Volume {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    /// A message of its own in protobuf only.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    pub(super) source: VolumeSource,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct VolumeSource {
    #[prost(message, optional, tag = "10")]
    pub(super) persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    #[prost(message, optional, tag = "29")]
    pub(super) ephemeral: Option<EphemeralVolumeSource>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PersistentVolumeClaimVolumeSource {
    #[prost(string, tag = "1")]
    pub(super) claim_name: String,
    #[prost(bool, tag = "2")]
    pub(super) read_only: bool,
}

/// Only whether it is there matters.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub(super) struct EphemeralVolumeSource {}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Toleration {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) operator: String,
    #[prost(string, tag = "3")]
    pub(super) value: String,
    #[prost(string, tag = "4")]
    pub(super) effect: String,
    #[prost(int64, optional, tag = "5")]
    pub(super) toleration_seconds: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodResourceClaim {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, optional, tag = "3")]
    pub(super) resource_claim_name: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(super) resource_claim_template_name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodStatus {
    #[prost(string, tag = "1")]
    pub(super) phase: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) conditions: Vec<PodCondition>,
    #[prost(string, tag = "4")]
    pub(super) reason: String,
    #[prost(string, tag = "5")]
    #[serde(rename = "hostIP")]
    pub(super) host_ip: String,
    #[prost(string, tag = "6")]
    #[serde(rename = "podIP")]
    pub(super) pod_ip: String,
    #[prost(message, optional, tag = "7")]
    pub(super) start_time: Option<Time>,
    #[prost(message, repeated, tag = "8")]
    pub(super) container_statuses: Vec<ContainerStatus>,
    #[prost(string, tag = "9")]
    pub(super) qos_class: String,
    #[prost(message, repeated, tag = "10")]
    pub(super) init_container_statuses: Vec<ContainerStatus>,
    #[prost(message, repeated, tag = "12")]
    #[serde(rename = "podIPs")]
    pub(super) pod_ips: Vec<PodIp>,
    #[prost(message, repeated, tag = "15")]
    pub(super) resource_claim_statuses: Vec<PodResourceClaimStatus>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodCondition {
    #[prost(string, tag = "1")]
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[prost(string, tag = "2")]
    pub(super) status: String,
    #[prost(message, required, tag = "4")]
    pub(super) last_transition_time: Time,
    #[prost(string, tag = "5")]
    pub(super) reason: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub(super) struct PodIp {
    #[prost(string, tag = "1")]
    pub(super) ip: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodResourceClaimStatus {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, optional, tag = "2")]
    pub(super) resource_claim_name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ContainerStatus {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, required, tag = "2")]
    pub(super) state: ContainerState,
    #[prost(message, required, tag = "3")]
    pub(super) last_state: ContainerState,
    #[prost(bool, tag = "4")]
    pub(super) ready: bool,
    #[prost(int32, tag = "5")]
    pub(super) restart_count: i32,
    #[prost(string, tag = "6")]
    pub(super) image: String,
    #[prost(string, tag = "7")]
    #[serde(rename = "imageID")]
    pub(super) image_id: String,
    #[prost(string, tag = "8")]
    #[serde(rename = "containerID")]
    pub(super) container_id: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ContainerState {
    #[prost(message, optional, tag = "1")]
    pub(super) waiting: Option<ContainerStateWaiting>,
    #[prost(message, optional, tag = "2")]
    pub(super) running: Option<ContainerStateRunning>,
    #[prost(message, optional, tag = "3")]
    pub(super) terminated: Option<ContainerStateTerminated>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ContainerStateWaiting {
    #[prost(string, tag = "1")]
    pub(super) reason: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ContainerStateRunning {
    #[prost(message, required, tag = "1")]
    pub(super) started_at: Time,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ContainerStateTerminated {
    #[prost(int32, tag = "1")]
    pub(super) exit_code: i32,
    #[prost(string, tag = "3")]
    pub(super) reason: String,
    #[prost(message, required, tag = "5")]
    pub(super) started_at: Time,
    #[prost(message, required, tag = "6")]
    pub(super) finished_at: Time,
}

//! Nodes (core `v1`): families `kube_node_*`. Decodes metadata, specification, addresses, conditions, resources and the
//! system facts of `kube_node_info`; images and volumes are skipped.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::common::{self, Condition};
use super::quantities::{self, Unit};
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples, sanitize};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta, Quantity};

pub(crate) static RESOURCE: Resource<Node> = Resource {
    descriptor: Descriptor {
        plural: "nodes",
        group: "",
        version: "v1",
        kind: "Node",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::name("node")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Node>] = &[
    common::annotations("kube_node_annotations", Experimental),
    common::created("kube_node_created", Stable),
    common::deletion_timestamp("kube_node_deletion_timestamp", Experimental),
    Family::gauge(
        "kube_node_info",
        Stable,
        &[
            "kernel_version",
            "os_image",
            "container_runtime_version",
            "kubelet_version",
            "kubeproxy_version",
            "provider_id",
            "pod_cidr",
            "system_uuid",
            "internal_ip",
        ],
        "Versions, identifiers and addresses of the node; always 1.",
        info,
    ),
    common::labels("kube_node_labels", Stable),
    Family::gauge(
        "kube_node_role",
        Experimental,
        &["role"],
        "Roles of the node, one sample for each label node-role.kubernetes.io/<role>; always 1.",
        |node, out| {
            for role in node.metadata.labels.keys().filter_map(|key| key.strip_prefix("node-role.kubernetes.io/")) {
                out.sample(&[role], 1);
            }
        },
    ),
    Family::gauge(
        "kube_node_spec_pod_cidrs",
        Experimental,
        &["pod_cidr"],
        "Address ranges of the node's pods, one sample each; always 1.",
        |node, out| {
            for pod_cidr in &node.spec.pod_cidrs {
                out.sample(&[pod_cidr], 1);
            }
        },
    ),
    Family::gauge(
        "kube_node_spec_taint",
        Stable,
        &["key", "value", "effect"],
        "Taints of the node, one sample each; always 1.",
        |node, out| {
            for taint in &node.spec.taints {
                out.sample(&[&taint.key, &taint.value, &taint.effect], 1);
            }
        },
    ),
    Family::gauge(
        "kube_node_spec_unschedulable",
        Stable,
        &[],
        "Whether the node is closed to new pods.",
        |node, out| out.value(node.spec.unschedulable),
    ),
    Family::gauge(
        "kube_node_status_allocatable",
        Stable,
        &["resource", "unit"],
        "Amount of each resource of the node that pods can have.",
        |node, out| resources(&node.status.allocatable, out),
    ),
    Family::gauge(
        "kube_node_status_capacity",
        Stable,
        &["resource", "unit"],
        "Amount of each resource of the node, what the system keeps for itself included.",
        |node, out| resources(&node.status.capacity, out),
    ),
    Family::gauge(
        "kube_node_status_condition",
        Stable,
        &["condition", "status"],
        "Conditions of the node: 1 for the status that each has, 0 for the others.",
        |node, out| common::conditions(&node.status.conditions, out),
    ),
    Family::gauge(
        "kube_node_status_addresses",
        Experimental,
        &["type", "address"],
        "Addresses of the node, one sample each; always 1.",
        |node, out| {
            for address in &node.status.addresses {
                out.sample(&[&address.r#type, &address.address], 1);
            }
        },
    ),
];

/// View of a Node.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Node {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(string, tag = "1")]
    #[serde(rename = "podCIDR")]
    pod_cidr: String,
    #[prost(string, tag = "3")]
    #[serde(rename = "providerID")]
    provider_id: String,
    #[prost(bool, tag = "4")]
    unschedulable: bool,
    #[prost(message, repeated, tag = "5")]
    taints: Vec<Taint>,
    #[prost(string, repeated, tag = "7")]
    #[serde(rename = "podCIDRs")]
    pod_cidrs: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Taint {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
    #[prost(string, tag = "3")]
    effect: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(btree_map = "string, message", tag = "1")]
    capacity: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "2")]
    allocatable: BTreeMap<String, Quantity>,
    #[prost(message, repeated, tag = "4")]
    conditions: Vec<Condition>,
    #[prost(message, repeated, tag = "5")]
    addresses: Vec<Address>,
    #[prost(message, required, tag = "7")]
    node_info: SystemInfo,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Address {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(string, tag = "2")]
    address: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SystemInfo {
    #[prost(string, tag = "2")]
    #[serde(rename = "systemUUID")]
    system_uuid: String,
    #[prost(string, tag = "4")]
    kernel_version: String,
    #[prost(string, tag = "5")]
    os_image: String,
    #[prost(string, tag = "6")]
    container_runtime_version: String,
    #[prost(string, tag = "7")]
    kubelet_version: String,
}

impl Object for Node {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn info(node: &Node, out: &mut Samples<'_>) {
    let system = &node.status.node_info;
    // Of several internal addresses the last counts, as it always has; `kube_node_status_addresses` has them all.
    let internal_ip = node.status.addresses.iter().rfind(|address| address.r#type == "InternalIP");
    out.sample(
        &[
            &system.kernel_version,
            &system.os_image,
            &system.container_runtime_version,
            &system.kubelet_version,
            // The API gave up the field: https://github.com/kubernetes/enhancements/issues/4004.
            "deprecated",
            &node.spec.provider_id,
            &node.spec.pod_cidr,
            &system.system_uuid,
            internal_ip.map_or("", |address| &address.address),
        ],
        1,
    );
}

/// Resources in the order of their names; of names that are the same once sanitised the first one counts.
fn resources(amounts: &BTreeMap<String, Quantity>, out: &mut Samples<'_>) {
    for (name, amount) in amounts {
        let Some(value) = amount.thousandths() else { continue };
        let pods = (name == "pods").then_some(Unit::Integer);
        for unit in quantities::units(name).chain(pods) {
            out.sample(&[&sanitize(name), unit.word()], value);
        }
    }
}

#[cfg(test)]
mod tests;

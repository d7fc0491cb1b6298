//! PersistentVolumeClaims (core `v1`): families `kube_persistentvolumeclaim_*`. Decodes metadata, what is claimed, and the
//! state of the claim.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::common::{self, Condition};
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta, Quantity};

pub(crate) static RESOURCE: Resource<PersistentVolumeClaim> = Resource {
    descriptor: Descriptor {
        plural: "persistentvolumeclaims",
        group: "",
        version: "v1",
        kind: "PersistentVolumeClaim",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("persistentvolumeclaim")],
    families: FAMILIES,
};

const FAMILIES: &[Family<PersistentVolumeClaim>] = &[
    common::labels("kube_persistentvolumeclaim_labels", Stable),
    common::annotations("kube_persistentvolumeclaim_annotations", Experimental),
    Family::gauge(
        "kube_persistentvolumeclaim_info",
        Stable,
        &["storageclass", "volumename", "volumemode"],
        "Class that the claim asks for, volume that it is bound to, and how that is mounted; always 1.",
        |claim, out| out.sample(&[claim.storage_class(), &claim.spec.volume_name, &claim.spec.volume_mode], 1),
    ),
    Family::gauge(
        "kube_persistentvolumeclaim_status_phase",
        Stable,
        &["phase"],
        "Phase of the claim: 1 for the one it is in, 0 for the others.",
        |claim, out| {
            if !claim.status.phase.is_empty() {
                out.states(&["Lost", "Bound", "Pending"], &claim.status.phase);
            }
        },
    ),
    Family::gauge(
        "kube_persistentvolumeclaim_resource_requests_storage_bytes",
        Stable,
        &[],
        "Storage that the claim asks for, in bytes.",
        |claim, out| out.optional(claim.spec.resources.requests.get("storage").and_then(Quantity::whole)),
    ),
    Family::gauge(
        "kube_persistentvolumeclaim_access_mode",
        Stable,
        &["access_mode"],
        "Ways in which the claim wants to mount its volume, one sample each; always 1.",
        |claim, out| common::access_modes(&claim.spec.access_modes, out),
    ),
    Family::gauge(
        "kube_persistentvolumeclaim_status_condition",
        Experimental,
        &["condition", "status"],
        "Conditions of the claim: 1 for the status that each has, 0 for the others.",
        |claim, out| common::conditions(&claim.status.conditions, out),
    ),
    common::created("kube_persistentvolumeclaim_created", Experimental),
    common::deletion_timestamp("kube_persistentvolumeclaim_deletion_timestamp", Experimental),
];

/// View of a PersistentVolumeClaim.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PersistentVolumeClaim {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
    #[prost(message, required, tag = "3")]
    status: Status,
}

/// Texts that can be unset are plain: unset and empty are exported alike.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(string, repeated, tag = "1")]
    access_modes: Vec<String>,
    #[prost(message, required, tag = "2")]
    resources: ResourceRequirements,
    #[prost(string, tag = "3")]
    volume_name: String,
    #[prost(string, tag = "5")]
    storage_class_name: String,
    #[prost(string, tag = "6")]
    volume_mode: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceRequirements {
    #[prost(btree_map = "string, message", tag = "2")]
    requests: BTreeMap<String, Quantity>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(string, tag = "1")]
    phase: String,
    #[prost(message, repeated, tag = "4")]
    conditions: Vec<Condition>,
}

impl Object for PersistentVolumeClaim {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl PersistentVolumeClaim {
    /// Old clusters wrote the class into an annotation, and where it stands it still counts first
    /// (<https://kubernetes.io/docs/reference/labels-annotations-taints/#volume-beta-kubernetes-io-storage-class>).
    fn storage_class(&self) -> &str {
        let annotation = self.metadata.annotations.get("volume.beta.kubernetes.io/storage-class");
        annotation.unwrap_or(&self.spec.storage_class_name)
    }
}

#[cfg(test)]
mod tests;

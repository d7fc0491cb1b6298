//! ReplicaSets (`apps/v1`): families `kube_replicaset_*`. Decodes metadata and replica counts.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<ReplicaSet> = Resource {
    descriptor: Descriptor {
        plural: "replicasets",
        group: "apps",
        version: "v1",
        kind: "ReplicaSet",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("replicaset")],
    families: FAMILIES,
};

const FAMILIES: &[Family<ReplicaSet>] = &[
    common::created("kube_replicaset_created", Stable),
    Family::gauge(
        "kube_replicaset_status_replicas",
        Stable,
        &[],
        "Pods of the ReplicaSet that are not terminating.",
        |replicaset, out| out.value(replicaset.status.replicas),
    ),
    Family::gauge(
        "kube_replicaset_status_fully_labeled_replicas",
        Stable,
        &[],
        "Pods of the ReplicaSet that carry all labels of its template.",
        |replicaset, out| out.value(replicaset.status.fully_labeled_replicas),
    ),
    Family::gauge(
        "kube_replicaset_status_ready_replicas",
        Stable,
        &[],
        "Pods of the ReplicaSet that are ready.",
        |replicaset, out| out.value(replicaset.status.ready_replicas),
    ),
    Family::gauge(
        "kube_replicaset_status_terminating_replicas",
        Experimental,
        &[],
        "Pods of the ReplicaSet that are being deleted, where the cluster counts them.",
        |replicaset, out| out.optional(replicaset.status.terminating_replicas),
    ),
    Family::gauge(
        "kube_replicaset_status_observed_generation",
        Stable,
        &[],
        "Generation of the desired state that the controller has seen.",
        |replicaset, out| out.value(replicaset.status.observed_generation),
    ),
    Family::gauge(
        "kube_replicaset_spec_replicas",
        Stable,
        &[],
        "Pods that the ReplicaSet is to have.",
        |replicaset, out| out.optional(replicaset.spec.replicas),
    ),
    common::generation("kube_replicaset_metadata_generation", Stable),
    common::owner("kube_replicaset_owner", Stable),
    common::annotations("kube_replicaset_annotations", Experimental),
    common::labels("kube_replicaset_labels", Stable),
];

/// View of a ReplicaSet.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ReplicaSet {
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
    #[prost(int32, optional, tag = "1")]
    replicas: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(int32, tag = "1")]
    replicas: i32,
    #[prost(int32, tag = "2")]
    fully_labeled_replicas: i32,
    #[prost(int64, tag = "3")]
    observed_generation: i64,
    #[prost(int32, tag = "4")]
    ready_replicas: i32,
    #[prost(int32, optional, tag = "7")]
    terminating_replicas: Option<i32>,
}

impl Object for ReplicaSet {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

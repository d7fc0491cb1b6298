//! StatefulSets (`apps/v1`): families `kube_statefulset_*`. Decodes metadata, replica counts, revisions and the claim
//! retention policy.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::Stable;
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<StatefulSet> = Resource {
    descriptor: Descriptor {
        plural: "statefulsets",
        group: "apps",
        version: "v1",
        kind: "StatefulSet",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("statefulset")],
    families: FAMILIES,
};

const FAMILIES: &[Family<StatefulSet>] = &[
    common::created("kube_statefulset_created", Stable),
    Family::gauge(
        "kube_statefulset_status_replicas",
        Stable,
        &[],
        "Pods that the StatefulSet has.",
        |statefulset, out| out.value(statefulset.status.replicas),
    ),
    Family::gauge(
        "kube_statefulset_status_replicas_available",
        Stable,
        &[],
        "Pods of the StatefulSet that have been ready for at least minReadySeconds.",
        |statefulset, out| out.value(statefulset.status.available_replicas),
    ),
    Family::gauge(
        "kube_statefulset_status_replicas_current",
        Stable,
        &[],
        "Pods of the StatefulSet made from its current revision.",
        |statefulset, out| out.value(statefulset.status.current_replicas),
    ),
    Family::gauge(
        "kube_statefulset_status_replicas_ready",
        Stable,
        &[],
        "Pods of the StatefulSet that are ready.",
        |statefulset, out| out.value(statefulset.status.ready_replicas),
    ),
    Family::gauge(
        "kube_statefulset_status_replicas_updated",
        Stable,
        &[],
        "Pods of the StatefulSet made from its update revision.",
        |statefulset, out| out.value(statefulset.status.updated_replicas),
    ),
    Family::gauge(
        "kube_statefulset_status_observed_generation",
        Stable,
        &[],
        "Generation of the desired state that the controller has seen.",
        |statefulset, out| out.value(statefulset.status.observed_generation),
    ),
    Family::gauge(
        "kube_statefulset_replicas",
        Stable,
        &[],
        "Pods that the StatefulSet is to have.",
        |statefulset, out| out.optional(statefulset.spec.replicas),
    ),
    Family::gauge(
        "kube_statefulset_ordinals_start",
        Stable,
        &[],
        "Ordinal of the StatefulSet's first pod, where the specification sets one.",
        |statefulset, out| out.optional(statefulset.spec.ordinals.as_ref().map(|ordinals| ordinals.start)),
    ),
    common::generation("kube_statefulset_metadata_generation", Stable),
    Family::gauge(
        "kube_statefulset_persistentvolumeclaim_retention_policy",
        Stable,
        &["when_deleted", "when_scaled"],
        "What becomes of the claims made from the StatefulSet's templates when it is deleted or scaled down; always 1.",
        |statefulset, out| {
            let Some(policy) = &statefulset.spec.persistent_volume_claim_retention_policy else { return };
            if !policy.when_deleted.is_empty() || !policy.when_scaled.is_empty() {
                out.sample(&[&policy.when_deleted, &policy.when_scaled], 1);
            }
        },
    ),
    common::annotations("kube_statefulset_annotations", Stable),
    common::labels("kube_statefulset_labels", Stable),
    Family::gauge(
        "kube_statefulset_status_current_revision",
        Stable,
        &["revision"],
        "Revision that the pods not yet updated are made from; always 1.",
        |statefulset, out| out.sample(&[&statefulset.status.current_revision], 1),
    ),
    Family::gauge(
        "kube_statefulset_status_update_revision",
        Stable,
        &["revision"],
        "Revision that updated pods are made from; always 1.",
        |statefulset, out| out.sample(&[&statefulset.status.update_revision], 1),
    ),
    common::deletion_timestamp("kube_statefulset_deletion_timestamp", Stable),
];

/// View of a StatefulSet.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct StatefulSet {
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
    #[prost(message, optional, tag = "10")]
    persistent_volume_claim_retention_policy: Option<ClaimRetentionPolicy>,
    #[prost(message, optional, tag = "11")]
    ordinals: Option<Ordinals>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClaimRetentionPolicy {
    #[prost(string, tag = "1")]
    when_deleted: String,
    #[prost(string, tag = "2")]
    when_scaled: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ordinals {
    #[prost(int32, tag = "1")]
    start: i32,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(int64, tag = "1")]
    observed_generation: i64,
    #[prost(int32, tag = "2")]
    replicas: i32,
    #[prost(int32, tag = "3")]
    ready_replicas: i32,
    #[prost(int32, tag = "4")]
    current_replicas: i32,
    #[prost(int32, tag = "5")]
    updated_replicas: i32,
    #[prost(string, tag = "6")]
    current_revision: String,
    #[prost(string, tag = "7")]
    update_revision: String,
    #[prost(int32, tag = "11")]
    available_replicas: i32,
}

impl Object for StatefulSet {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

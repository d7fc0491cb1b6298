//! ReplicationControllers (core `v1`): families `kube_replicationcontroller_*`. Decodes metadata and replica counts.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<ReplicationController> = Resource {
    descriptor: Descriptor {
        plural: "replicationcontrollers",
        group: "",
        version: "v1",
        kind: "ReplicationController",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("replicationcontroller")],
    families: FAMILIES,
};

const FAMILIES: &[Family<ReplicationController>] = &[
    common::created("kube_replicationcontroller_created", Stable),
    Family::gauge(
        "kube_replicationcontroller_status_replicas",
        Stable,
        &[],
        "Pods that the ReplicationController has.",
        |controller, out| out.value(controller.status.replicas),
    ),
    Family::gauge(
        "kube_replicationcontroller_status_fully_labeled_replicas",
        Stable,
        &[],
        "Pods of the ReplicationController that have all labels of its template.",
        |controller, out| out.value(controller.status.fully_labeled_replicas),
    ),
    Family::gauge(
        "kube_replicationcontroller_status_ready_replicas",
        Stable,
        &[],
        "Pods of the ReplicationController that are ready.",
        |controller, out| out.value(controller.status.ready_replicas),
    ),
    Family::gauge(
        "kube_replicationcontroller_status_available_replicas",
        Stable,
        &[],
        "Pods of the ReplicationController that have been ready for at least minReadySeconds.",
        |controller, out| out.value(controller.status.available_replicas),
    ),
    Family::gauge(
        "kube_replicationcontroller_status_observed_generation",
        Stable,
        &[],
        "Generation of the desired state that the controller has seen.",
        |controller, out| out.value(controller.status.observed_generation),
    ),
    Family::gauge(
        "kube_replicationcontroller_spec_replicas",
        Stable,
        &[],
        "Pods that the ReplicationController is to have.",
        |controller, out| out.optional(controller.spec.replicas),
    ),
    common::generation("kube_replicationcontroller_metadata_generation", Stable),
    common::owner("kube_replicationcontroller_owner", Experimental),
];

/// View of a ReplicationController.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ReplicationController {
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
    #[prost(int32, tag = "5")]
    available_replicas: i32,
}

impl Object for ReplicationController {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

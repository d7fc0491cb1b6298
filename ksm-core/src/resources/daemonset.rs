//! DaemonSets (`apps/v1`): families `kube_daemonset_*`. Decodes metadata and the status counters only.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<DaemonSet> = Resource {
    descriptor: Descriptor {
        plural: "daemonsets",
        group: "apps",
        version: "v1",
        kind: "DaemonSet",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("daemonset")],
    families: FAMILIES,
};

const FAMILIES: &[Family<DaemonSet>] = &[
    common::created("kube_daemonset_created", Stable),
    Family::gauge(
        "kube_daemonset_status_current_number_scheduled",
        Stable,
        &[],
        "Nodes that run at least one pod of the DaemonSet and should.",
        |ds, out| out.value(ds.status.current_number_scheduled),
    ),
    Family::gauge(
        "kube_daemonset_status_desired_number_scheduled",
        Stable,
        &[],
        "Nodes that should run a pod of the DaemonSet.",
        |ds, out| out.value(ds.status.desired_number_scheduled),
    ),
    Family::gauge(
        "kube_daemonset_status_number_available",
        Stable,
        &[],
        "Nodes that should run a pod of the DaemonSet and have one that is available.",
        |ds, out| out.value(ds.status.number_available),
    ),
    Family::gauge(
        "kube_daemonset_status_number_misscheduled",
        Stable,
        &[],
        "Nodes that run a pod of the DaemonSet and should not.",
        |ds, out| out.value(ds.status.number_misscheduled),
    ),
    Family::gauge(
        "kube_daemonset_status_number_ready",
        Stable,
        &[],
        "Nodes that should run a pod of the DaemonSet and have one that is ready.",
        |ds, out| out.value(ds.status.number_ready),
    ),
    Family::gauge(
        "kube_daemonset_status_number_unavailable",
        Stable,
        &[],
        "Nodes that should run a pod of the DaemonSet and have none that is available.",
        |ds, out| out.value(ds.status.number_unavailable),
    ),
    Family::gauge(
        "kube_daemonset_status_observed_generation",
        Stable,
        &[],
        "Generation of the desired state that the controller has seen.",
        |ds, out| out.value(ds.status.observed_generation),
    ),
    Family::gauge(
        "kube_daemonset_status_updated_number_scheduled",
        Stable,
        &[],
        "Nodes that run a pod of the DaemonSet made from its current template.",
        |ds, out| out.value(ds.status.updated_number_scheduled),
    ),
    common::generation("kube_daemonset_metadata_generation", Stable),
    common::deletion_timestamp("kube_daemonset_deletion_timestamp", Experimental),
    common::annotations("kube_daemonset_annotations", Experimental),
    common::labels("kube_daemonset_labels", Stable),
];

/// View of a DaemonSet.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DaemonSet {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(int32, tag = "1")]
    current_number_scheduled: i32,
    #[prost(int32, tag = "2")]
    number_misscheduled: i32,
    #[prost(int32, tag = "3")]
    desired_number_scheduled: i32,
    #[prost(int32, tag = "4")]
    number_ready: i32,
    #[prost(int64, tag = "5")]
    observed_generation: i64,
    #[prost(int32, tag = "6")]
    updated_number_scheduled: i32,
    #[prost(int32, tag = "7")]
    number_available: i32,
    #[prost(int32, tag = "8")]
    number_unavailable: i32,
}

impl Object for DaemonSet {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

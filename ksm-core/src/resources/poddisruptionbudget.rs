//! PodDisruptionBudgets (`policy/v1`): families `kube_poddisruptionbudget_*`. Decodes metadata and the status counters.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<PodDisruptionBudget> = Resource {
    descriptor: Descriptor {
        plural: "poddisruptionbudgets",
        group: "policy",
        version: "v1",
        kind: "PodDisruptionBudget",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("poddisruptionbudget")],
    families: FAMILIES,
};

const FAMILIES: &[Family<PodDisruptionBudget>] = &[
    common::annotations("kube_poddisruptionbudget_annotations", Experimental),
    common::labels("kube_poddisruptionbudget_labels", Experimental),
    common::created("kube_poddisruptionbudget_created", Stable),
    Family::gauge(
        "kube_poddisruptionbudget_status_current_healthy",
        Stable,
        &[],
        "Healthy pods under the budget.",
        |budget, out| out.value(budget.status.current_healthy),
    ),
    Family::gauge(
        "kube_poddisruptionbudget_status_desired_healthy",
        Stable,
        &[],
        "Healthy pods that the budget wants at least.",
        |budget, out| out.value(budget.status.desired_healthy),
    ),
    Family::gauge(
        "kube_poddisruptionbudget_status_pod_disruptions_allowed",
        Stable,
        &[],
        "Pods that may be evicted now.",
        |budget, out| out.value(budget.status.disruptions_allowed),
    ),
    Family::gauge(
        "kube_poddisruptionbudget_status_expected_pods",
        Stable,
        &[],
        "Pods under the budget, healthy or not.",
        |budget, out| out.value(budget.status.expected_pods),
    ),
    Family::gauge(
        "kube_poddisruptionbudget_status_observed_generation",
        Stable,
        &[],
        "Generation of the desired state that the controller has seen.",
        |budget, out| out.value(budget.status.observed_generation),
    ),
    common::deletion_timestamp("kube_poddisruptionbudget_deletion_timestamp", Experimental),
];

/// View of a PodDisruptionBudget.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PodDisruptionBudget {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(int64, tag = "1")]
    observed_generation: i64,
    #[prost(int32, tag = "3")]
    disruptions_allowed: i32,
    #[prost(int32, tag = "4")]
    current_healthy: i32,
    #[prost(int32, tag = "5")]
    desired_healthy: i32,
    #[prost(int32, tag = "6")]
    expected_pods: i32,
}

impl Object for PodDisruptionBudget {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

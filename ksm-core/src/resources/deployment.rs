//! Deployments (`apps/v1`): families `kube_deployment_*`. Decodes metadata, replica counts, strategy and conditions.

use serde::Deserialize;

use super::common;
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples, condition_statuses};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{IntOrString, Object, ObjectMeta, Rounding};

pub(crate) static RESOURCE: Resource<Deployment> = Resource {
    descriptor: Descriptor {
        plural: "deployments",
        group: "apps",
        version: "v1",
        kind: "Deployment",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("deployment")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Deployment>] = &[
    Family::gauge(
        "kube_deployment_owner",
        Experimental,
        &["owner_kind", "owner_name"],
        "Owners of the Deployment, one sample each, empty labels where it has none; always 1.",
        owners,
    ),
    common::created("kube_deployment_created", Stable),
    Family::gauge(
        "kube_deployment_status_replicas",
        Stable,
        &[],
        "Pods of the Deployment that are not terminating, of any template.",
        |deployment, out| out.value(deployment.status.replicas),
    ),
    Family::gauge(
        "kube_deployment_status_replicas_ready",
        Stable,
        &[],
        "Pods of the Deployment that are ready.",
        |deployment, out| out.value(deployment.status.ready_replicas),
    ),
    Family::gauge(
        "kube_deployment_status_replicas_available",
        Stable,
        &[],
        "Pods of the Deployment that have been ready for at least minReadySeconds.",
        |deployment, out| out.value(deployment.status.available_replicas),
    ),
    Family::gauge(
        "kube_deployment_status_replicas_unavailable",
        Stable,
        &[],
        "Pods that the Deployment lacks until all it wants are available, missing ones included.",
        |deployment, out| out.value(deployment.status.unavailable_replicas),
    ),
    Family::gauge(
        "kube_deployment_status_replicas_updated",
        Stable,
        &[],
        "Pods of the Deployment made from its current template.",
        |deployment, out| out.value(deployment.status.updated_replicas),
    ),
    Family::gauge(
        "kube_deployment_status_terminating_replicas",
        Experimental,
        &[],
        "Pods of the Deployment that are being deleted, where the cluster counts them.",
        |deployment, out| out.optional(deployment.status.terminating_replicas),
    ),
    Family::gauge(
        "kube_deployment_status_observed_generation",
        Stable,
        &[],
        "Generation of the desired state that the controller has seen.",
        |deployment, out| out.value(deployment.status.observed_generation),
    ),
    Family::gauge(
        "kube_deployment_status_condition",
        Stable,
        &["reason", "condition", "status"],
        "Conditions of the Deployment: 1 for the status that each has, 0 for the others.",
        conditions,
    ),
    Family::gauge(
        "kube_deployment_spec_replicas",
        Stable,
        &[],
        "Pods that the Deployment is to have.",
        |deployment, out| out.optional(deployment.spec.replicas),
    ),
    Family::gauge(
        "kube_deployment_spec_paused",
        Stable,
        &[],
        "Whether the controller is told to leave the Deployment alone.",
        |deployment, out| out.value(deployment.spec.paused),
    ),
    Family::gauge(
        "kube_deployment_spec_strategy_rollingupdate_max_unavailable",
        Stable,
        &[],
        "Pods that may be unavailable during a rolling update, percentages of the replicas rounded down.",
        |deployment, out| {
            let limit = |update: &RollingUpdate| update.max_unavailable.clone();
            out.optional(rolling_update_limit(deployment, limit, Rounding::Down));
        },
    ),
    Family::gauge(
        "kube_deployment_spec_strategy_rollingupdate_max_surge",
        Stable,
        &[],
        "Pods that a rolling update may run on top of the replicas, percentages of them rounded up.",
        |deployment, out| {
            let limit = |update: &RollingUpdate| update.max_surge.clone();
            out.optional(rolling_update_limit(deployment, limit, Rounding::Up));
        },
    ),
    common::generation("kube_deployment_metadata_generation", Stable),
    common::deletion_timestamp("kube_deployment_deletion_timestamp", Experimental),
    common::annotations("kube_deployment_annotations", Experimental),
    common::labels("kube_deployment_labels", Stable),
];

/// View of a Deployment.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Deployment {
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
    #[prost(message, required, tag = "4")]
    strategy: Strategy,
    #[prost(bool, tag = "7")]
    paused: bool,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Strategy {
    #[prost(message, optional, tag = "2")]
    rolling_update: Option<RollingUpdate>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RollingUpdate {
    #[prost(message, optional, tag = "1")]
    max_unavailable: Option<IntOrString>,
    #[prost(message, optional, tag = "2")]
    max_surge: Option<IntOrString>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(int64, tag = "1")]
    observed_generation: i64,
    #[prost(int32, tag = "2")]
    replicas: i32,
    #[prost(int32, tag = "3")]
    updated_replicas: i32,
    #[prost(int32, tag = "4")]
    available_replicas: i32,
    #[prost(int32, tag = "5")]
    unavailable_replicas: i32,
    #[prost(message, repeated, tag = "6")]
    conditions: Vec<Condition>,
    #[prost(int32, tag = "7")]
    ready_replicas: i32,
    #[prost(int32, optional, tag = "9")]
    terminating_replicas: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condition {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(string, tag = "4")]
    reason: String,
}

impl Object for Deployment {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

/// Reasons that appear as they are; any other is `unknown`, so that the label has few values.
const REASONS: &[&str] = &[
    "",
    "DeploymentPaused",
    "DeploymentResumed",
    "FoundNewReplicaSet",
    "MinimumReplicasAvailable",
    "MinimumReplicasUnavailable",
    "NewReplicaSetAvailable",
    "NewReplicaSetCreated",
    "ProgressDeadlineExceeded",
    "ReplicaSetCreateError",
    "ReplicaSetUpdated",
];

fn owners(deployment: &Deployment, out: &mut Samples<'_>) {
    let owners = &deployment.metadata.owner_references;
    if owners.is_empty() {
        out.sample(&["", ""], 1);
    }
    for owner in owners {
        out.sample(&[&owner.kind, &owner.name], 1);
    }
}

fn conditions(deployment: &Deployment, out: &mut Samples<'_>) {
    for condition in &deployment.status.conditions {
        let reason = condition.reason.as_str();
        let reason = if REASONS.contains(&reason) { reason } else { "unknown" };
        for (status, holds) in condition_statuses(&condition.status) {
            out.sample(&[reason, &condition.r#type, status], holds);
        }
    }
}

/// A limit of the rolling update in pods; `None` while a number it depends on is unset or does not parse.
fn rolling_update_limit(
    deployment: &Deployment,
    limit: impl Fn(&RollingUpdate) -> Option<IntOrString>,
    rounding: Rounding,
) -> Option<i64> {
    let spec = &deployment.spec;
    limit(spec.strategy.rolling_update.as_ref()?)?.scaled(spec.replicas?, rounding)
}

#[cfg(test)]
mod tests;

//! Namespaces (core `v1`): families `kube_namespace_*`. Decodes metadata, phase and conditions.

use serde::Deserialize;

use super::common::{self, Condition};
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<Namespace> = Resource {
    descriptor: Descriptor {
        plural: "namespaces",
        group: "",
        version: "v1",
        kind: "Namespace",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::name("namespace")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Namespace>] = &[
    common::created("kube_namespace_created", Stable),
    common::annotations("kube_namespace_annotations", Experimental),
    common::labels("kube_namespace_labels", Stable),
    Family::gauge(
        "kube_namespace_status_phase",
        Stable,
        &["phase"],
        "Phase of the namespace: 1 for the phase it is in, 0 for the other.",
        |namespace, out| out.states(&["Active", "Terminating"], &namespace.status.phase),
    ),
    Family::gauge(
        "kube_namespace_status_condition",
        Experimental,
        &["condition", "status"],
        "Conditions of the namespace: 1 for the status that each has, 0 for the others.",
        |namespace, out| common::conditions(&namespace.status.conditions, out),
    ),
];

/// View of a Namespace.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Namespace {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(string, tag = "1")]
    phase: String,
    #[prost(message, repeated, tag = "2")]
    conditions: Vec<Condition>,
}

impl Object for Namespace {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

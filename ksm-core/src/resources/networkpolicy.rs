//! NetworkPolicies (`networking.k8s.io/v1`): families `kube_networkpolicy_*`. Decodes metadata and how many rules there
//! are, not what they say.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<NetworkPolicy> = Resource {
    descriptor: Descriptor {
        plural: "networkpolicies",
        group: "networking.k8s.io",
        version: "v1",
        kind: "NetworkPolicy",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("networkpolicy")],
    families: FAMILIES,
};

const FAMILIES: &[Family<NetworkPolicy>] = &[
    common::created("kube_networkpolicy_created", Experimental),
    common::annotations("kube_networkpolicy_annotations", Experimental),
    common::labels("kube_networkpolicy_labels", Experimental),
    Family::gauge(
        "kube_networkpolicy_spec_ingress_rules",
        Experimental,
        &[],
        "Rules of the NetworkPolicy for traffic to its pods.",
        |policy, out| out.value(policy.spec.ingress.len()),
    ),
    Family::gauge(
        "kube_networkpolicy_spec_egress_rules",
        Experimental,
        &[],
        "Rules of the NetworkPolicy for traffic from its pods.",
        |policy, out| out.value(policy.spec.egress.len()),
    ),
];

/// View of a NetworkPolicy.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct NetworkPolicy {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(message, repeated, tag = "2")]
    ingress: Vec<Rule>,
    #[prost(message, repeated, tag = "3")]
    egress: Vec<Rule>,
}

/// A rule, of which only the presence is read.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
struct Rule {}

impl Object for NetworkPolicy {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

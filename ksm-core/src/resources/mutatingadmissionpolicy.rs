//! MutatingAdmissionPolicies (`admissionregistration.k8s.io/v1`): families `kube_mutatingadmissionpolicy_*`. Decodes
//! metadata, the kind of the parameters and the policies for failure and reinvocation.

use serde::Deserialize;

use super::admission::{self, ParamKind};
use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<MutatingAdmissionPolicy> = Resource {
    descriptor: Descriptor {
        plural: "mutatingadmissionpolicies",
        group: admission::GROUP,
        version: "v1",
        kind: "MutatingAdmissionPolicy",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("mutatingadmissionpolicy")],
    families: FAMILIES,
};

const FAMILIES: &[Family<MutatingAdmissionPolicy>] = &[
    Family::gauge(
        "kube_mutatingadmissionpolicy_info",
        Experimental,
        &["param_api_version", "param_kind", "failure_policy", "reinvocation_policy"],
        "Kind of the policy's parameters, what an error in it means for a request, and whether it may run again; always 1.",
        |policy, out| {
            let spec = &policy.spec;
            let [api_version, kind] = admission::param_kind(spec.param_kind.as_ref());
            out.sample(&[api_version, kind, &spec.failure_policy, &spec.reinvocation_policy], 1);
        },
    ),
    common::created("kube_mutatingadmissionpolicy_created", Experimental),
];

/// View of a MutatingAdmissionPolicy.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct MutatingAdmissionPolicy {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(message, optional, tag = "1")]
    param_kind: Option<ParamKind>,
    #[prost(string, tag = "5")]
    failure_policy: String,
    #[prost(string, tag = "7")]
    reinvocation_policy: String,
}

impl Object for MutatingAdmissionPolicy {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

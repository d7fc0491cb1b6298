//! ValidatingAdmissionPolicies (`admissionregistration.k8s.io/v1`): families `kube_validatingadmissionpolicy_*`. Decodes
//! metadata, the kind of the parameters and the failure policy.

use serde::Deserialize;

use super::admission::{self, ParamKind};
use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<ValidatingAdmissionPolicy> = Resource {
    descriptor: Descriptor {
        plural: "validatingadmissionpolicies",
        group: admission::GROUP,
        version: "v1",
        kind: "ValidatingAdmissionPolicy",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("validatingadmissionpolicy")],
    families: FAMILIES,
};

const FAMILIES: &[Family<ValidatingAdmissionPolicy>] = &[
    Family::gauge(
        "kube_validatingadmissionpolicy_info",
        Experimental,
        &["param_api_version", "param_kind", "failure_policy"],
        "Kind of the policy's parameters and what an error in it means for a request; always 1.",
        |policy, out| {
            let [api_version, kind] = admission::param_kind(policy.spec.param_kind.as_ref());
            out.sample(&[api_version, kind, &policy.spec.failure_policy], 1);
        },
    ),
    common::created("kube_validatingadmissionpolicy_created", Experimental),
];

/// View of a ValidatingAdmissionPolicy.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ValidatingAdmissionPolicy {
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
    #[prost(string, tag = "4")]
    failure_policy: String,
}

impl Object for ValidatingAdmissionPolicy {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

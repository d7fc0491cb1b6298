//! ValidatingAdmissionPolicyBindings (`admissionregistration.k8s.io/v1`): families
//! `kube_validatingadmissionpolicybinding_*`. Decodes metadata, the policy bound, the reference to its parameters and
//! the actions.

use super::admission::{self, PolicyBinding};
use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};

pub(crate) static RESOURCE: Resource<PolicyBinding> = Resource {
    descriptor: Descriptor {
        plural: "validatingadmissionpolicybindings",
        group: admission::GROUP,
        version: "v1",
        kind: "ValidatingAdmissionPolicyBinding",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("validatingadmissionpolicybinding")],
    families: FAMILIES,
};

const FAMILIES: &[Family<PolicyBinding>] = &[
    admission::binding_info("kube_validatingadmissionpolicybinding_info"),
    common::created("kube_validatingadmissionpolicybinding_created", Experimental),
    Family::gauge(
        "kube_validatingadmissionpolicybinding_validation_action",
        Experimental,
        &["action"],
        "What becomes of requests that fail the policy's validations, one sample an action; always 1.",
        |binding, out| {
            for action in &binding.spec.validation_actions {
                out.sample(&[action], 1);
            }
        },
    ),
];

#[cfg(test)]
mod tests;

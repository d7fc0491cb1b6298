//! MutatingAdmissionPolicyBindings (`admissionregistration.k8s.io/v1`): families
//! `kube_mutatingadmissionpolicybinding_*`. Decodes metadata, the policy bound and the reference to its parameters.

use super::admission::{self, PolicyBinding};
use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};

pub(crate) static RESOURCE: Resource<PolicyBinding> = Resource {
    descriptor: Descriptor {
        plural: "mutatingadmissionpolicybindings",
        group: admission::GROUP,
        version: "v1",
        kind: "MutatingAdmissionPolicyBinding",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("mutatingadmissionpolicybinding")],
    families: FAMILIES,
};

const FAMILIES: &[Family<PolicyBinding>] = &[
    admission::binding_info("kube_mutatingadmissionpolicybinding_info"),
    common::created("kube_mutatingadmissionpolicybinding_created", Experimental),
];

#[cfg(test)]
mod tests;

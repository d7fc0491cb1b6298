//! RoleBindings (`rbac.authorization.k8s.io/v1`): families `kube_rolebinding_*`. Decodes metadata and the role granted.

use super::common;
use super::rbac::{self, Binding};
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};

pub(crate) static RESOURCE: Resource<Binding> = Resource {
    descriptor: Descriptor {
        plural: "rolebindings",
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind: "RoleBinding",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: false,
    },
    base_labels: &[common::namespace(), common::name("rolebinding")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Binding>] = &[
    common::annotations("kube_rolebinding_annotations", Experimental),
    common::labels("kube_rolebinding_labels", Experimental),
    rbac::role_ref("kube_rolebinding_info"),
    common::created("kube_rolebinding_created", Experimental),
    common::resource_version("kube_rolebinding_metadata_resource_version", Experimental),
];

#[cfg(test)]
mod tests;

//! ClusterRoleBindings (`rbac.authorization.k8s.io/v1`): families `kube_clusterrolebinding_*`. Decodes metadata and the role granted.

use super::common;
use super::rbac::{self, Binding};
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};

pub(crate) static RESOURCE: Resource<Binding> = Resource {
    descriptor: Descriptor {
        plural: "clusterrolebindings",
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind: "ClusterRoleBinding",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: false,
    },
    base_labels: &[common::name("clusterrolebinding")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Binding>] = &[
    common::annotations("kube_clusterrolebinding_annotations", Experimental),
    common::labels("kube_clusterrolebinding_labels", Experimental),
    rbac::role_ref("kube_clusterrolebinding_info"),
    common::created("kube_clusterrolebinding_created", Experimental),
    common::resource_version("kube_clusterrolebinding_metadata_resource_version", Experimental),
];

#[cfg(test)]
mod tests;

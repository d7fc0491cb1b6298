//! ClusterRoles (`rbac.authorization.k8s.io/v1`): families `kube_clusterrole_*`. Reads metadata only; the API server never sends the
//! rules.

use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::Meta;

pub(crate) static RESOURCE: Resource<Meta> = Resource {
    descriptor: Descriptor {
        plural: "clusterroles",
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind: "ClusterRole",
        scope: Scope::Cluster,
        fetch: Fetch::MetadataOnly,
        enabled_by_default: false,
    },
    base_labels: &[common::name("clusterrole")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Meta>] = &[
    common::annotations("kube_clusterrole_annotations", Experimental),
    common::labels("kube_clusterrole_labels", Experimental),
    common::exists("kube_clusterrole_info", Experimental),
    common::created("kube_clusterrole_created", Experimental),
    common::resource_version("kube_clusterrole_metadata_resource_version", Experimental),
];

#[cfg(test)]
mod tests;

//! Roles (`rbac.authorization.k8s.io/v1`): families `kube_role_*`. Reads metadata only; the API server never sends the
//! rules.

use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::Meta;

pub(crate) static RESOURCE: Resource<Meta> = Resource {
    descriptor: Descriptor {
        plural: "roles",
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind: "Role",
        scope: Scope::Namespaced,
        fetch: Fetch::MetadataOnly,
        enabled_by_default: false,
    },
    base_labels: &[common::namespace(), common::name("role")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Meta>] = &[
    common::annotations("kube_role_annotations", Experimental),
    common::labels("kube_role_labels", Experimental),
    common::exists("kube_role_info", Experimental),
    common::created("kube_role_created", Experimental),
    common::resource_version("kube_role_metadata_resource_version", Experimental),
];

#[cfg(test)]
mod tests;

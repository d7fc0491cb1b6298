//! ConfigMaps (core `v1`): families `kube_configmap_*`. Reads metadata only; the API server never sends the data.

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::Meta;

pub(crate) static RESOURCE: Resource<Meta> = Resource {
    descriptor: Descriptor {
        plural: "configmaps",
        group: "",
        version: "v1",
        kind: "ConfigMap",
        scope: Scope::Namespaced,
        fetch: Fetch::MetadataOnly,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("configmap")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Meta>] = &[
    common::annotations("kube_configmap_annotations", Experimental),
    common::labels("kube_configmap_labels", Stable),
    common::exists("kube_configmap_info", Stable),
    common::created("kube_configmap_created", Stable),
    common::resource_version("kube_configmap_metadata_resource_version", Experimental),
];

#[cfg(test)]
mod tests;

//! StorageClasses (`storage.k8s.io/v1`): families `kube_storageclass_*`. Decodes metadata, the provisioner, and what
//! becomes of volumes.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<StorageClass> = Resource {
    descriptor: Descriptor {
        plural: "storageclasses",
        group: "storage.k8s.io",
        version: "v1",
        kind: "StorageClass",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::name("storageclass")],
    families: FAMILIES,
};

const FAMILIES: &[Family<StorageClass>] = &[
    Family::gauge(
        "kube_storageclass_info",
        Stable,
        &["provisioner", "reclaim_policy", "volume_binding_mode"],
        "Who makes volumes of the class, what becomes of them when released and when they are bound; always 1.",
        |class, out| {
            // What the API takes where these are not set.
            let reclaim_policy = class.reclaim_policy.as_deref().unwrap_or("Delete");
            let volume_binding_mode = class.volume_binding_mode.as_deref().unwrap_or("Immediate");
            out.sample(&[&class.provisioner, reclaim_policy, volume_binding_mode], 1);
        },
    ),
    common::created("kube_storageclass_created", Stable),
    common::annotations("kube_storageclass_annotations", Experimental),
    common::labels("kube_storageclass_labels", Stable),
];

/// View of a StorageClass.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct StorageClass {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(string, tag = "2")]
    provisioner: String,
    #[prost(string, optional, tag = "4")]
    reclaim_policy: Option<String>,
    #[prost(string, optional, tag = "7")]
    volume_binding_mode: Option<String>,
}

impl Object for StorageClass {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

//! Secrets (core `v1`): families `kube_secret_*`. Reads metadata and the type; the data is skipped, not decoded.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<Secret> = Resource {
    descriptor: Descriptor {
        plural: "secrets",
        group: "",
        version: "v1",
        kind: "Secret",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("secret")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Secret>] = &[
    common::exists("kube_secret_info", Stable),
    Family::gauge("kube_secret_type", Stable, &["type"], "Type of the Secret; always 1.", |secret, out| {
        out.sample(&[&secret.r#type], 1);
    }),
    common::annotations("kube_secret_annotations", Experimental),
    common::labels("kube_secret_labels", Stable),
    common::created("kube_secret_created", Stable),
    common::resource_version("kube_secret_metadata_resource_version", Experimental),
    common::owner("kube_secret_owner", Experimental),
];

/// View of a Secret. It has no field for the data and must never get one.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Secret {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(string, tag = "3")]
    r#type: String,
}

impl Object for Secret {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

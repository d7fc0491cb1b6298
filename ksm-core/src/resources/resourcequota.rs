//! ResourceQuotas (core `v1`): families `kube_resourcequota*`. Decodes metadata, and limits and use as the status has them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::common;
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta, Quantity};

pub(crate) static RESOURCE: Resource<ResourceQuota> = Resource {
    descriptor: Descriptor {
        plural: "resourcequotas",
        group: "",
        version: "v1",
        kind: "ResourceQuota",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("resourcequota")],
    families: FAMILIES,
};

const FAMILIES: &[Family<ResourceQuota>] = &[
    common::created("kube_resourcequota_created", Stable),
    Family::gauge(
        "kube_resourcequota",
        Stable,
        &["resource", "type"],
        "How much of each resource the namespace may have (type hard) and has (type used); cores, bytes, or objects.",
        amounts,
    ),
    common::annotations("kube_resourcequota_annotations", Experimental),
    common::labels("kube_resourcequota_labels", Stable),
];

/// View of a ResourceQuota.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ResourceQuota {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(btree_map = "string, message", tag = "1")]
    hard: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "2")]
    used: BTreeMap<String, Quantity>,
}

impl Object for ResourceQuota {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn amounts(quota: &ResourceQuota, out: &mut Samples<'_>) {
    for (r#type, amounts) in [("hard", &quota.status.hard), ("used", &quota.status.used)] {
        for (resource, amount) in amounts {
            if let Some(value) = amount.thousandths() {
                out.sample(&[resource, r#type], value);
            }
        }
    }
}

#[cfg(test)]
mod tests;

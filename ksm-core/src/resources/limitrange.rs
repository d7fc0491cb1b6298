//! LimitRanges (core `v1`): families `kube_limitrange*`. Decodes metadata and the limits.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::common;
use crate::family::Stability::Stable;
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta, Quantity};

pub(crate) static RESOURCE: Resource<LimitRange> = Resource {
    descriptor: Descriptor {
        plural: "limitranges",
        group: "",
        version: "v1",
        kind: "LimitRange",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("limitrange")],
    families: FAMILIES,
};

const FAMILIES: &[Family<LimitRange>] = &[
    Family::gauge(
        "kube_limitrange",
        Stable,
        &["resource", "type", "constraint"],
        "Limits for objects of a type, one sample for each resource and constraint; cores, bytes, or a plain number.",
        limits,
    ),
    common::created("kube_limitrange_created", Stable),
];

/// View of a LimitRange.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct LimitRange {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(message, repeated, tag = "1")]
    limits: Vec<Limit>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Limit {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(btree_map = "string, message", tag = "2")]
    max: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "3")]
    min: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "4")]
    default: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "5")]
    default_request: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "6")]
    max_limit_request_ratio: BTreeMap<String, Quantity>,
}

impl Object for LimitRange {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn limits(range: &LimitRange, out: &mut Samples<'_>) {
    for limit in &range.spec.limits {
        let constraints = [
            ("min", &limit.min),
            ("max", &limit.max),
            ("default", &limit.default),
            ("defaultRequest", &limit.default_request),
            ("maxLimitRequestRatio", &limit.max_limit_request_ratio),
        ];
        for (constraint, amounts) in constraints {
            for (resource, amount) in amounts {
                if let Some(value) = amount.thousandths() {
                    out.sample(&[resource, &limit.r#type, constraint], value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

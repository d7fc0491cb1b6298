//! IngressClasses (`networking.k8s.io/v1`): families `kube_ingressclass_*`. Decodes metadata and the controller.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<IngressClass> = Resource {
    descriptor: Descriptor {
        plural: "ingressclasses",
        group: "networking.k8s.io",
        version: "v1",
        kind: "IngressClass",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: false,
    },
    base_labels: &[common::name("ingressclass")],
    families: FAMILIES,
};

const FAMILIES: &[Family<IngressClass>] = &[
    Family::gauge(
        "kube_ingressclass_info",
        Experimental,
        &["controller"],
        "Controller that serves Ingresses of the class; always 1.",
        |class, out| out.sample(&[&class.spec.controller], 1),
    ),
    common::created("kube_ingressclass_created", Experimental),
    common::annotations("kube_ingressclass_annotations", Experimental),
    common::labels("kube_ingressclass_labels", Experimental),
];

/// View of an IngressClass.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct IngressClass {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(string, tag = "1")]
    controller: String,
}

impl Object for IngressClass {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

//! Ingresses (`networking.k8s.io/v1`): families `kube_ingress_*`. Decodes metadata, class, rules and TLS hosts.

use serde::Deserialize;

use super::common;
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<Ingress> = Resource {
    descriptor: Descriptor {
        plural: "ingresses",
        group: "networking.k8s.io",
        version: "v1",
        kind: "Ingress",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("ingress")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Ingress>] = &[
    Family::gauge(
        "kube_ingress_info",
        Stable,
        &["ingressclass"],
        "Class of the Ingress: from the annotation kubernetes.io/ingress.class, else from the specification, else \
         _default; always 1.",
        |ingress, out| out.sample(&[class(ingress)], 1),
    ),
    common::annotations("kube_ingress_annotations", Experimental),
    common::labels("kube_ingress_labels", Stable),
    common::created("kube_ingress_created", Stable),
    common::resource_version("kube_ingress_metadata_resource_version", Experimental),
    Family::gauge(
        "kube_ingress_path",
        Stable,
        &[
            "host",
            "path",
            "path_type",
            "service_name",
            "service_port",
            "resource_api_group",
            "resource_kind",
            "resource_name",
        ],
        "Paths of the Ingress with the backend of each, service_* labels for a Service and resource_* labels for another \
         object; the port is 0 where it goes by a name; always 1.",
        paths,
    ),
    Family::gauge(
        "kube_ingress_tls",
        Stable,
        &["tls_host", "secret"],
        "Hosts that the Ingress serves over TLS, with the Secret of the certificate; always 1.",
        |ingress, out| {
            for tls in &ingress.spec.tls {
                for host in &tls.hosts {
                    out.sample(&[host, &tls.secret_name], 1);
                }
            }
        },
    ),
];

/// View of an Ingress.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Ingress {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(message, repeated, tag = "2")]
    tls: Vec<Tls>,
    #[prost(message, repeated, tag = "3")]
    rules: Vec<Rule>,
    #[prost(string, optional, tag = "4")]
    ingress_class_name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tls {
    #[prost(string, repeated, tag = "1")]
    hosts: Vec<String>,
    #[prost(string, tag = "2")]
    secret_name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Rule {
    #[prost(string, tag = "1")]
    host: String,
    /// In JSON its fields stand among those of the rule.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    value: RuleValue,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RuleValue {
    #[prost(message, required, tag = "1")]
    http: Http,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Http {
    #[prost(message, repeated, tag = "1")]
    paths: Vec<HttpPath>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HttpPath {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(message, required, tag = "2")]
    backend: Backend,
    #[prost(string, tag = "3")]
    path_type: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Backend {
    #[prost(message, optional, tag = "3")]
    resource: Option<ResourceBackend>,
    #[prost(message, optional, tag = "4")]
    service: Option<ServiceBackend>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceBackend {
    #[prost(string, tag = "1")]
    api_group: String,
    #[prost(string, tag = "2")]
    kind: String,
    #[prost(string, tag = "3")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ServiceBackend {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, required, tag = "2")]
    port: ServicePort,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ServicePort {
    #[prost(int32, tag = "2")]
    number: i32,
}

impl Object for Ingress {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

/// The annotation is older than the field and still wins, even when it is empty.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

fn class(ingress: &Ingress) -> &str {
    let annotation = ingress.metadata.annotations.get(CLASS_ANNOTATION);
    annotation.or(ingress.spec.ingress_class_name.as_ref()).map_or("_default", String::as_str)
}

/// A path without a backend of either kind has no sample
/// (<https://github.com/kubernetes/kube-state-metrics/issues/1660>).
fn paths(ingress: &Ingress, out: &mut Samples<'_>) {
    for rule in &ingress.spec.rules {
        for path in &rule.value.http.paths {
            let place = [("host", rule.host.as_str()), ("path", &path.path), ("path_type", &path.path_type)];
            if let Some(service) = &path.backend.service {
                let port = service.port.number.to_string();
                out.labelled(place.into_iter().chain([("service_name", &*service.name), ("service_port", &port)]), 1);
            } else if let Some(resource) = &path.backend.resource {
                let backend = [
                    ("resource_api_group", resource.api_group.as_str()),
                    ("resource_kind", &resource.kind),
                    ("resource_name", &resource.name),
                ];
                out.labelled(place.into_iter().chain(backend), 1);
            }
        }
    }
}

#[cfg(test)]
mod tests;

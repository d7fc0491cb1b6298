//! Services (core `v1`): families `kube_service_*`. Decodes metadata, addresses, type and load balancer addresses.
//!
//! Every family also has the label `uid`: a Service made anew under the same name is another one.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<Service> = Resource {
    descriptor: Descriptor {
        plural: "services",
        group: "",
        version: "v1",
        kind: "Service",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("service"), common::uid()],
    families: FAMILIES,
};

const FAMILIES: &[Family<Service>] = &[
    Family::gauge(
        "kube_service_info",
        Stable,
        &["cluster_ip", "external_name", "load_balancer_ip", "external_traffic_policy"],
        "Addresses and traffic policy of the Service as specified; always 1.",
        |service, out| {
            let spec = &service.spec;
            let values = [&spec.cluster_ip, &spec.external_name, &spec.load_balancer_ip, &spec.external_traffic_policy];
            out.sample(&values.map(String::as_str), 1);
        },
    ),
    common::created("kube_service_created", Stable),
    Family::gauge("kube_service_spec_type", Stable, &["type"], "Type of the Service; always 1.", |service, out| {
        out.sample(&[&service.spec.r#type], 1);
    }),
    common::annotations("kube_service_annotations", Experimental),
    common::labels("kube_service_labels", Stable),
    Family::gauge(
        "kube_service_spec_external_ip",
        Stable,
        &["external_ip"],
        "External addresses that the Service's specification lists, one sample each; always 1.",
        |service, out| {
            for external_ip in &service.spec.external_ips {
                out.sample(&[external_ip], 1);
            }
        },
    ),
    Family::gauge(
        "kube_service_status_load_balancer_ingress",
        Stable,
        &["ip", "hostname"],
        "Addresses at which the load balancer takes traffic for the Service, one sample each; always 1.",
        |service, out| {
            for ingress in &service.status.load_balancer.ingress {
                out.sample(&[&ingress.ip, &ingress.hostname], 1);
            }
        },
    ),
    common::deletion_timestamp("kube_service_deletion_timestamp", Experimental),
];

/// View of a Service.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Service {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(string, tag = "3")]
    #[serde(rename = "clusterIP")]
    cluster_ip: String,
    #[prost(string, tag = "4")]
    r#type: String,
    #[prost(string, repeated, tag = "5")]
    #[serde(rename = "externalIPs")]
    external_ips: Vec<String>,
    #[prost(string, tag = "8")]
    #[serde(rename = "loadBalancerIP")]
    load_balancer_ip: String,
    #[prost(string, tag = "10")]
    external_name: String,
    #[prost(string, tag = "11")]
    external_traffic_policy: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(message, required, tag = "1")]
    load_balancer: LoadBalancer,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LoadBalancer {
    #[prost(message, repeated, tag = "1")]
    ingress: Vec<LoadBalancerIngress>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LoadBalancerIngress {
    #[prost(string, tag = "1")]
    ip: String,
    #[prost(string, tag = "2")]
    hostname: String,
}

impl Object for Service {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

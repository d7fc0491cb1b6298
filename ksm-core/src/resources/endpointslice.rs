//! EndpointSlices (`discovery.k8s.io/v1`): families `kube_endpointslice_*`. Decodes metadata, endpoints with their
//! conditions, targets and zone hints, and ports.

use serde::Deserialize;

use super::common;
use crate::family::Stability::Experimental;
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<EndpointSlice> = Resource {
    descriptor: Descriptor {
        plural: "endpointslices",
        group: "discovery.k8s.io",
        version: "v1",
        kind: "EndpointSlice",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::name("endpointslice"), common::namespace()],
    families: FAMILIES,
};

const FAMILIES: &[Family<EndpointSlice>] = &[
    Family::gauge(
        "kube_endpointslice_info",
        Experimental,
        &["addresstype"],
        "Type of the addresses in the EndpointSlice; always 1.",
        |slice, out| out.sample(&[&slice.address_type], 1),
    ),
    common::created("kube_endpointslice_created", Experimental),
    Family::gauge(
        "kube_endpointslice_endpoints_hints",
        Experimental,
        &["address", "for_zone"],
        "Zones that are to prefer an endpoint, by its first address, one sample each; always 1.",
        hints,
    ),
    Family::gauge(
        "kube_endpointslice_endpoints",
        Experimental,
        &[
            "ready",
            "serving",
            "hostname",
            "terminating",
            "targetref_kind",
            "targetref_name",
            "targetref_namespace",
            "endpoint_nodename",
            "endpoint_zone",
            "address",
        ],
        "Endpoints of the EndpointSlice, one sample an address, with state, target and place; always 1.",
        endpoints,
    ),
    Family::gauge(
        "kube_endpointslice_ports",
        Experimental,
        &["port_name", "port_protocol", "port_number"],
        "Ports of the EndpointSlice, one sample each; always 1.",
        |slice, out| {
            for port in &slice.ports {
                let number = port.port.map(|number| number.to_string());
                out.sample(&[&port.name, &port.protocol, number.as_deref().unwrap_or_default()], 1);
            }
        },
    ),
    common::annotations("kube_endpointslice_annotations", Experimental),
    common::labels("kube_endpointslice_labels", Experimental),
];

/// View of an EndpointSlice.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct EndpointSlice {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    endpoints: Vec<Endpoint>,
    #[prost(message, repeated, tag = "3")]
    ports: Vec<Port>,
    #[prost(string, tag = "4")]
    address_type: String,
}

/// Texts that can be unset are plain: unset and empty are exported alike.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Endpoint {
    #[prost(string, repeated, tag = "1")]
    addresses: Vec<String>,
    #[prost(message, required, tag = "2")]
    conditions: Conditions,
    #[prost(string, tag = "3")]
    hostname: String,
    #[prost(message, required, tag = "4")]
    target_ref: ObjectReference,
    #[prost(string, tag = "6")]
    node_name: String,
    #[prost(string, tag = "7")]
    zone: String,
    #[prost(message, required, tag = "8")]
    hints: Hints,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Conditions {
    #[prost(bool, optional, tag = "1")]
    ready: Option<bool>,
    #[prost(bool, optional, tag = "2")]
    serving: Option<bool>,
    #[prost(bool, optional, tag = "3")]
    terminating: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectReference {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "2")]
    namespace: String,
    #[prost(string, tag = "3")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Hints {
    #[prost(message, repeated, tag = "1")]
    for_zones: Vec<ForZone>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ForZone {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Port {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    protocol: String,
    /// Unset where any port will do.
    #[prost(int32, optional, tag = "3")]
    port: Option<i32>,
}

impl Object for EndpointSlice {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn hints(slice: &EndpointSlice, out: &mut Samples<'_>) {
    for endpoint in &slice.endpoints {
        // All addresses of an endpoint stand for the same thing: https://github.com/kubernetes/kubernetes/issues/106267.
        let Some(address) = endpoint.addresses.first() else { continue };
        for zone in &endpoint.hints.for_zones {
            out.sample(&[address, &zone.name], 1);
        }
    }
}

fn endpoints(slice: &EndpointSlice, out: &mut Samples<'_>) {
    for endpoint in &slice.endpoints {
        let Endpoint { conditions, target_ref, .. } = endpoint;
        for address in &endpoint.addresses {
            out.sample(
                &[
                    word(conditions.ready),
                    word(conditions.serving),
                    &endpoint.hostname,
                    word(conditions.terminating),
                    &target_ref.kind,
                    &target_ref.name,
                    &target_ref.namespace,
                    &endpoint.node_name,
                    &endpoint.zone,
                    address,
                ],
                1,
            );
        }
    }
}

/// A condition as a label value; one that is not known is empty.
fn word(condition: Option<bool>) -> &'static str {
    match condition {
        Some(true) => "true",
        Some(false) => "false",
        None => "",
    }
}

#[cfg(test)]
mod tests;

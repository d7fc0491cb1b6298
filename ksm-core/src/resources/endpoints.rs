//! Endpoints (core `v1`): families `kube_endpoint_*`. Decodes metadata, addresses and ports.
//!
//! Off by default: the API has given the resource up in favour of EndpointSlices.

use serde::Deserialize;

use super::common;
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<Endpoints> = Resource {
    descriptor: Descriptor {
        plural: "endpoints",
        group: "",
        version: "v1",
        kind: "Endpoints",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: false,
    },
    base_labels: &[common::namespace(), common::name("endpoint")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Endpoints>] = &[
    common::exists("kube_endpoint_info", Stable),
    common::created("kube_endpoint_created", Stable),
    common::annotations("kube_endpoint_annotations", Experimental),
    common::labels("kube_endpoint_labels", Stable),
    Family::gauge(
        "kube_endpoint_address",
        Stable,
        &["port_protocol", "port_number", "port_name", "ip", "ready"],
        "Addresses behind the Service, one sample for each with each of its ports, and whether it takes traffic; \
         always 1.",
        addresses,
    ),
    Family::gauge(
        "kube_endpoint_ports",
        Stable,
        &["port_name", "port_protocol", "port_number"],
        "Ports behind the Service, one sample each; always 1.",
        |endpoints, out| {
            for port in endpoints.subsets.iter().flat_map(|subset| &subset.ports) {
                out.sample(&[&port.name, &port.protocol, &port.port.to_string()], 1);
            }
        },
    ),
];

/// View of an Endpoints object.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Endpoints {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    subsets: Vec<Subset>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Subset {
    #[prost(message, repeated, tag = "1")]
    addresses: Vec<Address>,
    #[prost(message, repeated, tag = "2")]
    not_ready_addresses: Vec<Address>,
    #[prost(message, repeated, tag = "3")]
    ports: Vec<Port>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Address {
    #[prost(string, tag = "1")]
    ip: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Port {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    port: i32,
    #[prost(string, tag = "3")]
    protocol: String,
}

impl Object for Endpoints {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn addresses(endpoints: &Endpoints, out: &mut Samples<'_>) {
    for subset in &endpoints.subsets {
        for port in &subset.ports {
            let number = port.port.to_string();
            for (addresses, ready) in [(&subset.addresses, "true"), (&subset.not_ready_addresses, "false")] {
                for address in addresses {
                    if out.is_full() {
                        return;
                    }
                    out.sample(&[&port.protocol, &number, &port.name, &address.ip, ready], 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

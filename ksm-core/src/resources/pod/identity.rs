//! What and where a pod is: times of its object, its node, addresses and creator.

use core::net::{IpAddr, Ipv6Addr};

use super::view::Pod;
use crate::family::Family;
use crate::family::Samples;
use crate::family::Stability::{Experimental, Stable};
use crate::resources::common;

pub(super) const FAMILIES: &[Family<Pod>] = &[
    common::created("kube_pod_created", Stable),
    common::deletion_timestamp("kube_pod_deletion_timestamp", Experimental),
    Family::gauge(
        "kube_pod_info",
        Stable,
        &["host_ip", "pod_ip", "node", "created_by_kind", "created_by_name", "priority_class", "host_network"],
        "Where the pod runs, its main addresses and the controller that made it; always 1.",
        info,
    ),
    Family::gauge(
        "kube_pod_ips",
        Experimental,
        &["ip", "ip_family"],
        "Addresses of the pod with their family, 4 or 6; always 1.",
        ips,
    ),
];

fn info(pod: &Pod, out: &mut Samples<'_>) {
    let controller = pod.metadata.owner_references.iter().find(|owner| owner.controller == Some(true));
    let (kind, name) = controller.map_or(("", ""), |owner| (&owner.kind, &owner.name));
    let host_network = if pod.spec.host_network { "true" } else { "false" };
    let (spec, status) = (&pod.spec, &pod.status);
    out.sample(
        &[&status.host_ip, &status.pod_ip, &spec.node_name, kind, name, &spec.priority_class_name, host_network],
        1,
    );
}

/// The text stays as it was given; what does not parse as an address has no sample
/// (<https://github.com/kubernetes/kube-state-metrics/issues/3059>).
fn ips(pod: &Pod, out: &mut Samples<'_>) {
    for pod_ip in &pod.status.pod_ips {
        if let Some(family) = ip_family(&pod_ip.ip) {
            out.sample(&[&pod_ip.ip, family], 1);
        }
    }
}

fn ip_family(text: &str) -> Option<&'static str> {
    let address = match text.split_once('%') {
        Some((address, zone)) if !zone.is_empty() => IpAddr::V6(address.parse::<Ipv6Addr>().ok()?),
        Some(_) => return None,
        None => text.parse().ok()?,
    };
    // An IPv4 address mapped into IPv6 is one of family 4.
    Some(if address.to_canonical().is_ipv4() { "4" } else { "6" })
}

//! Leases (`coordination.k8s.io/v1`): families `kube_lease_*`. Decodes metadata, the holder and the time of renewal.
//!
//! The label `namespace` stands behind a family's own labels here, not in front.

use serde::Deserialize;

use super::common;
use crate::family::Stability::Experimental;
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{MicroTime, Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<Lease> = Resource {
    descriptor: Descriptor {
        plural: "leases",
        group: "coordination.k8s.io",
        version: "v1",
        kind: "Lease",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::name("lease")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Lease>] = &[
    Family::gauge(
        "kube_lease_owner",
        Experimental,
        &["owner_kind", "owner_name", "namespace", "lease_holder"],
        "Owners of the Lease, one sample each, empty labels where it has none, and who holds it; always 1.",
        owners,
    ),
    Family::gauge(
        "kube_lease_renew_time",
        Experimental,
        &["namespace"],
        "When the holder last renewed the Lease, in seconds since the Unix epoch.",
        |lease, out| {
            if let Some(seconds) = lease.spec.renew_time.as_ref().and_then(MicroTime::unix_seconds) {
                out.sample(&[&lease.metadata.namespace], seconds);
            }
        },
    ),
];

/// View of a Lease.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Lease {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    /// Unset and empty are exported alike.
    #[prost(string, tag = "1")]
    holder_identity: String,
    #[prost(message, optional, tag = "4")]
    renew_time: Option<MicroTime>,
}

impl Object for Lease {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn owners(lease: &Lease, out: &mut Samples<'_>) {
    let (metadata, holder) = (&lease.metadata, &lease.spec.holder_identity);
    if metadata.owner_references.is_empty() {
        out.sample(&["", "", &metadata.namespace, holder], 1);
    }
    for owner in &metadata.owner_references {
        out.sample(&[&owner.kind, &owner.name, &metadata.namespace, holder], 1);
    }
}

#[cfg(test)]
mod tests;

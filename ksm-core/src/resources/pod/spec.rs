//! What a pod was asked to be: copied keys, overhead, owners, claims, volumes.

use std::collections::HashMap;

use super::view::{Pod, Volume};
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples};
use crate::resources::common;
use crate::view::Quantity;

pub(super) const FAMILIES: &[Family<Pod>] = &[
    common::annotations("kube_pod_annotations", Experimental),
    common::labels("kube_pod_labels", Stable),
    Family::gauge(
        "kube_pod_overhead_cpu_cores",
        Experimental,
        &[],
        "CPU cores that running the pod costs on top of its containers.",
        |pod, out| out.optional(pod.spec.overhead.get("cpu").and_then(Quantity::thousandths)),
    ),
    Family::gauge(
        "kube_pod_overhead_memory_bytes",
        Experimental,
        &[],
        "Bytes of memory that running the pod costs on top of its containers.",
        |pod, out| out.optional(pod.spec.overhead.get("memory").and_then(Quantity::whole)),
    ),
    common::owner("kube_pod_owner", Stable),
    Family::gauge(
        "kube_pod_resourceclaim_info",
        Experimental,
        &["claim_name", "resourceclaim_name", "resourceclaim_template_name"],
        "Resource claims of the pod by the name it gives them, each with the ResourceClaim object, once known, and the \
         template behind it; always 1.",
        resource_claims,
    ),
    Family::gauge(
        "kube_pod_restart_policy",
        Stable,
        &["type"],
        "When containers of the pod are started again; always 1.",
        |pod, out| out.sample(&[&pod.spec.restart_policy], 1),
    ),
    Family::gauge(
        "kube_pod_runtimeclass_name_info",
        Experimental,
        &["runtimeclass_name"],
        "Runtime class that the pod asks for; always 1.",
        |pod, out| {
            if let Some(name) = &pod.spec.runtime_class_name {
                out.sample(&[name], 1);
            }
        },
    ),
    Family::gauge(
        "kube_pod_spec_volumes_persistentvolumeclaims_info",
        Stable,
        CLAIM_LABELS,
        "Volumes of the pod that a persistent volume claim backs, its own or an ephemeral one made for it; always 1.",
        |pod, out| claimed_volumes(pod, out, |_| true),
    ),
    Family::gauge(
        "kube_pod_spec_volumes_persistentvolumeclaims_readonly",
        Stable,
        CLAIM_LABELS,
        "Whether a volume that a claim backs is mounted read-only; ephemeral ones never are.",
        |pod, out| {
            claimed_volumes(pod, out, |volume| {
                volume.source.persistent_volume_claim.as_ref().is_some_and(|claim| claim.read_only)
            });
        },
    ),
];

const CLAIM_LABELS: &[&str] = &["volume", "persistentvolumeclaim", "ephemeral"];

/// One sample for each volume with a claim, of the given value.
fn claimed_volumes(pod: &Pod, out: &mut Samples<'_>, value: impl Fn(&Volume) -> bool) {
    for volume in &pod.spec.volumes {
        if let Some(claim) = &volume.source.persistent_volume_claim {
            out.sample(&[&volume.name, &claim.claim_name, "false"], value(volume));
        } else if volume.source.ephemeral.is_some() {
            // The claim made for an ephemeral volume always has this name (KEP-1698).
            let claim_name = format!("{}-{}", pod.metadata.name, volume.name);
            out.sample(&[&volume.name, &claim_name, "true"], value(volume));
        }
    }
}

/// A claim made from a template is named in the status once it is there, in the last of several entries; a claim with
/// neither object nor template refers to nothing and has no sample.
fn resource_claims(pod: &Pod, out: &mut Samples<'_>) {
    let statuses = pod.status.resource_claim_statuses.iter();
    let generated: HashMap<&str, &str> =
        statuses.filter_map(|status| Some((status.name.as_str(), status.resource_claim_name.as_deref()?))).collect();
    for claim in &pod.spec.resource_claims {
        let template = claim.resource_claim_template_name.as_deref();
        let object = match (claim.resource_claim_name.as_deref(), template) {
            (Some(name), _) => name,
            (None, Some(_)) => generated.get(claim.name.as_str()).copied().unwrap_or_default(),
            (None, None) => continue,
        };
        out.sample(&[&claim.name, object, template.unwrap_or_default()], 1);
    }
}

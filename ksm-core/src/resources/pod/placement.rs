//! What decides where a pod may run and as whom: tolerations, node selector, service account, scheduler.

use super::view::Pod;
use crate::family::Stability::Experimental;
use crate::family::{Family, KeyFilter, Samples};

pub(super) const FAMILIES: &[Family<Pod>] = &[
    Family::gauge(
        "kube_pod_tolerations",
        Experimental,
        &["key", "operator", "value", "effect", "toleration_seconds"],
        "Node taints that the pod puts up with; always 1.",
        tolerations,
    ),
    Family::gauge(
        "kube_pod_nodeselectors",
        Experimental,
        &[],
        "Labels that a node must have to run the pod, as labels nodeselector_*; always 1.",
        node_selectors,
    )
    .opt_in(),
    Family::gauge(
        "kube_pod_service_account",
        Experimental,
        &["service_account"],
        "Service account that the pod runs as; always 1.",
        |pod, out| out.sample(&[&pod.spec.service_account_name], 1),
    ),
    Family::gauge(
        "kube_pod_scheduler",
        Experimental,
        &["name"],
        "Scheduler that finds the pod a node; always 1.",
        |pod, out| out.sample(&[&pod.spec.scheduler_name], 1),
    ),
];

/// Seconds that are not set are an empty label, like every other part of a toleration.
fn tolerations(pod: &Pod, out: &mut Samples<'_>) {
    for toleration in &pod.spec.tolerations {
        let seconds = toleration.toleration_seconds.map(|seconds| seconds.to_string()).unwrap_or_default();
        out.sample(&[&toleration.key, &toleration.operator, &toleration.value, &toleration.effect, &seconds], 1);
    }
}

fn node_selectors(pod: &Pod, out: &mut Samples<'_>) {
    out.copied("nodeselector", &pod.spec.node_selector, &KeyFilter::All);
}

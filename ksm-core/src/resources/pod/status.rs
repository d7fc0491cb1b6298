//! How a pod is doing: phase, QoS class, conditions with their times, reasons.

use super::view::{Pod, PodCondition};
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples, condition_statuses};

/// Stands first in the exposition, before the containers.
pub(super) const COMPLETION: &[Family<Pod>] = &[Family::gauge(
    "kube_pod_completion_time",
    Stable,
    &[],
    "When the last of the pod's terminated containers ended, in seconds since the Unix epoch.",
    |pod, out| out.optional(completion_time(pod)),
)];

pub(super) const FAMILIES: &[Family<Pod>] = &[
    Family::gauge(
        "kube_pod_start_time",
        Stable,
        &[],
        "When the kubelet took the pod over, in seconds since the Unix epoch.",
        |pod, out| out.time(pod.status.start_time.as_ref()),
    ),
    Family::gauge(
        "kube_pod_status_phase",
        Stable,
        &["phase"],
        "Phase of the pod's life: 1 for the one it is in, 0 for the others.",
        |pod, out| {
            if !pod.status.phase.is_empty() {
                out.states(&["Pending", "Succeeded", "Failed", "Unknown", "Running"], &pod.status.phase);
            }
        },
    ),
    Family::gauge(
        "kube_pod_status_qos_class",
        Experimental,
        &["qos_class"],
        "Quality of service: 1 for the pod's class, 0 for the others.",
        |pod, out| {
            if !pod.status.qos_class.is_empty() {
                out.states(&["BestEffort", "Burstable", "Guaranteed"], &pod.status.qos_class);
            }
        },
    ),
    Family::gauge(
        "kube_pod_status_ready",
        Stable,
        &["condition"],
        "Whether the pod can serve requests: 1 for the condition's status, 0 for the others.",
        |pod, out| condition_status(pod, "Ready", out),
    ),
    Family::gauge(
        "kube_pod_status_ready_time",
        Experimental,
        &[],
        "When the pod became ready, in seconds since the Unix epoch; only while it is.",
        |pod, out| transition_time(pod, "Ready", "True", out),
    ),
    Family::gauge(
        "kube_pod_status_initialized_time",
        Experimental,
        &[],
        "When the pod's init containers were done, in seconds since the Unix epoch.",
        |pod, out| transition_time(pod, "Initialized", "True", out),
    ),
    Family::gauge(
        "kube_pod_status_container_ready_time",
        Experimental,
        &[],
        "When all containers of the pod became ready, in seconds since the Unix epoch; only while they are.",
        |pod, out| transition_time(pod, "ContainersReady", "True", out),
    ),
    Family::gauge(
        "kube_pod_status_reason",
        Experimental,
        &["reason"],
        "Why the pod is in its state, as told by its status, its conditions or its terminated containers; always 1.",
        reasons,
    ),
    Family::gauge(
        "kube_pod_status_disruption_reason",
        Experimental,
        &["reason"],
        "Why the pod is being taken off its node; always 1.",
        disruption_reasons,
    ),
    Family::gauge(
        "kube_pod_status_scheduled",
        Stable,
        &["condition"],
        "Whether the pod has been given a node: 1 for the condition's status, 0 for the others.",
        |pod, out| condition_status(pod, "PodScheduled", out),
    ),
    Family::gauge(
        "kube_pod_status_scheduled_time",
        Stable,
        &[],
        "When the pod was given a node, in seconds since the Unix epoch.",
        |pod, out| transition_time(pod, "PodScheduled", "True", out),
    ),
    Family::gauge(
        "kube_pod_status_unschedulable",
        Stable,
        &[],
        "The pod could not be given a node; always 1, and only while that is so.",
        |pod, out| {
            if conditions(pod, "PodScheduled").any(|condition| condition.status == "False") {
                out.value(1);
            }
        },
    ),
    Family::gauge(
        "kube_pod_status_unscheduled_time",
        Experimental,
        &[],
        "Since when the pod could not be given a node, in seconds since the Unix epoch; only while that is so.",
        |pod, out| transition_time(pod, "PodScheduled", "False", out),
    ),
];

/// Reasons that `kube_pod_status_reason` tells apart.
const REASONS: &[&str] = &[
    "Evicted",
    "NodeAffinity",
    "NodeLost",
    "PreemptionByScheduler",
    "SchedulingGated",
    "Shutdown",
    "TerminationByKubelet",
    "UnexpectedAdmissionError",
];

/// Reasons of the condition `DisruptionTarget`
/// (<https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions>).
const DISRUPTION_REASONS: &[&str] = &[
    "PreemptionByScheduler",
    "DeletionByTaintManager",
    "EvictionByEvictionAPI",
    "DeletionByPodGC",
    "TerminationByKubelet",
];

/// What stands for a reason outside the known ones, so that their number stays bounded.
const OTHER: &str = "Other";

/// Times up to the epoch count as not set.
fn completion_time(pod: &Pod) -> Option<i64> {
    let terminated = pod.status.container_statuses.iter().filter_map(|status| status.state.terminated.as_ref());
    terminated.filter_map(|terminated| terminated.finished_at.unix_seconds()).max().filter(|&seconds| seconds > 0)
}

/// The conditions of that type: one, unless somebody wrote more.
fn conditions<'a>(pod: &'a Pod, kind: &str) -> impl Iterator<Item = &'a PodCondition> {
    pod.status.conditions.iter().filter(move |condition| condition.kind == kind)
}

fn condition_status(pod: &Pod, kind: &str, out: &mut Samples<'_>) {
    for condition in conditions(pod, kind) {
        for (status, holds) in condition_statuses(&condition.status) {
            out.sample(&[status], holds);
        }
    }
}

/// When the condition took on its present status, if that is `status`.
fn transition_time(pod: &Pod, kind: &str, status: &str, out: &mut Samples<'_>) {
    for condition in conditions(pod, kind).filter(|condition| condition.status == status) {
        out.time(Some(&condition.last_transition_time));
    }
}

/// Known reasons from wherever a pod states one; an unknown reason counts only from the status itself.
fn reasons(pod: &Pod, out: &mut Samples<'_>) {
    let status = &pod.status;
    for &reason in REASONS {
        if status.reason == reason
            || status.conditions.iter().any(|condition| condition.reason == reason)
            || status.container_statuses.iter().any(|container| {
                container.state.terminated.as_ref().is_some_and(|terminated| terminated.reason == reason)
            })
        {
            out.sample(&[reason], 1);
        }
    }
    if !status.reason.is_empty() && !REASONS.contains(&status.reason.as_str()) {
        out.sample(&[OTHER], 1);
    }
}

/// The condition counts whatever its status.
fn disruption_reasons(pod: &Pod, out: &mut Samples<'_>) {
    for condition in conditions(pod, "DisruptionTarget") {
        let reason = condition.reason.as_str();
        out.sample(&[if DISRUPTION_REASONS.contains(&reason) { reason } else { OTHER }], 1);
    }
}

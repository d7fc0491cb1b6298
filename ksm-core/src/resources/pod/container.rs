//! Containers of a pod: images, resources, states. Init containers are told of in the same way by [`init_container`].
//!
//! States come from the statuses alone, resources from the spec alone; only the info family needs both.
//!
//! [`init_container`]: super::init_container

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::view::{Container, ContainerState, ContainerStatus, Pod};
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples, sanitize};
use crate::resources::quantities::{self, Unit};
use crate::view::{Quantity, Time};

pub(super) const FAMILIES: &[Family<Pod>] = &[
    Family::gauge(
        "kube_pod_container_info",
        Stable,
        &["container", "image_spec", "image", "image_id", "container_id"],
        "Image asked for and image run of each container that has a status, with its id in the runtime; always 1.",
        info,
    ),
    Family::gauge(
        "kube_pod_container_resource_limits",
        Stable,
        &["container", "node", "resource", "unit"],
        "Most of a compute resource that the container may use, in the unit of the label.",
        |pod, out| limits(pod, &pod.spec.containers, out),
    ),
    Family::gauge(
        "kube_pod_container_resource_requests",
        Stable,
        &["container", "node", "resource", "unit"],
        "Compute resource set aside for the container, in the unit of the label.",
        |pod, out| requests(pod, &pod.spec.containers, out),
    ),
    Family::gauge(
        "kube_pod_container_state_started",
        Stable,
        &["container"],
        "When the container that runs, or has ended, was started, in seconds since the Unix epoch.",
        |pod, out| state_started(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_last_terminated_reason",
        Experimental,
        &["container", "reason"],
        "Why the container ended before its present state; always 1.",
        |pod, out| last_terminated_reason(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_last_terminated_exitcode",
        Experimental,
        &["container"],
        "Exit code the container ended with before its present state.",
        |pod, out| last_terminated_exitcode(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_last_terminated_timestamp",
        Experimental,
        &["container"],
        "When the container ended before its present state, in seconds since the Unix epoch.",
        |pod, out| last_terminated_timestamp(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_ready",
        Stable,
        &["container"],
        "Whether the container passes its readiness check.",
        |pod, out| ready(&pod.status.container_statuses, out),
    ),
    Family::counter(
        "kube_pod_container_status_restarts_total",
        Stable,
        &["container"],
        "How often the container was started again.",
        |pod, out| restarts(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_running",
        Stable,
        &["container"],
        "Whether the container runs.",
        |pod, out| running(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_terminated",
        Stable,
        &["container"],
        "Whether the container has ended.",
        |pod, out| terminated(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_terminated_reason",
        Experimental,
        &["container", "reason"],
        "Why the container has ended; always 1.",
        |pod, out| terminated_reason(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_waiting",
        Stable,
        &["container"],
        "Whether the container waits to be started.",
        |pod, out| waiting(&pod.status.container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_container_status_waiting_reason",
        Stable,
        &["container", "reason"],
        "Why the container waits to be started; always 1.",
        |pod, out| waiting_reason(&pod.status.container_statuses, out),
    ),
];

fn info(pod: &Pod, out: &mut Samples<'_>) {
    with_status(&pod.spec.containers, &pod.status.container_statuses, out, |container, status, out| {
        out.sample(&[&container.name, &container.image, &status.image, &status.image_id, &status.container_id], 1);
    });
}

/// Calls `each` for every container and its status, in the order of the spec; a container that has none yet is left out.
pub(super) fn with_status(
    containers: &[Container],
    statuses: &[ContainerStatus],
    out: &mut Samples<'_>,
    each: impl Fn(&Container, &ContainerStatus, &mut Samples<'_>),
) {
    let mut by_name: Vec<_> = statuses.iter().collect();
    by_name.sort_by_key(|status| status.name.as_str());
    for container in containers {
        let start = by_name.partition_point(|status| status.name < container.name);
        for status in by_name[start..].iter().take_while(|status| status.name == container.name) {
            if out.is_full() {
                return;
            }
            each(container, status, out);
        }
    }
}

pub(super) fn limits(pod: &Pod, containers: &[Container], out: &mut Samples<'_>) {
    for container in containers {
        resources(pod, container, &container.resources.limits, out);
    }
}

pub(super) fn requests(pod: &Pod, containers: &[Container], out: &mut Samples<'_>) {
    for container in containers {
        resources(pod, container, &container.resources.requests, out);
    }
}

/// Cores are rounded up to a thousandth, all else to a whole unit.
fn resources(pod: &Pod, container: &Container, amounts: &BTreeMap<String, Quantity>, out: &mut Samples<'_>) {
    for (name, amount) in amounts {
        for unit in quantities::units(name) {
            let value = if unit == Unit::Core { amount.thousandths() } else { amount.whole() };
            if let Some(value) = value {
                out.sample(&[&container.name, &pod.spec.node_name, &label_safe(name), unit.word()], value);
            }
        }
    }
}

/// The name sanitised; `cpu` and `memory`, by far the most common, are borrowed as they are.
fn label_safe(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) { name.into() } else { sanitize(name).into() }
}

/// A start that the kubelet does not know (zero) has no sample.
pub(super) fn state_started(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        if let Some(seconds) = started_at(&status.state).and_then(Time::unix_seconds) {
            out.sample(&[&status.name], seconds);
        }
    }
}

fn started_at(state: &ContainerState) -> Option<&Time> {
    match (&state.running, &state.terminated) {
        (Some(running), _) => Some(&running.started_at),
        (None, Some(terminated)) => Some(&terminated.started_at),
        (None, None) => None,
    }
}

pub(super) fn last_terminated_reason(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        if let Some(terminated) = &status.last_state.terminated {
            out.sample(&[&status.name, &terminated.reason], 1);
        }
    }
}

pub(super) fn last_terminated_exitcode(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        if let Some(terminated) = &status.last_state.terminated {
            out.sample(&[&status.name], terminated.exit_code);
        }
    }
}

/// An end that the kubelet does not know (zero, as after the loss of a container) has no sample.
pub(super) fn last_terminated_timestamp(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        let finished_at = status.last_state.terminated.as_ref().and_then(|state| state.finished_at.unix_seconds());
        if let Some(seconds) = finished_at {
            out.sample(&[&status.name], seconds);
        }
    }
}

pub(super) fn ready(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        out.sample(&[&status.name], status.ready);
    }
}

pub(super) fn restarts(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        out.sample(&[&status.name], status.restart_count);
    }
}

pub(super) fn running(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        out.sample(&[&status.name], status.state.running.is_some());
    }
}

pub(super) fn terminated(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        out.sample(&[&status.name], status.state.terminated.is_some());
    }
}

pub(super) fn terminated_reason(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        if let Some(terminated) = &status.state.terminated {
            out.sample(&[&status.name, &terminated.reason], 1);
        }
    }
}

pub(super) fn waiting(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        out.sample(&[&status.name], status.state.waiting.is_some());
    }
}

pub(super) fn waiting_reason(statuses: &[ContainerStatus], out: &mut Samples<'_>) {
    for status in statuses {
        if let Some(waiting) = &status.state.waiting {
            out.sample(&[&status.name, &waiting.reason], 1);
        }
    }
}

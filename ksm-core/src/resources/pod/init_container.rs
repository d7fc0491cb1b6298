//! Init containers of a pod: the families of its containers once more, written by the same code.
//!
//! Only the info family has more to tell: the restart policy, which makes an init container a sidecar.

use super::container::{
    last_terminated_exitcode, last_terminated_reason, last_terminated_timestamp, limits, ready, requests, restarts,
    running, state_started, terminated, terminated_reason, waiting, waiting_reason, with_status,
};
use super::view::Pod;
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples};

pub(super) const FAMILIES: &[Family<Pod>] = &[
    Family::gauge(
        "kube_pod_init_container_info",
        Stable,
        &["container", "image_spec", "image", "image_id", "container_id", "restart_policy"],
        "Image asked for and image run of each init container that has a status, with its id in the runtime; always 1.",
        info,
    ),
    Family::gauge(
        "kube_pod_init_container_resource_limits",
        Experimental,
        &["container", "node", "resource", "unit"],
        "Most of a compute resource that the init container may use, in the unit of the label.",
        |pod, out| limits(pod, &pod.spec.init_containers, out),
    ),
    Family::gauge(
        "kube_pod_init_container_resource_requests",
        Experimental,
        &["container", "node", "resource", "unit"],
        "Compute resource set aside for the init container, in the unit of the label.",
        |pod, out| requests(pod, &pod.spec.init_containers, out),
    ),
    Family::gauge(
        "kube_pod_init_container_state_started",
        Experimental,
        &["container"],
        "When the init container that runs, or has ended, was started, in seconds since the Unix epoch.",
        |pod, out| state_started(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_last_terminated_reason",
        Experimental,
        &["container", "reason"],
        "Why the init container ended before its present state; always 1.",
        |pod, out| last_terminated_reason(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_last_terminated_exitcode",
        Experimental,
        &["container"],
        "Exit code the init container ended with before its present state.",
        |pod, out| last_terminated_exitcode(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_last_terminated_timestamp",
        Experimental,
        &["container"],
        "When the init container ended before its present state, in seconds since the Unix epoch.",
        |pod, out| last_terminated_timestamp(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_ready",
        Stable,
        &["container"],
        "Whether the init container passes its readiness check.",
        |pod, out| ready(&pod.status.init_container_statuses, out),
    ),
    Family::counter(
        "kube_pod_init_container_status_restarts_total",
        Stable,
        &["container"],
        "How often the init container was started again.",
        |pod, out| restarts(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_running",
        Stable,
        &["container"],
        "Whether the init container runs.",
        |pod, out| running(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_terminated",
        Stable,
        &["container"],
        "Whether the init container has ended.",
        |pod, out| terminated(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_terminated_reason",
        Experimental,
        &["container", "reason"],
        "Why the init container has ended; always 1.",
        |pod, out| terminated_reason(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_waiting",
        Stable,
        &["container"],
        "Whether the init container waits to be started.",
        |pod, out| waiting(&pod.status.init_container_statuses, out),
    ),
    Family::gauge(
        "kube_pod_init_container_status_waiting_reason",
        Experimental,
        &["container", "reason"],
        "Why the init container waits to be started; always 1.",
        |pod, out| waiting_reason(&pod.status.init_container_statuses, out),
    ),
];

fn info(pod: &Pod, out: &mut Samples<'_>) {
    with_status(&pod.spec.init_containers, &pod.status.init_container_statuses, out, |container, status, out| {
        let restart_policy = container.restart_policy.as_deref().unwrap_or_default();
        out.sample(
            &[&container.name, &container.image, &status.image, &status.image_id, &status.container_id, restart_policy],
            1,
        );
    });
}

//! Jobs (`batch/v1`): families `kube_job_*`. Decodes metadata, limits, pod counts, times and conditions.
//!
//! Counts mirror the API; the verdict on a Job is left to the condition families
//! (<https://github.com/kubernetes/kube-state-metrics/issues/2642>).

use serde::Deserialize;

use super::common;
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples, condition_statuses};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta, Time};

pub(crate) static RESOURCE: Resource<Job> = Resource {
    descriptor: Descriptor {
        plural: "jobs",
        group: "batch",
        version: "v1",
        kind: "Job",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("job_name")],
    families: FAMILIES,
};

const FAMILIES: &[Family<Job>] = &[
    common::annotations("kube_job_annotations", Experimental),
    common::labels("kube_job_labels", Stable),
    common::exists("kube_job_info", Stable),
    common::created("kube_job_created", Stable),
    Family::gauge("kube_job_spec_parallelism", Stable, &[], "Pods that the Job may run at a time.", |job, out| {
        out.optional(job.spec.parallelism);
    }),
    Family::gauge(
        "kube_job_spec_completions",
        Stable,
        &[],
        "Pods that must succeed for the Job to be complete.",
        |job, out| out.optional(job.spec.completions),
    ),
    Family::gauge(
        "kube_job_spec_active_deadline_seconds",
        Stable,
        &[],
        "Seconds after its start at which the Job is stopped if it still runs.",
        |job, out| out.optional(job.spec.active_deadline_seconds),
    ),
    Family::gauge("kube_job_status_succeeded", Stable, &[], "Pods of the Job that succeeded.", |job, out| {
        out.value(job.status.succeeded);
    }),
    Family::gauge(
        "kube_job_status_failed",
        Stable,
        &["reason"],
        "Failures of the Job: without failed pods 0 and no reason; 1 for the reason it failed for, 0 for the other known \
         ones; failed pods under an empty reason while none of these holds.",
        failures,
    ),
    Family::gauge(
        "kube_job_status_active",
        Stable,
        &[],
        "Pods of the Job that are pending or running and not terminating.",
        |job, out| out.value(job.status.active),
    ),
    Family::gauge("kube_job_status_ready", Experimental, &[], "Pods of the Job that are ready.", |job, out| {
        out.value(job.status.ready.unwrap_or(0));
    }),
    Family::gauge(
        "kube_job_complete",
        Stable,
        &["condition"],
        "Whether the Job has completed: 1 for the status that its condition Complete has, 0 for the others.",
        |job, out| condition(job, COMPLETE, out),
    ),
    Family::gauge(
        "kube_job_failed",
        Stable,
        &["condition"],
        "Whether the Job has failed: 1 for the status that its condition Failed has, 0 for the others.",
        |job, out| condition(job, FAILED, out),
    ),
    Family::gauge(
        "kube_job_status_start_time",
        Stable,
        &[],
        "When the controller first took up the Job or resumed it, in seconds since the Unix epoch.",
        |job, out| out.time(job.status.start_time.as_ref()),
    ),
    Family::gauge(
        "kube_job_status_completion_time",
        Stable,
        &[],
        "When the Job completed, in seconds since the Unix epoch; only for one that succeeded.",
        |job, out| out.time(job.status.completion_time.as_ref()),
    ),
    Family::gauge(
        "kube_job_status_suspended",
        Experimental,
        &[],
        "Whether the Job is suspended, for one that has the condition Suspended.",
        |job, out| {
            for condition in job.status.conditions.iter().filter(|condition| condition.r#type == SUSPENDED) {
                out.value(condition.status == "True");
            }
        },
    ),
    common::owner("kube_job_owner", Stable),
];

/// View of a Job.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Job {
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
    #[prost(int32, optional, tag = "1")]
    parallelism: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    completions: Option<i32>,
    #[prost(int64, optional, tag = "3")]
    active_deadline_seconds: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(message, repeated, tag = "1")]
    conditions: Vec<Condition>,
    #[prost(message, optional, tag = "2")]
    start_time: Option<Time>,
    #[prost(message, optional, tag = "3")]
    completion_time: Option<Time>,
    #[prost(int32, tag = "4")]
    active: i32,
    #[prost(int32, tag = "5")]
    succeeded: i32,
    #[prost(int32, tag = "6")]
    failed: i32,
    #[prost(int32, optional, tag = "9")]
    ready: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condition {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(string, tag = "5")]
    reason: String,
}

impl Object for Job {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

const COMPLETE: &str = "Complete";
const FAILED: &str = "Failed";
const SUSPENDED: &str = "Suspended";

/// Reasons of the condition `Failed` that have a sample of their own.
const FAILURE_REASONS: &[&str] = &["BackoffLimitExceeded", "DeadlineExceeded", "Evicted"];

/// The condition may be missing long after pods have failed, and its reason may be one not known here; no failed pod
/// goes unseen either way (<https://github.com/kubernetes/kube-state-metrics/issues/2443>).
fn failures(job: &Job, out: &mut Samples<'_>) {
    if job.status.failed == 0 {
        // The reason is left out, not empty: so has this family always been.
        out.labelled([], 0);
        return;
    }
    let mut reason_known = false;
    for condition in job.status.conditions.iter().filter(|condition| condition.r#type == FAILED) {
        reason_known |= FAILURE_REASONS.contains(&condition.reason.as_str());
        out.states(FAILURE_REASONS, &condition.reason);
    }
    if !reason_known {
        out.sample(&[""], job.status.failed);
    }
}

fn condition(job: &Job, r#type: &str, out: &mut Samples<'_>) {
    for condition in job.status.conditions.iter().filter(|condition| condition.r#type == r#type) {
        for (status, holds) in condition_statuses(&condition.status) {
            out.sample(&[status], holds);
        }
    }
}

#[cfg(test)]
mod tests;

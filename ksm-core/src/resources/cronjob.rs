//! CronJobs (`batch/v1`): families `kube_cronjob_*`. Decodes metadata, schedule, limits, and how many Jobs run.

use serde::Deserialize;

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta, Time};
use schedule::Schedule;

mod schedule;

pub(crate) static RESOURCE: Resource<CronJob> = Resource {
    descriptor: Descriptor {
        plural: "cronjobs",
        group: "batch",
        version: "v1",
        kind: "CronJob",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("cronjob")],
    families: FAMILIES,
};

const FAMILIES: &[Family<CronJob>] = &[
    common::annotations("kube_cronjob_annotations", Experimental),
    common::labels("kube_cronjob_labels", Stable),
    Family::gauge(
        "kube_cronjob_info",
        Stable,
        &["schedule", "concurrency_policy", "timezone"],
        "Schedule of the CronJob as written, what is done when runs overlap, and the time zone, local if none is set; \
         always 1.",
        |cronjob, out| {
            let spec = &cronjob.spec;
            let time_zone = spec.time_zone.as_deref().unwrap_or("local");
            out.sample(&[&spec.schedule, &spec.concurrency_policy, time_zone], 1);
        },
    ),
    common::created("kube_cronjob_created", Stable),
    Family::gauge(
        "kube_cronjob_status_active",
        Stable,
        &[],
        "Jobs of the CronJob that are running.",
        |cronjob, out| {
            out.value(cronjob.status.active.len());
        },
    ),
    Family::gauge(
        "kube_cronjob_status_last_schedule_time",
        Stable,
        &[],
        "When a Job was last made on schedule, in seconds since the Unix epoch.",
        |cronjob, out| out.time(cronjob.status.last_schedule_time.as_ref()),
    ),
    Family::gauge(
        "kube_cronjob_status_last_successful_time",
        Stable,
        &[],
        "When a Job of the CronJob last succeeded, in seconds since the Unix epoch.",
        |cronjob, out| out.time(cronjob.status.last_successful_time.as_ref()),
    ),
    Family::gauge(
        "kube_cronjob_spec_suspend",
        Stable,
        &[],
        "Whether the CronJob makes no more Jobs.",
        |cronjob, out| {
            out.value(cronjob.is_suspended());
        },
    ),
    Family::gauge(
        "kube_cronjob_spec_starting_deadline_seconds",
        Stable,
        &[],
        "Seconds after its time at which a run that could not start is given up.",
        |cronjob, out| out.optional(cronjob.spec.starting_deadline_seconds),
    ),
    Family::gauge(
        "kube_cronjob_next_schedule_time",
        Stable,
        &[],
        "When the CronJob is due after its last scheduled run, or after its creation if there was none, in seconds since \
         the Unix epoch; a time in the past means that a run is late. Only for one that is not suspended.",
        |cronjob, out| out.optional(cronjob.next_run()),
    ),
    Family::gauge(
        "kube_cronjob_schedule_invalid",
        Experimental,
        &[],
        "That the schedule, or its time zone, cannot be read; always 1.",
        |cronjob, out| {
            if cronjob.schedule().is_none() {
                out.value(1);
            }
        },
    ),
    common::resource_version("kube_cronjob_metadata_resource_version", Stable),
    Family::gauge(
        "kube_cronjob_spec_successful_job_history_limit",
        Experimental,
        &[],
        "How many Jobs that succeeded are kept.",
        |cronjob, out| out.optional(cronjob.spec.successful_jobs_history_limit),
    ),
    Family::gauge(
        "kube_cronjob_spec_failed_job_history_limit",
        Experimental,
        &[],
        "How many Jobs that failed are kept.",
        |cronjob, out| out.optional(cronjob.spec.failed_jobs_history_limit),
    ),
];

/// View of a CronJob.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CronJob {
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
    #[prost(string, tag = "1")]
    schedule: String,
    #[prost(int64, optional, tag = "2")]
    starting_deadline_seconds: Option<i64>,
    #[prost(string, tag = "3")]
    concurrency_policy: String,
    #[prost(bool, optional, tag = "4")]
    suspend: Option<bool>,
    #[prost(int32, optional, tag = "6")]
    successful_jobs_history_limit: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    failed_jobs_history_limit: Option<i32>,
    #[prost(string, optional, tag = "8")]
    time_zone: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(message, repeated, tag = "1")]
    active: Vec<ActiveJob>,
    #[prost(message, optional, tag = "4")]
    last_schedule_time: Option<Time>,
    #[prost(message, optional, tag = "5")]
    last_successful_time: Option<Time>,
}

/// Only how many there are matters.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct ActiveJob {}

impl Object for CronJob {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl CronJob {
    fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    fn schedule(&self) -> Option<Schedule> {
        Schedule::parse(&self.spec.schedule, self.spec.time_zone.as_deref())
    }

    fn next_run(&self) -> Option<i64> {
        if self.is_suspended() {
            return None;
        }
        let last = self.status.last_schedule_time.as_ref().and_then(Time::unix_seconds);
        let created = || self.metadata.creation_timestamp.as_ref().and_then(Time::unix_seconds);
        self.schedule()?.next_after(last.or_else(created)?)
    }
}

#[cfg(test)]
mod tests;

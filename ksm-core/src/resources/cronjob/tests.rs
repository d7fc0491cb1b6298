//! CronJob families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{Options, check, check_with, everything, only};

fn next() -> Options {
    only(&["kube_cronjob_info", "kube_cronjob_spec_suspend", "kube_cronjob_next", "kube_cronjob_schedule_invalid"])
}

#[test]
fn every_family_of_a_full_cronjob_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: nightly
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app: report}
  annotations: {note: n}
spec:
  schedule: '30 1 * * *'
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  suspend: false
  startingDeadlineSeconds: 300
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 1
  jobTemplate: {}
status:
  active:
  - {apiVersion: batch/v1, kind: Job, namespace: ns, name: nightly-1}
  - {apiVersion: batch/v1, kind: Job, namespace: ns, name: nightly-2}
  lastScheduleTime: 2026-03-13T00:30:00Z
  lastSuccessfulTime: 2026-03-13T00:31:05Z
",
        expect![[r#"
            kube_cronjob_annotations{namespace="ns",cronjob="nightly",annotation_note="n"} 1
            kube_cronjob_labels{namespace="ns",cronjob="nightly",label_app="report"} 1
            kube_cronjob_info{namespace="ns",cronjob="nightly",schedule="30 1 * * *",concurrency_policy="Forbid",timezone="Europe/Berlin"} 1
            kube_cronjob_created{namespace="ns",cronjob="nightly"} 1.7733456e+09
            kube_cronjob_status_active{namespace="ns",cronjob="nightly"} 2
            kube_cronjob_status_last_schedule_time{namespace="ns",cronjob="nightly"} 1.7733618e+09
            kube_cronjob_status_last_successful_time{namespace="ns",cronjob="nightly"} 1.773361865e+09
            kube_cronjob_spec_suspend{namespace="ns",cronjob="nightly"} 0
            kube_cronjob_spec_starting_deadline_seconds{namespace="ns",cronjob="nightly"} 300
            kube_cronjob_next_schedule_time{namespace="ns",cronjob="nightly"} 1.7734482e+09
            kube_cronjob_metadata_resource_version{namespace="ns",cronjob="nightly"} 10596
            kube_cronjob_spec_successful_job_history_limit{namespace="ns",cronjob="nightly"} 3
            kube_cronjob_spec_failed_job_history_limit{namespace="ns",cronjob="nightly"} 1
        "#]],
    );
}

#[test]
fn what_is_not_set_gives_no_sample() {
    // R05, https://github.com/kubernetes/kube-state-metrics/issues/1057
    check(
        &RESOURCE,
        "{metadata: {namespace: ns, name: bare}, spec: {schedule: '@hourly'}}",
        expect![[r#"
            kube_cronjob_info{namespace="ns",cronjob="bare",schedule="@hourly",concurrency_policy="",timezone="local"} 1
            kube_cronjob_status_active{namespace="ns",cronjob="bare"} 0
            kube_cronjob_spec_suspend{namespace="ns",cronjob="bare"} 0
        "#]],
    );
}

#[test]
fn a_limit_of_zero_is_exported() {
    check_with(
        &RESOURCE,
        &only(&["kube_cronjob_spec_starting", "kube_cronjob_spec_successful", "kube_cronjob_spec_failed"]),
        "
metadata: {namespace: ns, name: zero}
spec: {schedule: '@hourly', startingDeadlineSeconds: 0, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0}
",
        expect![[r#"
            kube_cronjob_spec_starting_deadline_seconds{namespace="ns",cronjob="zero"} 0
            kube_cronjob_spec_successful_job_history_limit{namespace="ns",cronjob="zero"} 0
            kube_cronjob_spec_failed_job_history_limit{namespace="ns",cronjob="zero"} 0
        "#]],
    );
}

#[test]
fn an_omitted_suspend_is_false_and_a_suspended_cronjob_has_no_next_run() {
    // R05
    check_with(
        &RESOURCE,
        &next(),
        "
metadata: {namespace: team-a, name: plain, creationTimestamp: 2026-03-12T20:00:00Z}
spec: {schedule: 0 1 * * *}
",
        expect![[r#"
            kube_cronjob_info{namespace="team-a",cronjob="plain",schedule="0 1 * * *",concurrency_policy="",timezone="local"} 1
            kube_cronjob_spec_suspend{namespace="team-a",cronjob="plain"} 0
            kube_cronjob_next_schedule_time{namespace="team-a",cronjob="plain"} 1.7733636e+09
        "#]],
    );
    check_with(
        &RESOURCE,
        &next(),
        "
metadata: {namespace: team-a, name: paused, creationTimestamp: 2026-03-12T20:00:00Z}
spec: {schedule: 0 1 * * *, suspend: true}
",
        expect![[r#"
            kube_cronjob_info{namespace="team-a",cronjob="paused",schedule="0 1 * * *",concurrency_policy="",timezone="local"} 1
            kube_cronjob_spec_suspend{namespace="team-a",cronjob="paused"} 1
        "#]],
    );
}

#[test]
fn the_next_run_is_computed_in_the_time_zone_of_the_cronjob() {
    // R04, https://github.com/kubernetes/kube-state-metrics/issues/2206
    check_with(
        &RESOURCE,
        &next(),
        "
metadata: {namespace: team-a, name: nightly, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: 0 4 * * 1-5, timeZone: Asia/Singapore}
status: {lastScheduleTime: 2026-03-12T20:00:00Z}
",
        expect![[r#"
            kube_cronjob_info{namespace="team-a",cronjob="nightly",schedule="0 4 * * 1-5",concurrency_policy="",timezone="Asia/Singapore"} 1
            kube_cronjob_spec_suspend{namespace="team-a",cronjob="nightly"} 0
            kube_cronjob_next_schedule_time{namespace="team-a",cronjob="nightly"} 1.7736048e+09
        "#]],
    );
    check_with(
        &RESOURCE,
        &next(),
        "
metadata: {namespace: team-a, name: summer, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: 0 2 * * *, timeZone: Europe/London}
status: {lastScheduleTime: 2026-07-01T01:00:00Z}
",
        expect![[r#"
            kube_cronjob_info{namespace="team-a",cronjob="summer",schedule="0 2 * * *",concurrency_policy="",timezone="Europe/London"} 1
            kube_cronjob_spec_suspend{namespace="team-a",cronjob="summer"} 0
            kube_cronjob_next_schedule_time{namespace="team-a",cronjob="summer"} 1.782954e+09
        "#]],
    );
}

#[test]
fn a_time_zone_that_is_not_known_makes_the_schedule_invalid() {
    // R04, https://github.com/kubernetes/kube-state-metrics/issues/2898
    check_with(
        &RESOURCE,
        &next(),
        "
metadata: {namespace: team-a, name: mars, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: 0 2 * * *, timeZone: Mars/Base}
",
        expect![[r#"
            kube_cronjob_info{namespace="team-a",cronjob="mars",schedule="0 2 * * *",concurrency_policy="",timezone="Mars/Base"} 1
            kube_cronjob_spec_suspend{namespace="team-a",cronjob="mars"} 0
            kube_cronjob_schedule_invalid{namespace="team-a",cronjob="mars"} 1
        "#]],
    );
}

#[test]
fn an_empty_time_zone_makes_the_schedule_invalid() {
    check_with(
        &RESOURCE,
        &next(),
        "
metadata: {namespace: ns, name: empty, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: 0 2 * * *, timeZone: ''}
",
        expect![[r#"
            kube_cronjob_info{namespace="ns",cronjob="empty",schedule="0 2 * * *",concurrency_policy="",timezone=""} 1
            kube_cronjob_spec_suspend{namespace="ns",cronjob="empty"} 0
            kube_cronjob_schedule_invalid{namespace="ns",cronjob="empty"} 1
        "#]],
    );
}

#[test]
fn a_suspended_cronjob_still_shows_that_its_schedule_is_invalid() {
    check_with(
        &RESOURCE,
        &next(),
        "
metadata: {namespace: ns, name: broken, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: '@reboot', suspend: true}
",
        expect![[r#"
            kube_cronjob_info{namespace="ns",cronjob="broken",schedule="@reboot",concurrency_policy="",timezone="local"} 1
            kube_cronjob_spec_suspend{namespace="ns",cronjob="broken"} 1
            kube_cronjob_schedule_invalid{namespace="ns",cronjob="broken"} 1
        "#]],
    );
}

#[test]
fn a_schedule_that_never_comes_is_valid_and_has_no_next_run() {
    check_with(
        &RESOURCE,
        &next(),
        "
metadata: {namespace: ns, name: never, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: 0 0 30 2 *}
",
        expect![[r#"
            kube_cronjob_info{namespace="ns",cronjob="never",schedule="0 0 30 2 *",concurrency_policy="",timezone="local"} 1
            kube_cronjob_spec_suspend{namespace="ns",cronjob="never"} 0
        "#]],
    );
}

#[test]
fn a_day_of_the_month_and_a_day_of_the_week_are_alternatives() {
    // Whichever comes first: Friday 2 January, not Friday 13 February.
    check_with(
        &RESOURCE,
        &only(&["kube_cronjob_next"]),
        "
metadata: {namespace: ns, name: either, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: 0 0 13 * 5}
",
        expect![[r#"
            kube_cronjob_next_schedule_time{namespace="ns",cronjob="either"} 1.767312e+09
        "#]],
    );
}

#[test]
fn zero_times_count_as_unset_and_the_epoch_is_a_time() {
    let times = only(&["kube_cronjob_status_last", "kube_cronjob_next"]);
    check_with(
        &RESOURCE,
        &times,
        "
metadata: {namespace: ns, name: zero, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: '@daily'}
status: {lastScheduleTime: 0001-01-01T00:00:00Z, lastSuccessfulTime: 0001-01-01T00:00:00Z}
",
        expect![[r#"
            kube_cronjob_next_schedule_time{namespace="ns",cronjob="zero"} 1.767312e+09
        "#]],
    );
    check_with(
        &RESOURCE,
        &times,
        "
metadata: {namespace: ns, name: epoch, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {schedule: '@daily'}
status: {lastScheduleTime: 1970-01-01T00:00:00Z, lastSuccessfulTime: 1970-01-01T00:00:00Z}
",
        expect![[r#"
            kube_cronjob_status_last_schedule_time{namespace="ns",cronjob="epoch"} 0
            kube_cronjob_status_last_successful_time{namespace="ns",cronjob="epoch"} 0
            kube_cronjob_next_schedule_time{namespace="ns",cronjob="epoch"} 86400
        "#]],
    );
}

#[test]
fn a_cronjob_that_was_never_created_has_no_next_run() {
    check_with(
        &RESOURCE,
        &next(),
        "{metadata: {namespace: ns, name: unborn}, spec: {schedule: 0 0 * * *}}",
        expect![[r#"
            kube_cronjob_info{namespace="ns",cronjob="unborn",schedule="0 0 * * *",concurrency_policy="",timezone="local"} 1
            kube_cronjob_spec_suspend{namespace="ns",cronjob="unborn"} 0
        "#]],
    );
}

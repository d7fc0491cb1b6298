//! Job families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{Options, check, check_with, everything, only};

fn verdict() -> Options {
    only(&["kube_job_status_succeeded", "kube_job_status_failed", "kube_job_complete", "kube_job_failed"])
}

#[test]
fn every_family_of_a_full_job_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: report
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {app: report}
  annotations: {note: n}
  ownerReferences:
  - {apiVersion: batch/v1, kind: CronJob, name: nightly, uid: o, controller: true}
spec: {parallelism: 2, completions: 4, activeDeadlineSeconds: 900, backoffLimit: 3}
status:
  active: 2
  ready: 1
  succeeded: 3
  failed: 1
  startTime: 2026-03-12T20:00:01Z
  completionTime: 2026-03-12T20:02:00Z
  conditions:
  - {type: Suspended, status: 'False', reason: JobResumed}
  - {type: Complete, status: 'True'}
  - {type: Failed, status: Unknown, reason: Evicted}
",
        expect![[r#"
            kube_job_annotations{namespace="ns",job_name="report",annotation_note="n"} 1
            kube_job_labels{namespace="ns",job_name="report",label_app="report"} 1
            kube_job_info{namespace="ns",job_name="report"} 1
            kube_job_created{namespace="ns",job_name="report"} 1.7733456e+09
            kube_job_spec_parallelism{namespace="ns",job_name="report"} 2
            kube_job_spec_completions{namespace="ns",job_name="report"} 4
            kube_job_spec_active_deadline_seconds{namespace="ns",job_name="report"} 900
            kube_job_status_succeeded{namespace="ns",job_name="report"} 3
            kube_job_status_failed{namespace="ns",job_name="report",reason="BackoffLimitExceeded"} 0
            kube_job_status_failed{namespace="ns",job_name="report",reason="DeadlineExceeded"} 0
            kube_job_status_failed{namespace="ns",job_name="report",reason="Evicted"} 1
            kube_job_status_active{namespace="ns",job_name="report"} 2
            kube_job_status_ready{namespace="ns",job_name="report"} 1
            kube_job_complete{namespace="ns",job_name="report",condition="true"} 1
            kube_job_complete{namespace="ns",job_name="report",condition="false"} 0
            kube_job_complete{namespace="ns",job_name="report",condition="unknown"} 0
            kube_job_failed{namespace="ns",job_name="report",condition="true"} 0
            kube_job_failed{namespace="ns",job_name="report",condition="false"} 0
            kube_job_failed{namespace="ns",job_name="report",condition="unknown"} 1
            kube_job_status_start_time{namespace="ns",job_name="report"} 1.773345601e+09
            kube_job_status_completion_time{namespace="ns",job_name="report"} 1.77334572e+09
            kube_job_status_suspended{namespace="ns",job_name="report"} 0
            kube_job_owner{namespace="ns",job_name="report",owner_kind="CronJob",owner_name="nightly",owner_is_controller="true"} 1
        "#]],
    );
}

#[test]
fn missing_counters_are_zero_and_unset_fields_give_no_sample() {
    // R01 and R05, https://github.com/kubernetes/kube-state-metrics/issues/1324
    check(
        &RESOURCE,
        "metadata: {namespace: team-a, name: report-new}",
        expect![[r#"
        kube_job_info{namespace="team-a",job_name="report-new"} 1
        kube_job_status_succeeded{namespace="team-a",job_name="report-new"} 0
        kube_job_status_failed{namespace="team-a",job_name="report-new"} 0
        kube_job_status_active{namespace="team-a",job_name="report-new"} 0
        kube_job_status_ready{namespace="team-a",job_name="report-new"} 0
        kube_job_owner{namespace="team-a",job_name="report-new",owner_kind="",owner_name="",owner_is_controller=""} 1
    "#]],
    );
}

#[test]
fn failed_pods_are_exported_before_there_is_a_condition() {
    // R01, https://github.com/kubernetes/kube-state-metrics/issues/2443
    check_with(
        &RESOURCE,
        &verdict(),
        "{metadata: {namespace: team-a, name: report-retry}, status: {failed: 1}}",
        expect![[r#"
            kube_job_status_succeeded{namespace="team-a",job_name="report-retry"} 0
            kube_job_status_failed{namespace="team-a",job_name="report-retry",reason=""} 1
        "#]],
    );
}

#[test]
fn a_known_reason_is_marked() {
    // R01
    check_with(
        &RESOURCE,
        &verdict(),
        "
metadata: {namespace: team-a, name: report-dead}
status: {failed: 3, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}
",
        expect![[r#"
            kube_job_status_succeeded{namespace="team-a",job_name="report-dead"} 0
            kube_job_status_failed{namespace="team-a",job_name="report-dead",reason="BackoffLimitExceeded"} 1
            kube_job_status_failed{namespace="team-a",job_name="report-dead",reason="DeadlineExceeded"} 0
            kube_job_status_failed{namespace="team-a",job_name="report-dead",reason="Evicted"} 0
            kube_job_failed{namespace="team-a",job_name="report-dead",condition="true"} 1
            kube_job_failed{namespace="team-a",job_name="report-dead",condition="false"} 0
            kube_job_failed{namespace="team-a",job_name="report-dead",condition="unknown"} 0
        "#]],
    );
}

#[test]
fn an_unknown_reason_is_exported_as_empty() {
    // R01
    check_with(
        &RESOURCE,
        &verdict(),
        "
metadata: {namespace: team-a, name: report-pol}
status: {failed: 1, conditions: [{type: Failed, status: 'True', reason: PodFailurePolicy}]}
",
        expect![[r#"
            kube_job_status_succeeded{namespace="team-a",job_name="report-pol"} 0
            kube_job_status_failed{namespace="team-a",job_name="report-pol",reason="BackoffLimitExceeded"} 0
            kube_job_status_failed{namespace="team-a",job_name="report-pol",reason="DeadlineExceeded"} 0
            kube_job_status_failed{namespace="team-a",job_name="report-pol",reason="Evicted"} 0
            kube_job_status_failed{namespace="team-a",job_name="report-pol",reason=""} 1
            kube_job_failed{namespace="team-a",job_name="report-pol",condition="true"} 1
            kube_job_failed{namespace="team-a",job_name="report-pol",condition="false"} 0
            kube_job_failed{namespace="team-a",job_name="report-pol",condition="unknown"} 0
        "#]],
    );
}

#[test]
fn a_job_that_succeeded_after_a_failure_shows_both_counts() {
    // R02, https://github.com/kubernetes/kube-state-metrics/issues/2642
    check_with(
        &RESOURCE,
        &verdict(),
        "
metadata: {namespace: team-a, name: flaky}
status:
  succeeded: 1
  failed: 1
  conditions:
  - {type: SuccessCriteriaMet, status: 'True'}
  - {type: Complete, status: 'True'}
",
        expect![[r#"
            kube_job_status_succeeded{namespace="team-a",job_name="flaky"} 1
            kube_job_status_failed{namespace="team-a",job_name="flaky",reason=""} 1
            kube_job_complete{namespace="team-a",job_name="flaky",condition="true"} 1
            kube_job_complete{namespace="team-a",job_name="flaky",condition="false"} 0
            kube_job_complete{namespace="team-a",job_name="flaky",condition="unknown"} 0
        "#]],
    );
}

#[test]
fn repeated_conditions_are_exported_once_and_the_first_wins() {
    check_with(
        &RESOURCE,
        &only(&["kube_job_status_failed", "kube_job_complete", "kube_job_failed", "kube_job_status_suspended"]),
        "
metadata: {namespace: ns, name: twice}
status:
  failed: 2
  conditions:
  - {type: Complete, status: 'False'}
  - {type: Complete, status: 'True'}
  - {type: Failed, status: 'True', reason: DeadlineExceeded}
  - {type: Failed, status: Unknown, reason: Evicted}
  - {type: Suspended, status: 'True'}
  - {type: Suspended, status: 'False'}
",
        expect![[r#"
            kube_job_status_failed{namespace="ns",job_name="twice",reason="BackoffLimitExceeded"} 0
            kube_job_status_failed{namespace="ns",job_name="twice",reason="DeadlineExceeded"} 1
            kube_job_status_failed{namespace="ns",job_name="twice",reason="Evicted"} 0
            kube_job_complete{namespace="ns",job_name="twice",condition="true"} 0
            kube_job_complete{namespace="ns",job_name="twice",condition="false"} 1
            kube_job_complete{namespace="ns",job_name="twice",condition="unknown"} 0
            kube_job_failed{namespace="ns",job_name="twice",condition="true"} 1
            kube_job_failed{namespace="ns",job_name="twice",condition="false"} 0
            kube_job_failed{namespace="ns",job_name="twice",condition="unknown"} 0
            kube_job_status_suspended{namespace="ns",job_name="twice"} 1
        "#]],
    );
}

#[test]
fn zero_times_give_no_sample_and_the_epoch_is_a_time() {
    check_with(
        &RESOURCE,
        &only(&["kube_job_status_start_time", "kube_job_status_completion_time"]),
        "
metadata: {namespace: ns, name: old}
status: {startTime: 1970-01-01T00:00:00Z, completionTime: 0001-01-01T00:00:00Z}
",
        expect![[r#"
            kube_job_status_start_time{namespace="ns",job_name="old"} 0
        "#]],
    );
}

#[test]
fn an_owner_without_the_controller_flag_is_no_controller() {
    // R09, https://github.com/kubernetes/kube-state-metrics/issues/1923
    check_with(
        &RESOURCE,
        &only(&["kube_job_owner"]),
        "
metadata:
  namespace: ns
  name: owned
  ownerReferences:
  - {apiVersion: example.test/v1, kind: Widget, name: w1, uid: o1}
  - {apiVersion: example.test/v1, kind: Widget, name: w2, uid: o2, controller: true}
",
        expect![[r#"
            kube_job_owner{namespace="ns",job_name="owned",owner_kind="Widget",owner_name="w1",owner_is_controller="false"} 1
            kube_job_owner{namespace="ns",job_name="owned",owner_kind="Widget",owner_name="w2",owner_is_controller="true"} 1
        "#]],
    );
}

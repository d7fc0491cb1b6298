//! Phase, QoS class, conditions with their times, reasons.

use expect_test::expect;

use crate::resources::pod::RESOURCE;
use crate::resources::testing::{check_with, only};

#[test]
fn a_pod_is_complete_when_its_last_container_ended() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_completion_time"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  containerStatuses:
  - {name: a, state: {terminated: {finishedAt: '2026-03-12T20:00:00Z'}}}
  - {name: b, state: {terminated: {finishedAt: '2026-03-12T20:00:02Z'}}}
  - {name: c, state: {terminated: {finishedAt: '2026-03-12T20:00:01Z'}}}
  - {name: d, state: {running: {startedAt: '2026-03-12T21:00:00Z'}}}
  - {name: e, state: {terminated: {}}}
  initContainerStatuses:
  - {name: f, state: {terminated: {finishedAt: '2026-03-12T22:00:00Z'}}}
",
        expect![[r#"
            kube_pod_completion_time{namespace="ns",pod="p",uid="u"} 1.773345602e+09
        "#]],
    );
}

#[test]
fn an_end_at_the_epoch_or_before_is_no_completion() {
    for finished_at in ["null", "'1970-01-01T00:00:00Z'", "'1969-12-31T23:59:59Z'"] {
        let yaml = format!(
            "
metadata: {{namespace: ns, name: p, uid: u}}
status: {{containerStatuses: [{{name: a, state: {{terminated: {{finishedAt: {finished_at}}}}}}}]}}
"
        );
        check_with(&RESOURCE, &only(&["kube_pod_completion_time"]), &yaml, expect![[""]]);
    }
}

#[test]
fn phase_and_class_are_one_sample_a_known_value() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status_phase", "kube_pod_status_qos_class", "kube_pod_start_time"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status: {phase: Failed, qosClass: Guaranteed, startTime: '2026-03-12T20:00:00Z'}
",
        expect![[r#"
            kube_pod_start_time{namespace="ns",pod="p",uid="u"} 1.7733456e+09
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Pending"} 0
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Succeeded"} 0
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Failed"} 1
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Unknown"} 0
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Running"} 0
            kube_pod_status_qos_class{namespace="ns",pod="p",uid="u",qos_class="BestEffort"} 0
            kube_pod_status_qos_class{namespace="ns",pod="p",uid="u",qos_class="Burstable"} 0
            kube_pod_status_qos_class{namespace="ns",pod="p",uid="u",qos_class="Guaranteed"} 1
        "#]],
    );
}

#[test]
fn an_unknown_phase_or_class_leaves_all_known_ones_at_zero() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status_phase", "kube_pod_status_qos_class"]),
        "{metadata: {namespace: ns, name: p, uid: u}, status: {phase: Sleeping, qosClass: burstable}}",
        expect![[r#"
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Pending"} 0
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Succeeded"} 0
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Failed"} 0
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Unknown"} 0
            kube_pod_status_phase{namespace="ns",pod="p",uid="u",phase="Running"} 0
            kube_pod_status_qos_class{namespace="ns",pod="p",uid="u",qos_class="BestEffort"} 0
            kube_pod_status_qos_class{namespace="ns",pod="p",uid="u",qos_class="Burstable"} 0
            kube_pod_status_qos_class{namespace="ns",pod="p",uid="u",qos_class="Guaranteed"} 0
        "#]],
    );
}

#[test]
fn conditions_that_hold_have_their_status_and_time() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  conditions:
  - {type: Ready, status: 'True', lastTransitionTime: '2026-03-12T20:00:01Z'}
  - {type: Initialized, status: 'True', lastTransitionTime: '2026-03-12T20:00:02Z'}
  - {type: ContainersReady, status: 'True', lastTransitionTime: '2026-03-12T20:00:03Z'}
  - {type: PodScheduled, status: 'True', lastTransitionTime: '2026-03-12T20:00:04Z'}
",
        expect![[r#"
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="true"} 1
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="false"} 0
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="unknown"} 0
            kube_pod_status_ready_time{namespace="ns",pod="p",uid="u"} 1.773345601e+09
            kube_pod_status_initialized_time{namespace="ns",pod="p",uid="u"} 1.773345602e+09
            kube_pod_status_container_ready_time{namespace="ns",pod="p",uid="u"} 1.773345603e+09
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="true"} 1
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="false"} 0
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="unknown"} 0
            kube_pod_status_scheduled_time{namespace="ns",pod="p",uid="u"} 1.773345604e+09
        "#]],
    );
}

#[test]
fn conditions_that_do_not_hold_have_no_time_but_the_scheduling_one() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  conditions:
  - {type: Ready, status: 'False', lastTransitionTime: '2026-03-12T20:00:01Z'}
  - {type: Initialized, status: 'False', lastTransitionTime: '2026-03-12T20:00:02Z'}
  - {type: ContainersReady, status: Unknown, lastTransitionTime: '2026-03-12T20:00:03Z'}
  - {type: PodScheduled, status: 'False', lastTransitionTime: '2026-03-12T20:00:04Z'}
",
        expect![[r#"
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="true"} 0
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="false"} 1
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="unknown"} 0
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="true"} 0
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="false"} 1
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="unknown"} 0
            kube_pod_status_unschedulable{namespace="ns",pod="p",uid="u"} 1
            kube_pod_status_unscheduled_time{namespace="ns",pod="p",uid="u"} 1.773345604e+09
        "#]],
    );
}

#[test]
fn an_unknown_status_word_leaves_all_known_ones_at_zero() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status: {conditions: [{type: Ready, status: Perhaps}, {type: PodScheduled, status: Unknown}]}
",
        expect![[r#"
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="true"} 0
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="false"} 0
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="unknown"} 0
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="true"} 0
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="false"} 0
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="unknown"} 1
        "#]],
    );
}

#[test]
fn a_condition_without_a_time_has_no_time_sample() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: null}, {type: PodScheduled, status: 'False'}]}
",
        expect![[r#"
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="true"} 1
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="false"} 0
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="unknown"} 0
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="true"} 0
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="false"} 1
            kube_pod_status_scheduled{namespace="ns",pod="p",uid="u",condition="unknown"} 0
            kube_pod_status_unschedulable{namespace="ns",pod="p",uid="u"} 1
        "#]],
    );
}

#[test]
fn the_first_of_two_conditions_of_one_type_counts() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status_ready"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  conditions:
  - {type: Ready, status: 'True', lastTransitionTime: '2026-03-12T20:00:01Z'}
  - {type: Ready, status: 'True', lastTransitionTime: '2026-03-12T20:00:02Z'}
  - {type: Ready, status: 'False'}
",
        expect![[r#"
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="true"} 1
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="false"} 0
            kube_pod_status_ready{namespace="ns",pod="p",uid="u",condition="unknown"} 0
            kube_pod_status_ready_time{namespace="ns",pod="p",uid="u"} 1.773345601e+09
        "#]],
    );
}

#[test]
fn known_reasons_are_found_in_status_conditions_and_terminated_containers() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status_reason"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  reason: Evicted
  conditions:
  - {type: PodScheduled, status: 'False', reason: SchedulingGated}
  - {type: Ready, status: 'False', reason: ContainersNotReady}
  containerStatuses:
  - {name: a, state: {terminated: {reason: Shutdown}}}
  - {name: b, state: {terminated: {reason: Error}}, lastState: {terminated: {reason: NodeLost}}}
  - {name: c, state: {waiting: {reason: NodeAffinity}}}
  initContainerStatuses:
  - {name: d, state: {terminated: {reason: UnexpectedAdmissionError}}}
",
        expect![[r#"
            kube_pod_status_reason{namespace="ns",pod="p",uid="u",reason="Evicted"} 1
            kube_pod_status_reason{namespace="ns",pod="p",uid="u",reason="SchedulingGated"} 1
            kube_pod_status_reason{namespace="ns",pod="p",uid="u",reason="Shutdown"} 1
        "#]],
    );
}

#[test]
fn an_unknown_reason_is_other_and_only_from_the_status_itself() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status_reason"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status: {reason: OutOfcpu, conditions: [{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}]}
",
        expect![[r#"
            kube_pod_status_reason{namespace="ns",pod="p",uid="u",reason="PreemptionByScheduler"} 1
            kube_pod_status_reason{namespace="ns",pod="p",uid="u",reason="Other"} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status_reason"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status: {conditions: [{type: Ready, status: 'False', reason: PodCompleted}]}
",
        expect![[""]],
    );
}

#[test]
fn disruptions_have_a_known_reason_or_other_whatever_the_status() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_status_disruption_reason"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  conditions:
  - {type: DisruptionTarget, status: 'True', reason: DeletionByTaintManager}
  - {type: DisruptionTarget, status: 'False', reason: EvictionByEvictionAPI}
  - {type: DisruptionTarget, status: 'True', reason: Whim}
  - {type: DisruptionTarget, status: 'True'}
  - {type: DisruptionTarget, status: 'True', reason: DeletionByTaintManager}
  - {type: Ready, status: 'False', reason: DeletionByPodGC}
",
        expect![[r#"
            kube_pod_status_disruption_reason{namespace="ns",pod="p",uid="u",reason="DeletionByTaintManager"} 1
            kube_pod_status_disruption_reason{namespace="ns",pod="p",uid="u",reason="EvictionByEvictionAPI"} 1
            kube_pod_status_disruption_reason{namespace="ns",pod="p",uid="u",reason="Other"} 1
        "#]],
    );
}

//! Namespace families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{Options, check, check_with, everything};

#[test]
fn phase_times_and_copied_keys_are_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: team-a
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {kubernetes.io/metadata.name: team-a}
  annotations: {note: n}
status: {phase: Active}
",
        expect![[r#"
            kube_namespace_created{namespace="team-a"} 1.7733456e+09
            kube_namespace_annotations{namespace="team-a",annotation_note="n"} 1
            kube_namespace_labels{namespace="team-a",label_kubernetes_io_metadata_name="team-a"} 1
            kube_namespace_status_phase{namespace="team-a",phase="Active"} 1
            kube_namespace_status_phase{namespace="team-a",phase="Terminating"} 0
        "#]],
    );
}

#[test]
fn each_condition_has_a_sample_for_each_status() {
    check(
        &RESOURCE,
        "
metadata: {name: team-a}
status:
  phase: Terminating
  conditions:
  - {type: NamespaceDeletionDiscoveryFailure, status: 'True'}
  - {type: NamespaceContentRemaining, status: 'False'}
  - {type: NamespaceFinalizersRemaining, status: Unknown}
  - {type: Other, status: Sometimes}
",
        expect![[r#"
            kube_namespace_status_phase{namespace="team-a",phase="Active"} 0
            kube_namespace_status_phase{namespace="team-a",phase="Terminating"} 1
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceDeletionDiscoveryFailure",status="true"} 1
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceDeletionDiscoveryFailure",status="false"} 0
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceDeletionDiscoveryFailure",status="unknown"} 0
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceContentRemaining",status="true"} 0
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceContentRemaining",status="false"} 1
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceContentRemaining",status="unknown"} 0
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceFinalizersRemaining",status="true"} 0
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceFinalizersRemaining",status="false"} 0
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceFinalizersRemaining",status="unknown"} 1
            kube_namespace_status_condition{namespace="team-a",condition="Other",status="true"} 0
            kube_namespace_status_condition{namespace="team-a",condition="Other",status="false"} 0
            kube_namespace_status_condition{namespace="team-a",condition="Other",status="unknown"} 0
        "#]],
    );
}

#[test]
fn an_unknown_phase_is_neither_of_the_known_ones() {
    check(
        &RESOURCE,
        "{metadata: {name: team-a}, status: {phase: Dreaming}}",
        expect![[r#"
        kube_namespace_status_phase{namespace="team-a",phase="Active"} 0
        kube_namespace_status_phase{namespace="team-a",phase="Terminating"} 0
    "#]],
    );
    check(
        &RESOURCE,
        "metadata: {name: team-a}",
        expect![[r#"
        kube_namespace_status_phase{namespace="team-a",phase="Active"} 0
        kube_namespace_status_phase{namespace="team-a",phase="Terminating"} 0
    "#]],
    );
}

#[test]
fn repeated_conditions_are_exported_once_and_the_first_wins() {
    check(
        &RESOURCE,
        "
metadata: {name: team-a}
status:
  phase: Active
  conditions:
  - {type: NamespaceContentRemaining, status: 'True'}
  - {type: NamespaceContentRemaining, status: 'False'}
",
        expect![[r#"
            kube_namespace_status_phase{namespace="team-a",phase="Active"} 1
            kube_namespace_status_phase{namespace="team-a",phase="Terminating"} 0
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceContentRemaining",status="true"} 1
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceContentRemaining",status="false"} 0
            kube_namespace_status_condition{namespace="team-a",condition="NamespaceContentRemaining",status="unknown"} 0
        "#]],
    );
}

#[test]
fn labels_that_collide_are_numbered_past_names_in_use() {
    // R14, https://github.com/kubernetes/kube-state-metrics/issues/3064
    check_with(
        &RESOURCE,
        &Options { only: &["kube_namespace_labels"], ..everything() },
        "metadata: {name: team-c, labels: {Team.id.conflict1: v0, team-id: v1, team.id: v2}}",
        expect![[r#"
            kube_namespace_labels{namespace="team-c",label_team_id_conflict1="v0",label_team_id_conflict2="v1",label_team_id_conflict3="v2"} 1
        "#]],
    );
}

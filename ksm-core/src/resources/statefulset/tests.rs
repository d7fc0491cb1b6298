//! StatefulSet families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_statefulset_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: db
  generation: 3
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: db}
  annotations: {note: n}
spec:
  replicas: 6
  serviceName: db
  ordinals: {start: 2}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
status:
  observedGeneration: 2
  replicas: 7
  readyReplicas: 5
  currentReplicas: 4
  updatedReplicas: 3
  availableReplicas: 1
  currentRevision: db-1
  updateRevision: db-2
",
        expect![[r#"
            kube_statefulset_created{namespace="ns",statefulset="db"} 1.7733456e+09
            kube_statefulset_status_replicas{namespace="ns",statefulset="db"} 7
            kube_statefulset_status_replicas_available{namespace="ns",statefulset="db"} 1
            kube_statefulset_status_replicas_current{namespace="ns",statefulset="db"} 4
            kube_statefulset_status_replicas_ready{namespace="ns",statefulset="db"} 5
            kube_statefulset_status_replicas_updated{namespace="ns",statefulset="db"} 3
            kube_statefulset_status_observed_generation{namespace="ns",statefulset="db"} 2
            kube_statefulset_replicas{namespace="ns",statefulset="db"} 6
            kube_statefulset_ordinals_start{namespace="ns",statefulset="db"} 2
            kube_statefulset_metadata_generation{namespace="ns",statefulset="db"} 3
            kube_statefulset_persistentvolumeclaim_retention_policy{namespace="ns",statefulset="db",when_deleted="Delete",when_scaled="Retain"} 1
            kube_statefulset_annotations{namespace="ns",statefulset="db",annotation_note="n"} 1
            kube_statefulset_labels{namespace="ns",statefulset="db",label_app="db"} 1
            kube_statefulset_status_current_revision{namespace="ns",statefulset="db",revision="db-1"} 1
            kube_statefulset_status_update_revision{namespace="ns",statefulset="db",revision="db-2"} 1
            kube_statefulset_deletion_timestamp{namespace="ns",statefulset="db"} 1.77334566e+09
        "#]],
    );
}

#[test]
fn missing_counters_are_zero_and_unset_replicas_give_no_sample() {
    // R05, https://github.com/kubernetes/kube-state-metrics/issues/1057
    check(
        &RESOURCE,
        "{metadata: {namespace: team-a, name: db}, status: {replicas: 2, readyReplicas: 2}}",
        expect![[r#"
            kube_statefulset_status_replicas{namespace="team-a",statefulset="db"} 2
            kube_statefulset_status_replicas_available{namespace="team-a",statefulset="db"} 0
            kube_statefulset_status_replicas_current{namespace="team-a",statefulset="db"} 0
            kube_statefulset_status_replicas_ready{namespace="team-a",statefulset="db"} 2
            kube_statefulset_status_replicas_updated{namespace="team-a",statefulset="db"} 0
            kube_statefulset_status_observed_generation{namespace="team-a",statefulset="db"} 0
            kube_statefulset_metadata_generation{namespace="team-a",statefulset="db"} 0
            kube_statefulset_status_current_revision{namespace="team-a",statefulset="db",revision=""} 1
            kube_statefulset_status_update_revision{namespace="team-a",statefulset="db",revision=""} 1
        "#]],
    );
}

#[test]
fn an_empty_retention_policy_gives_no_sample_and_half_of_one_does() {
    let retention = only(&["kube_statefulset_persistentvolumeclaim_retention_policy"]);
    check_with(
        &RESOURCE,
        &retention,
        "{metadata: {namespace: ns, name: db}, spec: {persistentVolumeClaimRetentionPolicy: {}}}",
        expect![[r#""#]],
    );
    check_with(
        &RESOURCE,
        &retention,
        "{metadata: {namespace: ns, name: db}, spec: {persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}}}",
        expect![[r#"
            kube_statefulset_persistentvolumeclaim_retention_policy{namespace="ns",statefulset="db",when_deleted="",when_scaled="Delete"} 1
        "#]],
    );
}

#[test]
fn ordinals_without_a_start_begin_at_zero() {
    check_with(
        &RESOURCE,
        &only(&["kube_statefulset_ordinals_start"]),
        "{metadata: {namespace: ns, name: db}, spec: {ordinals: {}}}",
        expect![[r#"
            kube_statefulset_ordinals_start{namespace="ns",statefulset="db"} 0
        "#]],
    );
}

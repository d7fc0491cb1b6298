//! ReplicaSet families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_replicaset_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: web-1
  generation: 14
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {app: web}
  annotations: {note: n}
  ownerReferences:
  - {apiVersion: apps/v1, kind: Deployment, name: web, uid: o, controller: true}
spec: {replicas: 5}
status:
  replicas: 6
  fullyLabeledReplicas: 10
  readyReplicas: 4
  availableReplicas: 3
  terminatingReplicas: 2
  observedGeneration: 13
",
        expect![[r#"
            kube_replicaset_created{namespace="ns",replicaset="web-1"} 1.7733456e+09
            kube_replicaset_status_replicas{namespace="ns",replicaset="web-1"} 6
            kube_replicaset_status_fully_labeled_replicas{namespace="ns",replicaset="web-1"} 10
            kube_replicaset_status_ready_replicas{namespace="ns",replicaset="web-1"} 4
            kube_replicaset_status_terminating_replicas{namespace="ns",replicaset="web-1"} 2
            kube_replicaset_status_observed_generation{namespace="ns",replicaset="web-1"} 13
            kube_replicaset_spec_replicas{namespace="ns",replicaset="web-1"} 5
            kube_replicaset_metadata_generation{namespace="ns",replicaset="web-1"} 14
            kube_replicaset_owner{namespace="ns",replicaset="web-1",owner_kind="Deployment",owner_name="web",owner_is_controller="true"} 1
            kube_replicaset_annotations{namespace="ns",replicaset="web-1",annotation_note="n"} 1
            kube_replicaset_labels{namespace="ns",replicaset="web-1",label_app="web"} 1
        "#]],
    );
}

#[test]
fn missing_counters_are_zero_and_unset_fields_give_no_sample() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: web-1}",
        expect![[r#"
        kube_replicaset_status_replicas{namespace="ns",replicaset="web-1"} 0
        kube_replicaset_status_fully_labeled_replicas{namespace="ns",replicaset="web-1"} 0
        kube_replicaset_status_ready_replicas{namespace="ns",replicaset="web-1"} 0
        kube_replicaset_status_observed_generation{namespace="ns",replicaset="web-1"} 0
        kube_replicaset_metadata_generation{namespace="ns",replicaset="web-1"} 0
        kube_replicaset_owner{namespace="ns",replicaset="web-1",owner_kind="",owner_name="",owner_is_controller=""} 1
    "#]],
    );
}

#[test]
fn optional_fields_of_zero_are_exported() {
    check_with(
        &RESOURCE,
        &only(&["kube_replicaset_spec_replicas", "kube_replicaset_status_terminating"]),
        "{metadata: {namespace: ns, name: web-1}, spec: {replicas: 0}, status: {terminatingReplicas: 0}}",
        expect![[r#"
            kube_replicaset_status_terminating_replicas{namespace="ns",replicaset="web-1"} 0
            kube_replicaset_spec_replicas{namespace="ns",replicaset="web-1"} 0
        "#]],
    );
}

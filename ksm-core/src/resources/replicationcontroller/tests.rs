//! ReplicationController families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_controller_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: web
  generation: 3
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {app: web}
  annotations: {note: n}
  ownerReferences:
  - {apiVersion: apps.example.test/v1, kind: DeploymentConfig, name: web, uid: u, controller: true}
spec: {replicas: 6, minReadySeconds: 1}
status: {replicas: 5, fullyLabeledReplicas: 4, readyReplicas: 3, availableReplicas: 2, observedGeneration: 1}
",
        expect![[r#"
            kube_replicationcontroller_created{namespace="ns",replicationcontroller="web"} 1.7733456e+09
            kube_replicationcontroller_status_replicas{namespace="ns",replicationcontroller="web"} 5
            kube_replicationcontroller_status_fully_labeled_replicas{namespace="ns",replicationcontroller="web"} 4
            kube_replicationcontroller_status_ready_replicas{namespace="ns",replicationcontroller="web"} 3
            kube_replicationcontroller_status_available_replicas{namespace="ns",replicationcontroller="web"} 2
            kube_replicationcontroller_status_observed_generation{namespace="ns",replicationcontroller="web"} 1
            kube_replicationcontroller_spec_replicas{namespace="ns",replicationcontroller="web"} 6
            kube_replicationcontroller_metadata_generation{namespace="ns",replicationcontroller="web"} 3
            kube_replicationcontroller_owner{namespace="ns",replicationcontroller="web",owner_kind="DeploymentConfig",owner_name="web",owner_is_controller="true"} 1
        "#]],
    );
}

#[test]
fn missing_counters_are_zero_and_unset_replicas_give_no_sample() {
    // R05, https://github.com/kubernetes/kube-state-metrics/issues/1057
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: web}",
        expect![[r#"
        kube_replicationcontroller_status_replicas{namespace="ns",replicationcontroller="web"} 0
        kube_replicationcontroller_status_fully_labeled_replicas{namespace="ns",replicationcontroller="web"} 0
        kube_replicationcontroller_status_ready_replicas{namespace="ns",replicationcontroller="web"} 0
        kube_replicationcontroller_status_available_replicas{namespace="ns",replicationcontroller="web"} 0
        kube_replicationcontroller_status_observed_generation{namespace="ns",replicationcontroller="web"} 0
        kube_replicationcontroller_metadata_generation{namespace="ns",replicationcontroller="web"} 0
        kube_replicationcontroller_owner{namespace="ns",replicationcontroller="web",owner_kind="",owner_name="",owner_is_controller=""} 1
    "#]],
    );
}

#[test]
fn an_owner_without_the_controller_flag_is_no_controller() {
    // R09, https://github.com/kubernetes/kube-state-metrics/issues/1923
    check_with(
        &RESOURCE,
        &only(&["kube_replicationcontroller_owner", "kube_replicationcontroller_spec"]),
        "
metadata:
  namespace: ns
  name: web
  ownerReferences:
  - {apiVersion: example.test/v1, kind: Widget, name: w1, uid: o1}
  - {apiVersion: example.test/v1, kind: Widget, name: w2, uid: o2, controller: false}
spec: {replicas: 0}
",
        expect![[r#"
            kube_replicationcontroller_spec_replicas{namespace="ns",replicationcontroller="web"} 0
            kube_replicationcontroller_owner{namespace="ns",replicationcontroller="web",owner_kind="Widget",owner_name="w1",owner_is_controller="false"} 1
            kube_replicationcontroller_owner{namespace="ns",replicationcontroller="web",owner_kind="Widget",owner_name="w2",owner_is_controller="false"} 1
        "#]],
    );
}

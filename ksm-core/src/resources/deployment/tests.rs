//! Deployment families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{Options, check, check_with, everything, only};

fn rolling_update() -> Options {
    only(&["kube_deployment_spec_replicas", "kube_deployment_spec_strategy_rollingupdate"])
}

#[test]
fn every_family_of_a_full_deployment_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: web
  generation: 21
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: web}
  annotations: {note: n}
  ownerReferences:
  - {apiVersion: example.test/v1, kind: App, name: shop, uid: o, controller: true}
spec:
  replicas: 200
  paused: true
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 10, maxSurge: 20}
status:
  observedGeneration: 20
  replicas: 15
  updatedReplicas: 2
  readyReplicas: 12
  availableReplicas: 10
  unavailableReplicas: 5
  terminatingReplicas: 3
  conditions:
  - {type: Available, status: 'True', reason: MinimumReplicasAvailable}
  - {type: Progressing, status: 'False'}
",
        expect![[r#"
            kube_deployment_owner{namespace="ns",deployment="web",owner_kind="App",owner_name="shop"} 1
            kube_deployment_created{namespace="ns",deployment="web"} 1.7733456e+09
            kube_deployment_status_replicas{namespace="ns",deployment="web"} 15
            kube_deployment_status_replicas_ready{namespace="ns",deployment="web"} 12
            kube_deployment_status_replicas_available{namespace="ns",deployment="web"} 10
            kube_deployment_status_replicas_unavailable{namespace="ns",deployment="web"} 5
            kube_deployment_status_replicas_updated{namespace="ns",deployment="web"} 2
            kube_deployment_status_terminating_replicas{namespace="ns",deployment="web"} 3
            kube_deployment_status_observed_generation{namespace="ns",deployment="web"} 20
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="MinimumReplicasAvailable",condition="Available",status="true"} 1
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="MinimumReplicasAvailable",condition="Available",status="false"} 0
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="MinimumReplicasAvailable",condition="Available",status="unknown"} 0
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="",condition="Progressing",status="true"} 0
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="",condition="Progressing",status="false"} 1
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="",condition="Progressing",status="unknown"} 0
            kube_deployment_spec_replicas{namespace="ns",deployment="web"} 200
            kube_deployment_spec_paused{namespace="ns",deployment="web"} 1
            kube_deployment_spec_strategy_rollingupdate_max_unavailable{namespace="ns",deployment="web"} 10
            kube_deployment_spec_strategy_rollingupdate_max_surge{namespace="ns",deployment="web"} 20
            kube_deployment_metadata_generation{namespace="ns",deployment="web"} 21
            kube_deployment_deletion_timestamp{namespace="ns",deployment="web"} 1.77334566e+09
            kube_deployment_annotations{namespace="ns",deployment="web",annotation_note="n"} 1
            kube_deployment_labels{namespace="ns",deployment="web",label_app="web"} 1
        "#]],
    );
}

#[test]
fn missing_counters_are_zero_and_unset_fields_give_no_sample() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: web}",
        expect![[r#"
        kube_deployment_owner{namespace="ns",deployment="web",owner_kind="",owner_name=""} 1
        kube_deployment_status_replicas{namespace="ns",deployment="web"} 0
        kube_deployment_status_replicas_ready{namespace="ns",deployment="web"} 0
        kube_deployment_status_replicas_available{namespace="ns",deployment="web"} 0
        kube_deployment_status_replicas_unavailable{namespace="ns",deployment="web"} 0
        kube_deployment_status_replicas_updated{namespace="ns",deployment="web"} 0
        kube_deployment_status_observed_generation{namespace="ns",deployment="web"} 0
        kube_deployment_spec_paused{namespace="ns",deployment="web"} 0
        kube_deployment_metadata_generation{namespace="ns",deployment="web"} 0
    "#]],
    );
}

#[test]
fn unavailable_percentages_round_down_and_surge_percentages_up() {
    // R06, https://github.com/kubernetes/kube-state-metrics/issues/2971
    check_with(
        &RESOURCE,
        &rolling_update(),
        "
metadata: {namespace: ns, name: a}
spec: {replicas: 10, strategy: {rollingUpdate: {maxUnavailable: 25%, maxSurge: 25%}}}
",
        expect![[r#"
            kube_deployment_spec_replicas{namespace="ns",deployment="a"} 10
            kube_deployment_spec_strategy_rollingupdate_max_unavailable{namespace="ns",deployment="a"} 2
            kube_deployment_spec_strategy_rollingupdate_max_surge{namespace="ns",deployment="a"} 3
        "#]],
    );
}

#[test]
fn rolling_update_numbers_need_all_they_depend_on() {
    // R06, https://github.com/kubernetes/kube-state-metrics/issues/3083
    check(
        &RESOURCE,
        "{metadata: {namespace: ns, name: b}, spec: {replicas: 3, strategy: {rollingUpdate: {}}}}",
        expect![[r#"
            kube_deployment_owner{namespace="ns",deployment="b",owner_kind="",owner_name=""} 1
            kube_deployment_status_replicas{namespace="ns",deployment="b"} 0
            kube_deployment_status_replicas_ready{namespace="ns",deployment="b"} 0
            kube_deployment_status_replicas_available{namespace="ns",deployment="b"} 0
            kube_deployment_status_replicas_unavailable{namespace="ns",deployment="b"} 0
            kube_deployment_status_replicas_updated{namespace="ns",deployment="b"} 0
            kube_deployment_status_observed_generation{namespace="ns",deployment="b"} 0
            kube_deployment_spec_replicas{namespace="ns",deployment="b"} 3
            kube_deployment_spec_paused{namespace="ns",deployment="b"} 0
            kube_deployment_metadata_generation{namespace="ns",deployment="b"} 0
        "#]],
    );
    check_with(
        &RESOURCE,
        &rolling_update(),
        "{metadata: {namespace: ns, name: c}, spec: {strategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 1}}}}",
        expect![[r#""#]],
    );
    check_with(
        &RESOURCE,
        &rolling_update(),
        "
metadata: {namespace: ns, name: d}
spec: {replicas: 4, strategy: {rollingUpdate: {maxUnavailable: 50%, maxSurge: abc%}}}
",
        expect![[r#"
            kube_deployment_spec_replicas{namespace="ns",deployment="d"} 4
            kube_deployment_spec_strategy_rollingupdate_max_unavailable{namespace="ns",deployment="d"} 2
        "#]],
    );
}

#[test]
fn optional_fields_of_zero_are_exported() {
    check_with(
        &RESOURCE,
        &only(&["kube_deployment_spec_", "kube_deployment_status_terminating_replicas"]),
        "
metadata: {namespace: ns, name: web}
spec: {replicas: 0, strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 100%}}}
status: {terminatingReplicas: 0}
",
        expect![[r#"
            kube_deployment_status_terminating_replicas{namespace="ns",deployment="web"} 0
            kube_deployment_spec_replicas{namespace="ns",deployment="web"} 0
            kube_deployment_spec_paused{namespace="ns",deployment="web"} 0
            kube_deployment_spec_strategy_rollingupdate_max_unavailable{namespace="ns",deployment="web"} 0
            kube_deployment_spec_strategy_rollingupdate_max_surge{namespace="ns",deployment="web"} 0
        "#]],
    );
}

#[test]
fn reasons_that_are_not_known_are_exported_as_unknown() {
    check_with(
        &RESOURCE,
        &only(&["kube_deployment_status_condition"]),
        "
metadata: {namespace: ns, name: web}
status:
  conditions:
  - {type: Progressing, status: Unknown, reason: ReplicaSetCreateError}
  - {type: ReplicaFailure, status: 'True', reason: FailedCreate}
",
        expect![[r#"
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="ReplicaSetCreateError",condition="Progressing",status="true"} 0
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="ReplicaSetCreateError",condition="Progressing",status="false"} 0
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="ReplicaSetCreateError",condition="Progressing",status="unknown"} 1
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="unknown",condition="ReplicaFailure",status="true"} 1
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="unknown",condition="ReplicaFailure",status="false"} 0
            kube_deployment_status_condition{namespace="ns",deployment="web",reason="unknown",condition="ReplicaFailure",status="unknown"} 0
        "#]],
    );
}

#[test]
fn every_owner_has_a_sample() {
    check_with(
        &RESOURCE,
        &only(&["kube_deployment_owner"]),
        "
metadata:
  namespace: ns
  name: web
  ownerReferences:
  - {apiVersion: example.test/v1, kind: App, name: shop, uid: o1}
  - {apiVersion: example.test/v1, kind: App, name: shop, uid: o2}
  - {apiVersion: example.test/v1, kind: Team, name: red, uid: o3}
",
        expect![[r#"
            kube_deployment_owner{namespace="ns",deployment="web",owner_kind="App",owner_name="shop"} 1
            kube_deployment_owner{namespace="ns",deployment="web",owner_kind="Team",owner_name="red"} 1
        "#]],
    );
}

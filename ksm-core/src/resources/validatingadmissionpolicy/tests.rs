//! ValidatingAdmissionPolicy families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything};

#[test]
fn every_family_of_a_policy_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: limits
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
spec:
  paramKind: {apiVersion: rules.example.test/v1, kind: ReplicaLimit}
  failurePolicy: Fail
  validations: [{expression: 'true'}]
status:
  observedGeneration: 1
",
        expect![[r#"
            kube_validatingadmissionpolicy_info{namespace="",validatingadmissionpolicy="limits",param_api_version="rules.example.test/v1",param_kind="ReplicaLimit",failure_policy="Fail"} 1
            kube_validatingadmissionpolicy_created{namespace="",validatingadmissionpolicy="limits"} 1.7733456e+09
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {name: limits}",
        expect![[r#"
        kube_validatingadmissionpolicy_info{namespace="",validatingadmissionpolicy="limits",param_api_version="",param_kind="",failure_policy=""} 1
    "#]],
    );
}

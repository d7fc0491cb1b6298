//! MutatingAdmissionPolicy families.

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
  failurePolicy: Ignore
  reinvocationPolicy: IfNeeded
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]
",
        expect![[r#"
            kube_mutatingadmissionpolicy_info{namespace="",mutatingadmissionpolicy="limits",param_api_version="rules.example.test/v1",param_kind="ReplicaLimit",failure_policy="Ignore",reinvocation_policy="IfNeeded"} 1
            kube_mutatingadmissionpolicy_created{namespace="",mutatingadmissionpolicy="limits"} 1.7733456e+09
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {name: limits}",
        expect![[r#"
        kube_mutatingadmissionpolicy_info{namespace="",mutatingadmissionpolicy="limits",param_api_version="",param_kind="",failure_policy="",reinvocation_policy=""} 1
    "#]],
    );
}

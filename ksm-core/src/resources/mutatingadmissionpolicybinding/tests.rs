//! MutatingAdmissionPolicyBinding families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_binding_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: limits-small
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
spec:
  policyName: limits
  paramRef: {name: small, namespace: ns, parameterNotFoundAction: Deny}
",
        expect![[r#"
            kube_mutatingadmissionpolicybinding_info{namespace="",mutatingadmissionpolicybinding="limits-small",policy_name="limits",param_name="small",param_namespace="ns",param_not_found_action="Deny"} 1
            kube_mutatingadmissionpolicybinding_created{namespace="",mutatingadmissionpolicybinding="limits-small"} 1.7733456e+09
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {name: limits-small}",
        expect![[r#"
        kube_mutatingadmissionpolicybinding_info{namespace="",mutatingadmissionpolicybinding="limits-small",policy_name="",param_name="",param_namespace="",param_not_found_action=""} 1
    "#]],
    );
}

#[test]
fn parameters_picked_by_selector_have_no_name() {
    check_with(
        &RESOURCE,
        &only(&["kube_mutatingadmissionpolicybinding_info"]),
        "
metadata: {name: limits-small}
spec:
  policyName: limits
  paramRef: {selector: {matchLabels: {size: small}}, parameterNotFoundAction: Allow}
",
        expect![[r#"
            kube_mutatingadmissionpolicybinding_info{namespace="",mutatingadmissionpolicybinding="limits-small",policy_name="limits",param_name="",param_namespace="",param_not_found_action="Allow"} 1
        "#]],
    );
}

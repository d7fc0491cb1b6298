//! ValidatingAdmissionPolicyBinding families.

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
  validationActions: [Warn, Audit]
",
        expect![[r#"
            kube_validatingadmissionpolicybinding_info{namespace="",validatingadmissionpolicybinding="limits-small",policy_name="limits",param_name="small",param_namespace="ns",param_not_found_action="Deny"} 1
            kube_validatingadmissionpolicybinding_created{namespace="",validatingadmissionpolicybinding="limits-small"} 1.7733456e+09
            kube_validatingadmissionpolicybinding_validation_action{namespace="",validatingadmissionpolicybinding="limits-small",action="Warn"} 1
            kube_validatingadmissionpolicybinding_validation_action{namespace="",validatingadmissionpolicybinding="limits-small",action="Audit"} 1
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {name: limits-small}",
        expect![[r#"
        kube_validatingadmissionpolicybinding_info{namespace="",validatingadmissionpolicybinding="limits-small",policy_name="",param_name="",param_namespace="",param_not_found_action=""} 1
    "#]],
    );
}

#[test]
fn an_action_listed_twice_is_exported_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_validatingadmissionpolicybinding_validation_action"]),
        "
metadata: {name: limits-small}
spec: {validationActions: [Deny, Deny, Shrug]}
",
        expect![[r#"
            kube_validatingadmissionpolicybinding_validation_action{namespace="",validatingadmissionpolicybinding="limits-small",action="Deny"} 1
            kube_validatingadmissionpolicybinding_validation_action{namespace="",validatingadmissionpolicybinding="limits-small",action="Shrug"} 1
        "#]],
    );
}

//! NetworkPolicy families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_policy_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: db
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
spec:
  podSelector: {matchLabels: {app: db}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{podSelector: {}}]
    ports: [{port: 5432}]
  - {}
  egress:
  - to: [{namespaceSelector: {}}]
",
        expect![[r#"
            kube_networkpolicy_created{namespace="ns",networkpolicy="db"} 1.7733456e+09
            kube_networkpolicy_annotations{namespace="ns",networkpolicy="db",annotation_note="n"} 1
            kube_networkpolicy_labels{namespace="ns",networkpolicy="db",label_app_kubernetes_io_name="a"} 1
            kube_networkpolicy_spec_ingress_rules{namespace="ns",networkpolicy="db"} 2
            kube_networkpolicy_spec_egress_rules{namespace="ns",networkpolicy="db"} 1
        "#]],
    );
}

#[test]
fn no_rules_are_zero_rules() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: closed}",
        expect![[r#"
        kube_networkpolicy_spec_ingress_rules{namespace="ns",networkpolicy="closed"} 0
        kube_networkpolicy_spec_egress_rules{namespace="ns",networkpolicy="closed"} 0
    "#]],
    );
}

#[test]
fn a_creation_time_of_zero_gives_no_sample() {
    check_with(
        &RESOURCE,
        &only(&["kube_networkpolicy_created"]),
        "metadata: {namespace: ns, name: old, creationTimestamp: 0001-01-01T00:00:00Z}",
        expect![[r#""#]],
    );
}

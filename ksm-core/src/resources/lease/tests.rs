//! Lease families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything};

#[test]
fn every_family_of_a_full_lease_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: kube-node-lease
  name: worker-0
  labels: {app: a}
  annotations: {note: n}
  ownerReferences:
  - {apiVersion: v1, kind: Node, name: worker-0, uid: u}
  - {apiVersion: v1, kind: Node, name: worker-1, uid: v, controller: true}
spec:
  holderIdentity: worker-0
  leaseDurationSeconds: 40
  renewTime: 2026-03-12T20:00:00.999999Z
",
        expect![[r#"
            kube_lease_owner{lease="worker-0",owner_kind="Node",owner_name="worker-0",namespace="kube-node-lease",lease_holder="worker-0"} 1
            kube_lease_owner{lease="worker-0",owner_kind="Node",owner_name="worker-1",namespace="kube-node-lease",lease_holder="worker-0"} 1
            kube_lease_renew_time{lease="worker-0",namespace="kube-node-lease"} 1.7733456e+09
        "#]],
    );
}

#[test]
fn a_lease_without_owner_or_holder_has_empty_labels() {
    // R09, https://github.com/kubernetes/kube-state-metrics/issues/1923
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: free}",
        expect![[r#"
        kube_lease_owner{lease="free",owner_kind="",owner_name="",namespace="ns",lease_holder=""} 1
    "#]],
    );
}

#[test]
fn a_lease_that_was_never_renewed_has_no_renew_time() {
    check(
        &RESOURCE,
        "{metadata: {namespace: ns, name: zero}, spec: {holderIdentity: h, renewTime: 0001-01-01T00:00:00.000000Z}}",
        expect![[r#"
            kube_lease_owner{lease="zero",owner_kind="",owner_name="",namespace="ns",lease_holder="h"} 1
        "#]],
    );
}

#[test]
fn owners_that_differ_in_nothing_exported_are_exported_once() {
    check(
        &RESOURCE,
        "
metadata:
  namespace: ns
  name: shared
  ownerReferences:
  - {apiVersion: a/v1, kind: Widget, name: w, uid: u}
  - {apiVersion: b/v1, kind: Widget, name: w, uid: v}
",
        expect![[r#"
            kube_lease_owner{lease="shared",owner_kind="Widget",owner_name="w",namespace="ns",lease_holder=""} 1
        "#]],
    );
}

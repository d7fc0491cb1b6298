//! Tolerations, node selector, service account, scheduler.

use expect_test::expect;

use crate::resources::pod::RESOURCE;
use crate::resources::testing::{Options, check_with, everything, only};

#[test]
fn a_toleration_has_all_its_labels_whatever_is_set() {
    // R15, https://github.com/kubernetes/kube-state-metrics/issues/2539
    check_with(
        &RESOURCE,
        &only(&["kube_pod_tolerations"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec:
  tolerations:
  - {key: k, operator: Exists}
  - {operator: Exists}
  - {key: k, operator: Equal, value: v, effect: NoExecute, tolerationSeconds: 300}
  - {key: k, operator: Equal, value: v, effect: NoExecute, tolerationSeconds: 0}
  - {key: k, operator: Equal, value: v, effect: NoExecute, tolerationSeconds: -9223372036854775808}
  - {}
",
        expect![[r#"
            kube_pod_tolerations{namespace="ns",pod="p",uid="u",key="k",operator="Exists",value="",effect="",toleration_seconds=""} 1
            kube_pod_tolerations{namespace="ns",pod="p",uid="u",key="",operator="Exists",value="",effect="",toleration_seconds=""} 1
            kube_pod_tolerations{namespace="ns",pod="p",uid="u",key="k",operator="Equal",value="v",effect="NoExecute",toleration_seconds="300"} 1
            kube_pod_tolerations{namespace="ns",pod="p",uid="u",key="k",operator="Equal",value="v",effect="NoExecute",toleration_seconds="0"} 1
            kube_pod_tolerations{namespace="ns",pod="p",uid="u",key="k",operator="Equal",value="v",effect="NoExecute",toleration_seconds="-9223372036854775808"} 1
            kube_pod_tolerations{namespace="ns",pod="p",uid="u",key="",operator="",value="",effect="",toleration_seconds=""} 1
        "#]],
    );
}

#[test]
fn a_repeated_toleration_counts_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_tolerations"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec:
  tolerations:
  - {key: k, operator: Exists, tolerationSeconds: 30}
  - {key: k, operator: Exists}
  - {key: k, operator: Exists, tolerationSeconds: 30}
",
        expect![[r#"
            kube_pod_tolerations{namespace="ns",pod="p",uid="u",key="k",operator="Exists",value="",effect="",toleration_seconds="30"} 1
            kube_pod_tolerations{namespace="ns",pod="p",uid="u",key="k",operator="Exists",value="",effect="",toleration_seconds=""} 1
        "#]],
    );
}

#[test]
fn node_selectors_become_labels_and_none_is_a_sample_too() {
    const OPTIONS: fn() -> Options = || Options { only: &["kube_pod_nodeselectors"], ..everything() };
    check_with(
        &RESOURCE,
        &OPTIONS(),
        "
metadata: {namespace: ns, name: p, uid: u}
spec: {nodeSelector: {kubernetes.io/hostname: h, camelCase: 'x\"y', a-b: '1', a.b: '2'}}
",
        expect![[r#"
            kube_pod_nodeselectors{namespace="ns",pod="p",uid="u",nodeselector_a_b_conflict1="1",nodeselector_a_b_conflict2="2",nodeselector_camel_case="x\"y",nodeselector_kubernetes_io_hostname="h"} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &OPTIONS(),
        "metadata: {namespace: ns, name: p, uid: u}",
        expect![[r#"
        kube_pod_nodeselectors{namespace="ns",pod="p",uid="u"} 1
    "#]],
    );
}

#[test]
fn node_selectors_are_opt_in() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_nodeselectors"]),
        "{metadata: {namespace: ns, name: p, uid: u}, spec: {nodeSelector: {a: b}}}",
        expect![[""]],
    );
}

#[test]
fn service_account_and_scheduler_are_named() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_service_account", "kube_pod_scheduler"]),
        "{metadata: {namespace: ns, name: p, uid: u}, spec: {serviceAccountName: sa, schedulerName: s}}",
        expect![[r#"
            kube_pod_service_account{namespace="ns",pod="p",uid="u",service_account="sa"} 1
            kube_pod_scheduler{namespace="ns",pod="p",uid="u",name="s"} 1
        "#]],
    );
}

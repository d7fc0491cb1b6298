//! ResourceQuota families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything};

#[test]
fn every_family_of_a_full_quota_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: team
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {app: a}
  annotations: {note: n}
spec: {hard: {pods: '9'}}
status:
  hard: {pods: 1k, requests.cpu: '10', requests.memory: 20Gi, count/deployments.apps: '5'}
  used: {pods: '12', requests.cpu: 1250m, requests.memory: 129e6}
",
        expect![[r#"
            kube_resourcequota_created{namespace="ns",resourcequota="team"} 1.7733456e+09
            kube_resourcequota{namespace="ns",resourcequota="team",resource="count/deployments.apps",type="hard"} 5
            kube_resourcequota{namespace="ns",resourcequota="team",resource="pods",type="hard"} 1000
            kube_resourcequota{namespace="ns",resourcequota="team",resource="requests.cpu",type="hard"} 10
            kube_resourcequota{namespace="ns",resourcequota="team",resource="requests.memory",type="hard"} 2.147483648e+10
            kube_resourcequota{namespace="ns",resourcequota="team",resource="pods",type="used"} 12
            kube_resourcequota{namespace="ns",resourcequota="team",resource="requests.cpu",type="used"} 1.25
            kube_resourcequota{namespace="ns",resourcequota="team",resource="requests.memory",type="used"} 1.29e+08
            kube_resourcequota_annotations{namespace="ns",resourcequota="team",annotation_note="n"} 1
            kube_resourcequota_labels{namespace="ns",resourcequota="team",label_app="a"} 1
        "#]],
    );
}

#[test]
fn limits_come_from_the_status_not_from_the_specification() {
    check(&RESOURCE, "{metadata: {namespace: ns, name: new}, spec: {hard: {pods: '9'}}}", expect![[r#""#]]);
}

#[test]
fn quantities_of_every_grammar_keep_their_value() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    check(
        &RESOURCE,
        "
metadata: {namespace: ns, name: odd}
status:
  hard: {a: 1k, b: 1n, c: 12345678901234567890, d: 1.5, e: 1Ei, f: '-3', g: '0'}
",
        expect![[r#"
            kube_resourcequota{namespace="ns",resourcequota="odd",resource="a",type="hard"} 1000
            kube_resourcequota{namespace="ns",resourcequota="odd",resource="b",type="hard"} 0.001
            kube_resourcequota{namespace="ns",resourcequota="odd",resource="c",type="hard"} 1.2345678901234567e+19
            kube_resourcequota{namespace="ns",resourcequota="odd",resource="d",type="hard"} 1.5
            kube_resourcequota{namespace="ns",resourcequota="odd",resource="e",type="hard"} 1.152921504606847e+18
            kube_resourcequota{namespace="ns",resourcequota="odd",resource="f",type="hard"} -3
            kube_resourcequota{namespace="ns",resourcequota="odd",resource="g",type="hard"} 0
        "#]],
    );
}

//! LimitRange families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything};

#[test]
fn every_constraint_of_every_limit_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: limits
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {app: a}
  annotations: {note: n}
spec:
  limits:
  - type: Container
    min: {cpu: 100m, memory: 64Mi}
    max: {cpu: '2'}
    default: {cpu: 500m}
    defaultRequest: {memory: 128Mi}
    maxLimitRequestRatio: {cpu: '2.5'}
  - type: PersistentVolumeClaim
    max: {storage: 1Ei}
    min: {storage: 1u}
  - type: Pod
    max: {example.com/dongle: '4', requests.memory: 1e3}
",
        expect![[r#"
            kube_limitrange{namespace="ns",limitrange="limits",resource="cpu",type="Container",constraint="min"} 0.1
            kube_limitrange{namespace="ns",limitrange="limits",resource="memory",type="Container",constraint="min"} 6.7108864e+07
            kube_limitrange{namespace="ns",limitrange="limits",resource="cpu",type="Container",constraint="max"} 2
            kube_limitrange{namespace="ns",limitrange="limits",resource="cpu",type="Container",constraint="default"} 0.5
            kube_limitrange{namespace="ns",limitrange="limits",resource="memory",type="Container",constraint="defaultRequest"} 1.34217728e+08
            kube_limitrange{namespace="ns",limitrange="limits",resource="cpu",type="Container",constraint="maxLimitRequestRatio"} 2.5
            kube_limitrange{namespace="ns",limitrange="limits",resource="storage",type="PersistentVolumeClaim",constraint="min"} 0.001
            kube_limitrange{namespace="ns",limitrange="limits",resource="storage",type="PersistentVolumeClaim",constraint="max"} 1.152921504606847e+18
            kube_limitrange{namespace="ns",limitrange="limits",resource="example.com/dongle",type="Pod",constraint="max"} 4
            kube_limitrange{namespace="ns",limitrange="limits",resource="requests.memory",type="Pod",constraint="max"} 1000
            kube_limitrange_created{namespace="ns",limitrange="limits"} 1.7733456e+09
        "#]],
    );
}

#[test]
fn a_range_without_limits_has_no_sample() {
    check(&RESOURCE, "metadata: {namespace: ns, name: limits}", expect![[r#""#]]);
    check(&RESOURCE, "{metadata: {namespace: ns, name: limits}, spec: {limits: [{type: Pod}]}}", expect![[r#""#]]);
}

#[test]
fn of_limits_for_one_type_the_first_is_exported() {
    check(
        &RESOURCE,
        "
metadata: {namespace: ns, name: limits}
spec:
  limits:
  - {type: Pod, max: {cpu: '1'}}
  - {type: Pod, max: {cpu: '2', memory: '3'}}
",
        expect![[r#"
            kube_limitrange{namespace="ns",limitrange="limits",resource="cpu",type="Pod",constraint="max"} 1
            kube_limitrange{namespace="ns",limitrange="limits",resource="memory",type="Pod",constraint="max"} 3
        "#]],
    );
}

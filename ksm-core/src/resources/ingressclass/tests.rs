//! IngressClass families.

use expect_test::expect;

use super::RESOURCE;
use crate::resource::AnyResource;
use crate::resources::testing::{check, check_with, everything};

#[test]
fn every_family_of_a_class_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: public
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
spec:
  controller: example.test/ingress
  parameters: {apiGroup: example.test, kind: Options, name: o}
",
        expect![[r#"
            kube_ingressclass_info{ingressclass="public",controller="example.test/ingress"} 1
            kube_ingressclass_created{ingressclass="public"} 1.7733456e+09
            kube_ingressclass_annotations{ingressclass="public",annotation_note="n"} 1
            kube_ingressclass_labels{ingressclass="public",label_app_kubernetes_io_name="a"} 1
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {name: public}",
        expect![[r#"
        kube_ingressclass_info{ingressclass="public",controller=""} 1
    "#]],
    );
}

#[test]
fn it_is_served_only_on_request() {
    assert!(!RESOURCE.descriptor().enabled_by_default);
}

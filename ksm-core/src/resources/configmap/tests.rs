//! ConfigMap families.

use expect_test::expect;

use super::RESOURCE;
use crate::resource::{AnyResource, Fetch};
use crate::resources::testing::{Options, check, check_with, everything};

#[test]
fn metadata_is_exported_and_data_is_not() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: cm
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
data: {key: value}
",
        expect![[r#"
            kube_configmap_annotations{namespace="ns",configmap="cm",annotation_note="n"} 1
            kube_configmap_labels{namespace="ns",configmap="cm",label_app_kubernetes_io_name="a"} 1
            kube_configmap_info{namespace="ns",configmap="cm"} 1
            kube_configmap_created{namespace="ns",configmap="cm"} 1.7733456e+09
            kube_configmap_metadata_resource_version{namespace="ns",configmap="cm"} 10596
        "#]],
    );
}

#[test]
fn what_is_not_set_gives_no_sample() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: cm}",
        expect![[r#"
        kube_configmap_info{namespace="ns",configmap="cm"} 1
    "#]],
    );
}

#[test]
fn a_resource_version_that_is_no_number_gives_no_sample() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: cm, resourceVersion: abc}",
        expect![[r#"
        kube_configmap_info{namespace="ns",configmap="cm"} 1
    "#]],
    );
}

#[test]
fn annotations_of_any_text_are_escaped_and_no_more_than_that() {
    // R16, https://github.com/kubernetes/kube-state-metrics/issues/3067
    check_with(
        &RESOURCE,
        &Options { only: &["kube_configmap_annotations"], ..everything() },
        r#"{metadata: {namespace: team-a, name: note, annotations: {note: "\"\\\n\t🦀日本"}}}"#,
        expect![[r#"
            kube_configmap_annotations{namespace="team-a",configmap="note",annotation_note="\"\\\n	🦀日本"} 1
        "#]],
    );
}

#[test]
fn only_metadata_is_asked_for() {
    assert_eq!(RESOURCE.descriptor().fetch, Fetch::MetadataOnly);
}

//! ClusterRole families.

use expect_test::expect;

use super::RESOURCE;
use crate::resource::{AnyResource, Fetch};
use crate::resources::testing::{check, check_with, everything};

#[test]
fn metadata_is_exported_and_rules_are_not() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: reader
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get, list]}
",
        expect![[r#"
            kube_clusterrole_annotations{clusterrole="reader",annotation_note="n"} 1
            kube_clusterrole_labels{clusterrole="reader",label_app_kubernetes_io_name="a"} 1
            kube_clusterrole_info{clusterrole="reader"} 1
            kube_clusterrole_created{clusterrole="reader"} 1.7733456e+09
            kube_clusterrole_metadata_resource_version{clusterrole="reader"} 10596
        "#]],
    );
}

#[test]
fn what_is_not_set_gives_no_sample() {
    check(
        &RESOURCE,
        "metadata: {name: reader}",
        expect![[r#"
        kube_clusterrole_info{clusterrole="reader"} 1
    "#]],
    );
}

#[test]
fn it_is_read_as_metadata_and_only_on_request() {
    let descriptor = RESOURCE.descriptor();
    assert_eq!((descriptor.fetch, descriptor.enabled_by_default), (Fetch::MetadataOnly, false));
}

//! RoleBinding families.

use expect_test::expect;

use super::RESOURCE;
use crate::resource::AnyResource;
use crate::resources::testing::{check, check_with, everything};

#[test]
fn the_role_that_is_granted_is_named() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: readers
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: staff}
",
        expect![[r#"
            kube_rolebinding_annotations{namespace="ns",rolebinding="readers",annotation_note="n"} 1
            kube_rolebinding_labels{namespace="ns",rolebinding="readers",label_app_kubernetes_io_name="a"} 1
            kube_rolebinding_info{namespace="ns",rolebinding="readers",roleref_kind="ClusterRole",roleref_name="reader"} 1
            kube_rolebinding_created{namespace="ns",rolebinding="readers"} 1.7733456e+09
            kube_rolebinding_metadata_resource_version{namespace="ns",rolebinding="readers"} 10596
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: readers}",
        expect![[r#"
        kube_rolebinding_info{namespace="ns",rolebinding="readers",roleref_kind="",roleref_name=""} 1
    "#]],
    );
}

#[test]
fn it_is_served_only_on_request() {
    assert!(!RESOURCE.descriptor().enabled_by_default);
}

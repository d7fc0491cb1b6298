//! ServiceAccount families.

use expect_test::expect;

use super::RESOURCE;
use crate::resource::AnyResource;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_service_account_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: builder
  uid: u1
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: a}
  annotations: {note: n}
automountServiceAccountToken: true
secrets:
- {name: token, namespace: ns, kind: Secret}
- {name: signing}
imagePullSecrets:
- {name: registry}
",
        expect![[r#"
            kube_serviceaccount_info{namespace="ns",serviceaccount="builder",uid="u1",automount_token="true"} 1
            kube_serviceaccount_created{namespace="ns",serviceaccount="builder",uid="u1"} 1.7733456e+09
            kube_serviceaccount_deleted{namespace="ns",serviceaccount="builder",uid="u1"} 1.77334566e+09
            kube_serviceaccount_secret{namespace="ns",serviceaccount="builder",uid="u1",name="token"} 1
            kube_serviceaccount_secret{namespace="ns",serviceaccount="builder",uid="u1",name="signing"} 1
            kube_serviceaccount_image_pull_secret{namespace="ns",serviceaccount="builder",uid="u1",name="registry"} 1
            kube_serviceaccount_annotations{namespace="ns",serviceaccount="builder",uid="u1",annotation_note="n"} 1
            kube_serviceaccount_labels{namespace="ns",serviceaccount="builder",uid="u1",label_app="a"} 1
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: builder}",
        expect![[r#"
        kube_serviceaccount_info{namespace="ns",serviceaccount="builder",uid="",automount_token=""} 1
    "#]],
    );
}

#[test]
fn a_token_that_is_refused_is_not_one_left_open() {
    check_with(
        &RESOURCE,
        &only(&["kube_serviceaccount_info"]),
        "
metadata: {namespace: ns, name: builder, uid: u}
automountServiceAccountToken: false
",
        expect![[r#"
            kube_serviceaccount_info{namespace="ns",serviceaccount="builder",uid="u",automount_token="false"} 1
        "#]],
    );
}

#[test]
fn secrets_named_twice_are_exported_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_serviceaccount_secret", "kube_serviceaccount_image_pull_secret"]),
        "
metadata: {namespace: ns, name: builder, uid: u}
secrets: [{name: token}, {name: token}, {kind: Secret}]
imagePullSecrets: [{name: registry}, {name: registry}]
",
        expect![[r#"
            kube_serviceaccount_secret{namespace="ns",serviceaccount="builder",uid="u",name="token"} 1
            kube_serviceaccount_secret{namespace="ns",serviceaccount="builder",uid="u",name=""} 1
            kube_serviceaccount_image_pull_secret{namespace="ns",serviceaccount="builder",uid="u",name="registry"} 1
        "#]],
    );
}

#[test]
fn it_is_served_only_on_request() {
    assert!(!RESOURCE.descriptor().enabled_by_default);
}

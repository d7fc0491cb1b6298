//! Secret families.

use expect_test::expect;

use super::{RESOURCE, Secret};
use crate::resources::testing::{check, check_with, everything};
use crate::view::{Encoding, decode};

#[test]
fn metadata_and_type_are_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: token
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '0'
  labels: {app: a}
  annotations: {note: n}
  ownerReferences:
  - {apiVersion: v1, kind: ServiceAccount, name: sa, uid: o}
type: kubernetes.io/service-account-token
",
        expect![[r#"
            kube_secret_info{namespace="ns",secret="token"} 1
            kube_secret_type{namespace="ns",secret="token",type="kubernetes.io/service-account-token"} 1
            kube_secret_annotations{namespace="ns",secret="token",annotation_note="n"} 1
            kube_secret_labels{namespace="ns",secret="token",label_app="a"} 1
            kube_secret_created{namespace="ns",secret="token"} 1.7733456e+09
            kube_secret_metadata_resource_version{namespace="ns",secret="token"} 0
            kube_secret_owner{namespace="ns",secret="token",owner_kind="ServiceAccount",owner_name="sa",owner_is_controller="false"} 1
        "#]],
    );
}

#[test]
fn labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: token}",
        expect![[r#"
        kube_secret_info{namespace="ns",secret="token"} 1
        kube_secret_type{namespace="ns",secret="token",type=""} 1
        kube_secret_owner{namespace="ns",secret="token",owner_kind="",owner_name="",owner_is_controller=""} 1
    "#]],
    );
}

#[test]
fn data_is_not_kept() {
    let json = br#"{"metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}, "stringData": {"user": "joe"}}"#;
    let mut protobuf = b"\x0a\x03\x0a\x01s".to_vec();
    protobuf.extend_from_slice(b"\x12\x0f\x0a\x08password\x12\x03pwd");
    for secret in [decode::<Secret>(Encoding::Json, json), decode(Encoding::Protobuf, &protobuf)] {
        let secret = secret.unwrap();
        assert_eq!(secret.metadata.name, "s");
        assert!(!format!("{secret:?}").contains("password"));
    }
}

//! CertificateSigningRequest families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only, refused};

#[test]
fn every_family_of_a_full_request_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: csr-1
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {app: web}
  annotations: {note: n}
spec: {signerName: example.test/signer, request: cmVxdWVzdA==, usages: [client auth], username: u}
status:
  certificate: bm90IGEgcmVhbCBjZXJ0aWZpY2F0ZQ==
  conditions:
  - {type: Approved, status: 'True', reason: AutoApproved}
",
        expect![[r#"
            kube_certificatesigningrequest_annotations{certificatesigningrequest="csr-1",signer_name="example.test/signer",annotation_note="n"} 1
            kube_certificatesigningrequest_labels{certificatesigningrequest="csr-1",signer_name="example.test/signer",label_app="web"} 1
            kube_certificatesigningrequest_created{certificatesigningrequest="csr-1",signer_name="example.test/signer"} 1.7733456e+09
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="example.test/signer",condition="approved"} 1
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="example.test/signer",condition="denied"} 0
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="example.test/signer",condition="failed"} 0
            kube_certificatesigningrequest_cert_length{certificatesigningrequest="csr-1",signer_name="example.test/signer"} 22
        "#]],
    );
}

#[test]
fn a_new_request_has_no_condition_and_no_certificate() {
    check(
        &RESOURCE,
        "metadata: {name: csr-1}",
        expect![[r#"
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="",condition="approved"} 0
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="",condition="denied"} 0
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="",condition="failed"} 0
            kube_certificatesigningrequest_cert_length{certificatesigningrequest="csr-1",signer_name=""} 0
        "#]],
    );
}

#[test]
fn conditions_are_counted_by_type_whatever_their_status() {
    check_with(
        &RESOURCE,
        &only(&["kube_certificatesigningrequest_condition"]),
        "
metadata: {name: csr-1}
spec: {signerName: s}
status:
  conditions:
  - {type: Denied, status: 'True'}
  - {type: Denied, status: 'False'}
  - {type: Failed}
  - {type: Other, status: 'True'}
",
        expect![[r#"
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="s",condition="approved"} 0
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="s",condition="denied"} 2
            kube_certificatesigningrequest_condition{certificatesigningrequest="csr-1",signer_name="s",condition="failed"} 1
        "#]],
    );
}

#[test]
fn a_certificate_that_is_not_in_base64_costs_the_object() {
    refused(&RESOURCE, "{metadata: {name: csr-1}, status: {certificate: '%%%'}}");
}

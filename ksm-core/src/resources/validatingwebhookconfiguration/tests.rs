//! ValidatingWebhookConfiguration families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_configuration_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: guard
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
webhooks:
- name: pods.validate.example.test
  clientConfig:
    caBundle: Y2E=
    service: {namespace: guard, name: hook, path: /validate, port: 8443}
  admissionReviewVersions: [v1]
  sideEffects: None
- name: nodes.validate.example.test
  clientConfig: {url: 'https://hook.example.test/validate'}
  admissionReviewVersions: [v1]
  sideEffects: None
",
        expect![[r#"
            kube_validatingwebhookconfiguration_info{namespace="",validatingwebhookconfiguration="guard"} 1
            kube_validatingwebhookconfiguration_created{namespace="",validatingwebhookconfiguration="guard"} 1.7733456e+09
            kube_validatingwebhookconfiguration_metadata_resource_version{namespace="",validatingwebhookconfiguration="guard"} 10596
            kube_validatingwebhookconfiguration_webhook_clientconfig_service{namespace="",validatingwebhookconfiguration="guard",webhook_name="pods.validate.example.test",service_name="hook",service_namespace="guard"} 1
            kube_validatingwebhookconfiguration_webhook_clientconfig_service{namespace="",validatingwebhookconfiguration="guard",webhook_name="nodes.validate.example.test",service_name="",service_namespace=""} 1
        "#]],
    );
}

#[test]
fn a_webhook_that_says_nothing_has_empty_labels() {
    check(
        &RESOURCE,
        "
metadata: {name: guard}
webhooks: [{}]
",
        expect![[r#"
            kube_validatingwebhookconfiguration_info{namespace="",validatingwebhookconfiguration="guard"} 1
            kube_validatingwebhookconfiguration_webhook_clientconfig_service{namespace="",validatingwebhookconfiguration="guard",webhook_name="",service_name="",service_namespace=""} 1
        "#]],
    );
}

#[test]
fn a_configuration_without_webhooks_is_still_exported() {
    check(
        &RESOURCE,
        "metadata: {name: empty}",
        expect![[r#"
        kube_validatingwebhookconfiguration_info{namespace="",validatingwebhookconfiguration="empty"} 1
    "#]],
    );
}

#[test]
fn a_webhook_listed_twice_is_exported_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_validatingwebhookconfiguration_webhook"]),
        "
metadata: {name: guard}
webhooks:
- {name: a.example.test, clientConfig: {service: {namespace: ns, name: one}}}
- {name: a.example.test, clientConfig: {service: {namespace: ns, name: one}}}
- {name: a.example.test, clientConfig: {service: {namespace: ns, name: two}}}
",
        expect![[r#"
            kube_validatingwebhookconfiguration_webhook_clientconfig_service{namespace="",validatingwebhookconfiguration="guard",webhook_name="a.example.test",service_name="one",service_namespace="ns"} 1
            kube_validatingwebhookconfiguration_webhook_clientconfig_service{namespace="",validatingwebhookconfiguration="guard",webhook_name="a.example.test",service_name="two",service_namespace="ns"} 1
        "#]],
    );
}

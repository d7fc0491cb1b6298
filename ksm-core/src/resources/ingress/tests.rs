//! Ingress families.

use expect_test::{Expect, expect};

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_ingress_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: shop
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  resourceVersion: '10596'
  labels: {app.kubernetes.io/name: a}
  annotations: {note: n}
spec:
  ingressClassName: public
  defaultBackend: {service: {name: fallback, port: {number: 80}}}
  tls:
  - {hosts: [shop.example.test, www.example.test], secretName: shop-tls}
  - {hosts: [old.example.test]}
  - {secretName: spare}
  rules:
  - host: shop.example.test
    http:
      paths:
      - {path: /cart, pathType: Prefix, backend: {service: {name: cart, port: {number: 8080}}}}
      - {path: /pay, pathType: Exact, backend: {service: {name: pay, port: {name: https}}}}
      - path: /img
        pathType: ImplementationSpecific
        backend: {resource: {apiGroup: files.example.test, kind: Bucket, name: b1}}
  - http:
      paths:
      - {backend: {service: {name: any, port: {number: 80}}}}
status:
  loadBalancer: {ingress: [{ip: 203.0.113.9}]}
",
        expect![[r#"
            kube_ingress_info{namespace="ns",ingress="shop",ingressclass="public"} 1
            kube_ingress_annotations{namespace="ns",ingress="shop",annotation_note="n"} 1
            kube_ingress_labels{namespace="ns",ingress="shop",label_app_kubernetes_io_name="a"} 1
            kube_ingress_created{namespace="ns",ingress="shop"} 1.7733456e+09
            kube_ingress_metadata_resource_version{namespace="ns",ingress="shop"} 10596
            kube_ingress_path{namespace="ns",ingress="shop",host="shop.example.test",path="/cart",path_type="Prefix",service_name="cart",service_port="8080"} 1
            kube_ingress_path{namespace="ns",ingress="shop",host="shop.example.test",path="/pay",path_type="Exact",service_name="pay",service_port="0"} 1
            kube_ingress_path{namespace="ns",ingress="shop",host="shop.example.test",path="/img",path_type="ImplementationSpecific",resource_api_group="files.example.test",resource_kind="Bucket",resource_name="b1"} 1
            kube_ingress_path{namespace="ns",ingress="shop",host="",path="",path_type="",service_name="any",service_port="80"} 1
            kube_ingress_tls{namespace="ns",ingress="shop",tls_host="shop.example.test",secret="shop-tls"} 1
            kube_ingress_tls{namespace="ns",ingress="shop",tls_host="www.example.test",secret="shop-tls"} 1
            kube_ingress_tls{namespace="ns",ingress="shop",tls_host="old.example.test",secret=""} 1
        "#]],
    );
}

#[test]
fn an_ingress_without_a_class_is_of_the_default_one() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: shop}",
        expect![[r#"
        kube_ingress_info{namespace="ns",ingress="shop",ingressclass="_default"} 1
    "#]],
    );
}

#[test]
fn the_class_comes_from_the_annotation_then_from_the_field() {
    let class = |annotations: &str, spec: &str, expected: Expect| {
        let yaml = format!("{{metadata: {{namespace: ns, name: shop, annotations: {annotations}}}, spec: {spec}}}");
        check_with(&RESOURCE, &only(&["kube_ingress_info"]), &yaml, expected);
    };
    class(
        "{kubernetes.io/ingress.class: old}",
        "{ingressClassName: new}",
        expect![[r#"
        kube_ingress_info{namespace="ns",ingress="shop",ingressclass="old"} 1
    "#]],
    );
    class(
        "{kubernetes.io/ingress.class: ''}",
        "{ingressClassName: new}",
        expect![[r#"
        kube_ingress_info{namespace="ns",ingress="shop",ingressclass=""} 1
    "#]],
    );
    class(
        "{}",
        "{ingressClassName: new}",
        expect![[r#"
        kube_ingress_info{namespace="ns",ingress="shop",ingressclass="new"} 1
    "#]],
    );
    class(
        "{}",
        "{ingressClassName: ''}",
        expect![[r#"
        kube_ingress_info{namespace="ns",ingress="shop",ingressclass=""} 1
    "#]],
    );
}

#[test]
fn only_backends_that_are_there_give_a_path() {
    // R07, https://github.com/kubernetes/kube-state-metrics/issues/1660
    check_with(
        &RESOURCE,
        &only(&["kube_ingress_info", "kube_ingress_path"]),
        "
metadata: {namespace: team-a, name: shop}
spec:
  rules:
  - host: shop.example.test
  - http:
      paths:
      - {path: /s, pathType: Prefix, backend: {service: {name: cart, port: {number: 80}}}}
      - {path: /r, pathType: Prefix, backend: {resource: {apiGroup: files.example.test, kind: Bucket, name: b1}}}
      - {path: /x, pathType: Prefix, backend: {}}
",
        expect![[r#"
            kube_ingress_info{namespace="team-a",ingress="shop",ingressclass="_default"} 1
            kube_ingress_path{namespace="team-a",ingress="shop",host="",path="/s",path_type="Prefix",service_name="cart",service_port="80"} 1
            kube_ingress_path{namespace="team-a",ingress="shop",host="",path="/r",path_type="Prefix",resource_api_group="files.example.test",resource_kind="Bucket",resource_name="b1"} 1
        "#]],
    );
}

#[test]
fn repeated_paths_and_tls_hosts_are_exported_once() {
    // R12, https://github.com/kubernetes/kube-state-metrics/issues/2445
    check_with(
        &RESOURCE,
        &only(&["kube_ingress_path", "kube_ingress_tls"]),
        "
metadata: {namespace: team-a, name: shop}
spec:
  tls: [{hosts: [shop.example.test, shop.example.test], secretName: shop-tls}]
  rules:
  - host: shop.example.test
    http:
      paths:
      - {path: /cart, pathType: Prefix, backend: {service: {name: cart, port: {number: 80}}}}
      - {path: /cart, pathType: Prefix, backend: {service: {name: cart, port: {number: 80}}}}
      - {path: /cart, pathType: Exact, backend: {service: {name: cart, port: {number: 80}}}}
",
        expect![[r#"
            kube_ingress_path{namespace="team-a",ingress="shop",host="shop.example.test",path="/cart",path_type="Prefix",service_name="cart",service_port="80"} 1
            kube_ingress_path{namespace="team-a",ingress="shop",host="shop.example.test",path="/cart",path_type="Exact",service_name="cart",service_port="80"} 1
            kube_ingress_tls{namespace="team-a",ingress="shop",tls_host="shop.example.test",secret="shop-tls"} 1
        "#]],
    );
}

#[test]
fn a_service_wins_over_another_object_as_backend() {
    check_with(
        &RESOURCE,
        &only(&["kube_ingress_path"]),
        "
metadata: {namespace: ns, name: both}
spec:
  rules:
  - http:
      paths:
      - {path: /both, backend: {service: {name: web, port: {}}, resource: {kind: Bucket, name: b1}}}
      - {path: /core, backend: {resource: {kind: ConfigMap, name: page}}}
",
        expect![[r#"
            kube_ingress_path{namespace="ns",ingress="both",host="",path="/both",path_type="",service_name="web",service_port="0"} 1
            kube_ingress_path{namespace="ns",ingress="both",host="",path="/core",path_type="",resource_api_group="",resource_kind="ConfigMap",resource_name="page"} 1
        "#]],
    );
}

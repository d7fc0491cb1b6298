//! Endpoints families.

use expect_test::expect;

use super::RESOURCE;
use crate::resource::AnyResource;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_object_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: web
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {app: web}
  annotations: {note: n}
subsets:
- addresses:
  - {ip: 10.0.0.1, hostname: web-0, nodeName: n1, targetRef: {kind: Pod, name: web-0}}
  - {ip: 10.0.0.2}
  notReadyAddresses:
  - {ip: 10.0.0.3}
  ports:
  - {name: http, port: 8080, protocol: TCP}
  - {port: 53, protocol: UDP}
- addresses: [{ip: 10.0.1.1}]
  ports: [{name: http, port: 9090, protocol: TCP, appProtocol: http}]
",
        expect![[r#"
            kube_endpoint_info{namespace="ns",endpoint="web"} 1
            kube_endpoint_created{namespace="ns",endpoint="web"} 1.7733456e+09
            kube_endpoint_annotations{namespace="ns",endpoint="web",annotation_note="n"} 1
            kube_endpoint_labels{namespace="ns",endpoint="web",label_app="web"} 1
            kube_endpoint_address{namespace="ns",endpoint="web",port_protocol="TCP",port_number="8080",port_name="http",ip="10.0.0.1",ready="true"} 1
            kube_endpoint_address{namespace="ns",endpoint="web",port_protocol="TCP",port_number="8080",port_name="http",ip="10.0.0.2",ready="true"} 1
            kube_endpoint_address{namespace="ns",endpoint="web",port_protocol="TCP",port_number="8080",port_name="http",ip="10.0.0.3",ready="false"} 1
            kube_endpoint_address{namespace="ns",endpoint="web",port_protocol="UDP",port_number="53",port_name="",ip="10.0.0.1",ready="true"} 1
            kube_endpoint_address{namespace="ns",endpoint="web",port_protocol="UDP",port_number="53",port_name="",ip="10.0.0.2",ready="true"} 1
            kube_endpoint_address{namespace="ns",endpoint="web",port_protocol="UDP",port_number="53",port_name="",ip="10.0.0.3",ready="false"} 1
            kube_endpoint_address{namespace="ns",endpoint="web",port_protocol="TCP",port_number="9090",port_name="http",ip="10.0.1.1",ready="true"} 1
            kube_endpoint_ports{namespace="ns",endpoint="web",port_name="http",port_protocol="TCP",port_number="8080"} 1
            kube_endpoint_ports{namespace="ns",endpoint="web",port_name="",port_protocol="UDP",port_number="53"} 1
            kube_endpoint_ports{namespace="ns",endpoint="web",port_name="http",port_protocol="TCP",port_number="9090"} 1
        "#]],
    );
}

#[test]
fn an_object_without_subsets_only_exists() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: web}",
        expect![[r#"
        kube_endpoint_info{namespace="ns",endpoint="web"} 1
    "#]],
    );
}

#[test]
fn addresses_without_ports_and_ports_without_addresses_have_no_address_samples() {
    check_with(
        &RESOURCE,
        &only(&["kube_endpoint_address", "kube_endpoint_ports"]),
        "
metadata: {namespace: ns, name: web}
subsets:
- addresses: [{ip: 10.0.0.1}]
- ports: [{name: http, port: 8080, protocol: TCP}]
",
        expect![[r#"
            kube_endpoint_ports{namespace="ns",endpoint="web",port_name="http",port_protocol="TCP",port_number="8080"} 1
        "#]],
    );
}

#[test]
fn repeated_addresses_and_ports_are_exported_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_endpoint_address", "kube_endpoint_ports"]),
        "
metadata: {namespace: ns, name: web}
subsets:
- addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.1}]
  ports: [{port: 80, protocol: TCP}]
- addresses: [{ip: 10.0.0.1}]
  ports: [{port: 80, protocol: TCP}]
",
        expect![[r#"
            kube_endpoint_address{namespace="ns",endpoint="web",port_protocol="TCP",port_number="80",port_name="",ip="10.0.0.1",ready="true"} 1
            kube_endpoint_ports{namespace="ns",endpoint="web",port_name="",port_protocol="TCP",port_number="80"} 1
        "#]],
    );
}

#[test]
fn it_is_off_by_default() {
    assert!(!RESOURCE.descriptor().enabled_by_default);
}

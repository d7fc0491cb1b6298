//! EndpointSlice families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_slice_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: web-x
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {kubernetes.io/service-name: web}
  annotations: {note: n}
addressType: IPv4
endpoints:
- addresses: [10.0.0.1, 10.0.0.2]
  conditions: {ready: true, serving: true, terminating: false}
  hostname: web-0
  targetRef: {kind: Pod, name: web-0, namespace: ns}
  nodeName: worker-0
  zone: zone-a
  hints: {forZones: [{name: zone-a}, {name: zone-b}], forNodes: [{name: worker-0}]}
- addresses: [10.0.0.3]
  conditions: {ready: false, serving: false, terminating: true}
ports:
- {name: http, protocol: TCP, port: 8080}
- {name: '', protocol: UDP, port: 53, appProtocol: dns}
",
        expect![[r#"
            kube_endpointslice_info{endpointslice="web-x",namespace="ns",addresstype="IPv4"} 1
            kube_endpointslice_created{endpointslice="web-x",namespace="ns"} 1.7733456e+09
            kube_endpointslice_endpoints_hints{endpointslice="web-x",namespace="ns",address="10.0.0.1",for_zone="zone-a"} 1
            kube_endpointslice_endpoints_hints{endpointslice="web-x",namespace="ns",address="10.0.0.1",for_zone="zone-b"} 1
            kube_endpointslice_endpoints{endpointslice="web-x",namespace="ns",ready="true",serving="true",hostname="web-0",terminating="false",targetref_kind="Pod",targetref_name="web-0",targetref_namespace="ns",endpoint_nodename="worker-0",endpoint_zone="zone-a",address="10.0.0.1"} 1
            kube_endpointslice_endpoints{endpointslice="web-x",namespace="ns",ready="true",serving="true",hostname="web-0",terminating="false",targetref_kind="Pod",targetref_name="web-0",targetref_namespace="ns",endpoint_nodename="worker-0",endpoint_zone="zone-a",address="10.0.0.2"} 1
            kube_endpointslice_endpoints{endpointslice="web-x",namespace="ns",ready="false",serving="false",hostname="",terminating="true",targetref_kind="",targetref_name="",targetref_namespace="",endpoint_nodename="",endpoint_zone="",address="10.0.0.3"} 1
            kube_endpointslice_ports{endpointslice="web-x",namespace="ns",port_name="http",port_protocol="TCP",port_number="8080"} 1
            kube_endpointslice_ports{endpointslice="web-x",namespace="ns",port_name="",port_protocol="UDP",port_number="53"} 1
            kube_endpointslice_annotations{endpointslice="web-x",namespace="ns",annotation_note="n"} 1
            kube_endpointslice_labels{endpointslice="web-x",namespace="ns",label_kubernetes_io_service_name="web"} 1
        "#]],
    );
}

#[test]
fn an_endpoint_without_node_or_zone_has_empty_labels() {
    // R15, https://github.com/kubernetes/kube-state-metrics/issues/2539
    check(
        &RESOURCE,
        "
metadata: {namespace: ns, name: web-x}
addressType: FQDN
endpoints:
- addresses: [a.example.test]
",
        expect![[r#"
            kube_endpointslice_info{endpointslice="web-x",namespace="ns",addresstype="FQDN"} 1
            kube_endpointslice_endpoints{endpointslice="web-x",namespace="ns",ready="",serving="",hostname="",terminating="",targetref_kind="",targetref_name="",targetref_namespace="",endpoint_nodename="",endpoint_zone="",address="a.example.test"} 1
        "#]],
    );
}

#[test]
fn a_port_of_which_nothing_is_set_has_empty_labels_and_port_zero_is_a_number() {
    check_with(
        &RESOURCE,
        &only(&["kube_endpointslice_ports"]),
        "{metadata: {namespace: ns, name: web-x}, ports: [{}, {port: 0}]}",
        expect![[r#"
            kube_endpointslice_ports{endpointslice="web-x",namespace="ns",port_name="",port_protocol="",port_number=""} 1
            kube_endpointslice_ports{endpointslice="web-x",namespace="ns",port_name="",port_protocol="",port_number="0"} 1
        "#]],
    );
}

#[test]
fn an_endpoint_without_addresses_or_hints_has_no_hint_samples() {
    check_with(
        &RESOURCE,
        &only(&["kube_endpointslice_endpoints"]),
        "
metadata: {namespace: ns, name: web-x}
endpoints:
- hints: {forZones: [{name: zone-a}]}
- addresses: [10.0.0.1]
  hints: {}
",
        expect![[r#"
            kube_endpointslice_endpoints{endpointslice="web-x",namespace="ns",ready="",serving="",hostname="",terminating="",targetref_kind="",targetref_name="",targetref_namespace="",endpoint_nodename="",endpoint_zone="",address="10.0.0.1"} 1
        "#]],
    );
}

#[test]
fn repeated_endpoints_hints_and_ports_are_exported_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_endpointslice_endpoints", "kube_endpointslice_ports"]),
        "
metadata: {namespace: ns, name: web-x}
endpoints:
- addresses: [10.0.0.1, 10.0.0.1]
  hints: {forZones: [{name: zone-a}, {name: zone-a}]}
- addresses: [10.0.0.1]
ports:
- {name: http, port: 80}
- {name: http, port: 80}
",
        expect![[r#"
            kube_endpointslice_endpoints_hints{endpointslice="web-x",namespace="ns",address="10.0.0.1",for_zone="zone-a"} 1
            kube_endpointslice_endpoints{endpointslice="web-x",namespace="ns",ready="",serving="",hostname="",terminating="",targetref_kind="",targetref_name="",targetref_namespace="",endpoint_nodename="",endpoint_zone="",address="10.0.0.1"} 1
            kube_endpointslice_ports{endpointslice="web-x",namespace="ns",port_name="http",port_protocol="",port_number="80"} 1
        "#]],
    );
}

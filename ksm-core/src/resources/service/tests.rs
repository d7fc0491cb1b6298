//! Service families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_service_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: web
  uid: u1
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: web}
  annotations: {note: n}
spec:
  type: LoadBalancer
  clusterIP: 10.0.0.5
  clusterIPs: [10.0.0.5]
  externalIPs: [203.0.113.1, 203.0.113.2]
  externalTrafficPolicy: Local
  loadBalancerIP: 203.0.113.9
  ports:
  - {port: 80, targetPort: http}
status:
  loadBalancer:
    ingress:
    - {ip: 203.0.113.9, ipMode: VIP}
    - {hostname: lb.example.test}
",
        expect![[r#"
            kube_service_info{namespace="ns",service="web",uid="u1",cluster_ip="10.0.0.5",external_name="",load_balancer_ip="203.0.113.9",external_traffic_policy="Local"} 1
            kube_service_created{namespace="ns",service="web",uid="u1"} 1.7733456e+09
            kube_service_spec_type{namespace="ns",service="web",uid="u1",type="LoadBalancer"} 1
            kube_service_annotations{namespace="ns",service="web",uid="u1",annotation_note="n"} 1
            kube_service_labels{namespace="ns",service="web",uid="u1",label_app="web"} 1
            kube_service_spec_external_ip{namespace="ns",service="web",uid="u1",external_ip="203.0.113.1"} 1
            kube_service_spec_external_ip{namespace="ns",service="web",uid="u1",external_ip="203.0.113.2"} 1
            kube_service_status_load_balancer_ingress{namespace="ns",service="web",uid="u1",ip="203.0.113.9",hostname=""} 1
            kube_service_status_load_balancer_ingress{namespace="ns",service="web",uid="u1",ip="",hostname="lb.example.test"} 1
            kube_service_deletion_timestamp{namespace="ns",service="web",uid="u1"} 1.77334566e+09
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: web}",
        expect![[r#"
        kube_service_info{namespace="ns",service="web",uid="",cluster_ip="",external_name="",load_balancer_ip="",external_traffic_policy=""} 1
        kube_service_spec_type{namespace="ns",service="web",uid="",type=""} 1
    "#]],
    );
}

#[test]
fn an_external_name_is_exported() {
    check_with(
        &RESOURCE,
        &only(&["kube_service_info", "kube_service_spec_type"]),
        "
metadata: {namespace: ns, name: db, uid: u}
spec: {type: ExternalName, externalName: db.example.test}
",
        expect![[r#"
            kube_service_info{namespace="ns",service="db",uid="u",cluster_ip="",external_name="db.example.test",load_balancer_ip="",external_traffic_policy=""} 1
            kube_service_spec_type{namespace="ns",service="db",uid="u",type="ExternalName"} 1
        "#]],
    );
}

#[test]
fn repeated_addresses_are_exported_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_service_spec_external_ip", "kube_service_status_load_balancer_ingress"]),
        "
metadata: {namespace: ns, name: web, uid: u}
spec: {externalIPs: [203.0.113.1, 203.0.113.1]}
status: {loadBalancer: {ingress: [{ip: 203.0.113.9}, {ip: 203.0.113.9}, {}]}}
",
        expect![[r#"
            kube_service_spec_external_ip{namespace="ns",service="web",uid="u",external_ip="203.0.113.1"} 1
            kube_service_status_load_balancer_ingress{namespace="ns",service="web",uid="u",ip="203.0.113.9",hostname=""} 1
            kube_service_status_load_balancer_ingress{namespace="ns",service="web",uid="u",ip="",hostname=""} 1
        "#]],
    );
}

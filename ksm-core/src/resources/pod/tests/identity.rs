//! Times of the object, node, addresses, creator.

use expect_test::expect;

use crate::resources::pod::RESOURCE;
use crate::resources::testing::{check_with, only};

#[test]
fn info_names_node_addresses_and_controller() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_info", "kube_pod_created", "kube_pod_deletion_timestamp"]),
        "
metadata:
  namespace: ns
  name: p
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  ownerReferences:
  - {kind: Widget, name: w}
  - {kind: Widget, name: x, controller: false}
  - {kind: ReplicaSet, name: rs, controller: true}
  - {kind: Job, name: j, controller: true}
spec: {nodeName: n, priorityClassName: high, hostNetwork: true}
status: {hostIP: 1.1.1.1, podIP: 1.2.3.4}
",
        expect![[r#"
            kube_pod_created{namespace="ns",pod="p",uid="u"} 1.7733456e+09
            kube_pod_deletion_timestamp{namespace="ns",pod="p",uid="u"} 1.77334566e+09
            kube_pod_info{namespace="ns",pod="p",uid="u",host_ip="1.1.1.1",pod_ip="1.2.3.4",node="n",created_by_kind="ReplicaSet",created_by_name="rs",priority_class="high",host_network="true"} 1
        "#]],
    );
}

#[test]
fn an_owner_that_is_no_controller_did_not_create_the_pod() {
    // R09, https://github.com/kubernetes/kube-state-metrics/issues/1923
    check_with(
        &RESOURCE,
        &only(&["kube_pod_info", "kube_pod_owner"]),
        "metadata: {namespace: ns, name: p, uid: u, ownerReferences: [{kind: Widget, name: w1}]}",
        expect![[r#"
            kube_pod_info{namespace="ns",pod="p",uid="u",host_ip="",pod_ip="",node="",created_by_kind="",created_by_name="",priority_class="",host_network="false"} 1
            kube_pod_owner{namespace="ns",pod="p",uid="u",owner_kind="Widget",owner_name="w1",owner_is_controller="false"} 1
        "#]],
    );
}

#[test]
fn addresses_that_do_not_parse_are_skipped_and_mapped_ones_are_of_family_4() {
    // R08, https://github.com/kubernetes/kube-state-metrics/issues/3059
    check_with(
        &RESOURCE,
        &only(&["kube_pod_ips"]),
        "
metadata: {namespace: team-a, name: net-0, uid: u}
status: {podIPs: [{ip: 10.0.0.7}, {ip: not-an-ip}, {ip: '::ffff:10.0.0.8'}, {ip: 'fd00::7'}, {ip: 010.1.1.1}]}
",
        expect![[r#"
            kube_pod_ips{namespace="team-a",pod="net-0",uid="u",ip="10.0.0.7",ip_family="4"} 1
            kube_pod_ips{namespace="team-a",pod="net-0",uid="u",ip="::ffff:10.0.0.8",ip_family="4"} 1
            kube_pod_ips{namespace="team-a",pod="net-0",uid="u",ip="fd00::7",ip_family="6"} 1
        "#]],
    );
}

#[test]
fn addresses_are_read_strictly_and_written_as_given() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_ips"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  podIPs:
  - {}
  - {ip: ' 10.0.0.1'}
  - {ip: 10.0.0}
  - {ip: 10.0.0.256}
  - {ip: 10.0.0.1/24}
  - {ip: '10.0.0.1%eth0'}
  - {ip: 'fe80::1%'}
  - {ip: '%eth0'}
  - {ip: '1:2:3:4:5:6:7::8'}
  - {ip: 'FE80::1'}
  - {ip: 'fe80::1%eth0'}
  - {ip: '::ffff:a00:8%1'}
  - {ip: '::10.0.0.8'}
  - {ip: '::'}
  - {ip: '::'}
",
        expect![[r#"
            kube_pod_ips{namespace="ns",pod="p",uid="u",ip="FE80::1",ip_family="6"} 1
            kube_pod_ips{namespace="ns",pod="p",uid="u",ip="fe80::1%eth0",ip_family="6"} 1
            kube_pod_ips{namespace="ns",pod="p",uid="u",ip="::ffff:a00:8%1",ip_family="4"} 1
            kube_pod_ips{namespace="ns",pod="p",uid="u",ip="::10.0.0.8",ip_family="6"} 1
            kube_pod_ips{namespace="ns",pod="p",uid="u",ip="::",ip_family="6"} 1
        "#]],
    );
}

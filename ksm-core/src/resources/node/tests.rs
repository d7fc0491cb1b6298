//! Node families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_node_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: worker-0
  uid: u
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels:
    kubernetes.io/hostname: worker-0
    node-role.kubernetes.io/worker: ''
    node-role.kubernetes.io/gpu: 'true'
  annotations: {note: n}
spec:
  podCIDR: 10.0.1.0/24
  podCIDRs: [10.0.1.0/24, 'fd00:1::/64']
  providerID: cloud:///zone/i-1
  unschedulable: true
  taints:
  - {key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: 2026-03-12T20:00:00Z}
  - {key: dedicated, value: db, effect: NoExecute}
status:
  capacity: {cpu: '4', memory: 16Gi, ephemeral-storage: 100Gi, pods: '110', hugepages-2Mi: '0', nvidia.com/gpu: '2'}
  allocatable: {cpu: 3920m, memory: 15Gi, storage: 3G, pods: '110', attachable-volumes-aws-ebs: '25'}
  conditions:
  - {type: Ready, status: 'True', reason: KubeletReady}
  - {type: MemoryPressure, status: 'False'}
  - {type: KernelDeadlock, status: Unknown}
  addresses:
  - {type: InternalIP, address: 10.1.0.1}
  - {type: Hostname, address: worker-0}
  - {type: ExternalIP, address: 203.0.113.1}
  nodeInfo:
    machineID: m
    systemUUID: s-u
    bootID: b
    kernelVersion: 6.12.0
    osImage: Demo Linux
    containerRuntimeVersion: containerd://2.1.0
    kubeletVersion: v1.37.2
    kubeProxyVersion: v1.37.2
    operatingSystem: linux
    architecture: amd64
",
        expect![[r#"
            kube_node_annotations{node="worker-0",annotation_note="n"} 1
            kube_node_created{node="worker-0"} 1.7733456e+09
            kube_node_deletion_timestamp{node="worker-0"} 1.77334566e+09
            kube_node_info{node="worker-0",kernel_version="6.12.0",os_image="Demo Linux",container_runtime_version="containerd://2.1.0",kubelet_version="v1.37.2",kubeproxy_version="deprecated",provider_id="cloud:///zone/i-1",pod_cidr="10.0.1.0/24",system_uuid="s-u",internal_ip="10.1.0.1"} 1
            kube_node_labels{node="worker-0",label_kubernetes_io_hostname="worker-0",label_node_role_kubernetes_io_gpu="true",label_node_role_kubernetes_io_worker=""} 1
            kube_node_role{node="worker-0",role="gpu"} 1
            kube_node_role{node="worker-0",role="worker"} 1
            kube_node_spec_pod_cidrs{node="worker-0",pod_cidr="10.0.1.0/24"} 1
            kube_node_spec_pod_cidrs{node="worker-0",pod_cidr="fd00:1::/64"} 1
            kube_node_spec_taint{node="worker-0",key="node.kubernetes.io/unschedulable",value="",effect="NoSchedule"} 1
            kube_node_spec_taint{node="worker-0",key="dedicated",value="db",effect="NoExecute"} 1
            kube_node_spec_unschedulable{node="worker-0"} 1
            kube_node_status_allocatable{node="worker-0",resource="attachable_volumes_aws_ebs",unit="byte"} 25
            kube_node_status_allocatable{node="worker-0",resource="cpu",unit="core"} 3.92
            kube_node_status_allocatable{node="worker-0",resource="memory",unit="byte"} 1.610612736e+10
            kube_node_status_allocatable{node="worker-0",resource="pods",unit="integer"} 110
            kube_node_status_allocatable{node="worker-0",resource="storage",unit="byte"} 3e+09
            kube_node_status_capacity{node="worker-0",resource="cpu",unit="core"} 4
            kube_node_status_capacity{node="worker-0",resource="ephemeral_storage",unit="byte"} 1.073741824e+11
            kube_node_status_capacity{node="worker-0",resource="hugepages_2Mi",unit="byte"} 0
            kube_node_status_capacity{node="worker-0",resource="memory",unit="byte"} 1.7179869184e+10
            kube_node_status_capacity{node="worker-0",resource="nvidia_com_gpu",unit="integer"} 2
            kube_node_status_capacity{node="worker-0",resource="pods",unit="integer"} 110
            kube_node_status_condition{node="worker-0",condition="Ready",status="true"} 1
            kube_node_status_condition{node="worker-0",condition="Ready",status="false"} 0
            kube_node_status_condition{node="worker-0",condition="Ready",status="unknown"} 0
            kube_node_status_condition{node="worker-0",condition="MemoryPressure",status="true"} 0
            kube_node_status_condition{node="worker-0",condition="MemoryPressure",status="false"} 1
            kube_node_status_condition{node="worker-0",condition="MemoryPressure",status="unknown"} 0
            kube_node_status_condition{node="worker-0",condition="KernelDeadlock",status="true"} 0
            kube_node_status_condition{node="worker-0",condition="KernelDeadlock",status="false"} 0
            kube_node_status_condition{node="worker-0",condition="KernelDeadlock",status="unknown"} 1
            kube_node_status_addresses{node="worker-0",type="InternalIP",address="10.1.0.1"} 1
            kube_node_status_addresses{node="worker-0",type="Hostname",address="worker-0"} 1
            kube_node_status_addresses{node="worker-0",type="ExternalIP",address="203.0.113.1"} 1
        "#]],
    );
}

#[test]
fn fixed_labels_are_there_even_when_empty() {
    // R15, https://github.com/kubernetes/kube-state-metrics/issues/2539
    check(
        &RESOURCE,
        "{metadata: {name: bare}, spec: {taints: [{key: k, effect: NoSchedule}]}}",
        expect![[r#"
        kube_node_info{node="bare",kernel_version="",os_image="",container_runtime_version="",kubelet_version="",kubeproxy_version="deprecated",provider_id="",pod_cidr="",system_uuid="",internal_ip=""} 1
        kube_node_spec_taint{node="bare",key="k",value="",effect="NoSchedule"} 1
        kube_node_spec_unschedulable{node="bare"} 0
    "#]],
    );
}

#[test]
fn the_last_internal_address_is_the_one_of_the_info() {
    check_with(
        &RESOURCE,
        &only(&["kube_node_info", "kube_node_status_addresses"]),
        "
metadata: {name: dual}
status:
  addresses:
  - {type: InternalIP, address: 10.1.0.1}
  - {type: InternalIP, address: 'fd00::1'}
  - {type: Hostname, address: dual}
",
        expect![[r#"
            kube_node_info{node="dual",kernel_version="",os_image="",container_runtime_version="",kubelet_version="",kubeproxy_version="deprecated",provider_id="",pod_cidr="",system_uuid="",internal_ip="fd00::1"} 1
            kube_node_status_addresses{node="dual",type="InternalIP",address="10.1.0.1"} 1
            kube_node_status_addresses{node="dual",type="InternalIP",address="fd00::1"} 1
            kube_node_status_addresses{node="dual",type="Hostname",address="dual"} 1
        "#]],
    );
}

#[test]
fn large_and_fine_quantities_keep_their_value() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    check_with(
        &RESOURCE,
        &only(&["kube_node_status_capacity"]),
        "
metadata: {name: n}
status:
  capacity:
    cpu: 1n
    memory: 1Ei
    ephemeral-storage: 10Pi
    storage: 1500m
    hugepages-1Gi: '9223372036854775'
    hugepages-2Mi: '12345678901234567890'
    attachable-volumes-a: 1e19
    attachable-volumes-b: '-9e18'
    example.com/half: 500m
",
        expect![[r#"
            kube_node_status_capacity{node="n",resource="attachable_volumes_a",unit="byte"} 1e+19
            kube_node_status_capacity{node="n",resource="attachable_volumes_b",unit="byte"} -9e+18
            kube_node_status_capacity{node="n",resource="cpu",unit="core"} 0.001
            kube_node_status_capacity{node="n",resource="ephemeral_storage",unit="byte"} 1.125899906842624e+16
            kube_node_status_capacity{node="n",resource="example_com_half",unit="integer"} 0.5
            kube_node_status_capacity{node="n",resource="hugepages_1Gi",unit="byte"} 9.223372036854776e+15
            kube_node_status_capacity{node="n",resource="hugepages_2Mi",unit="byte"} 1.2345678901234567e+19
            kube_node_status_capacity{node="n",resource="memory",unit="byte"} 1.152921504606847e+18
            kube_node_status_capacity{node="n",resource="storage",unit="byte"} 1.5
        "#]],
    );
}

#[test]
fn resources_without_a_known_unit_are_left_out() {
    check_with(
        &RESOURCE,
        &only(&["kube_node_status_allocatable"]),
        "
metadata: {name: n}
status:
  allocatable:
    cpu: '1'
    dongle: '1'
    kubernetes.io/dongle: '1'
    requests.example.com/dongle: '1'
    hugepages-example.com/page: '3'
",
        expect![[r#"
            kube_node_status_allocatable{node="n",resource="cpu",unit="core"} 1
            kube_node_status_allocatable{node="n",resource="hugepages_example_com_page",unit="byte"} 3
            kube_node_status_allocatable{node="n",resource="hugepages_example_com_page",unit="integer"} 3
        "#]],
    );
}

#[test]
fn of_resources_with_one_sanitised_name_the_first_is_exported() {
    check_with(
        &RESOURCE,
        &only(&["kube_node_status_capacity"]),
        "{metadata: {name: n}, status: {capacity: {example.com/a-b: '1', example.com/a.b: '2', example.com/a_b: '3'}}}",
        expect![[r#"
            kube_node_status_capacity{node="n",resource="example_com_a_b",unit="integer"} 1
        "#]],
    );
}

#[test]
fn repeated_taints_conditions_and_addresses_are_exported_once() {
    check_with(
        &RESOURCE,
        &only(&[
            "kube_node_spec_taint",
            "kube_node_spec_pod_cidrs",
            "kube_node_status_condition",
            "kube_node_status_add",
        ]),
        "
metadata: {name: n}
spec:
  podCIDRs: [10.0.1.0/24, 10.0.1.0/24]
  taints:
  - {key: k, value: v, effect: NoSchedule}
  - {key: k, value: v, effect: NoSchedule}
status:
  conditions:
  - {type: Ready, status: 'True'}
  - {type: Ready, status: 'False'}
  addresses:
  - {type: InternalIP, address: 10.1.0.1}
  - {type: InternalIP, address: 10.1.0.1}
",
        expect![[r#"
            kube_node_spec_pod_cidrs{node="n",pod_cidr="10.0.1.0/24"} 1
            kube_node_spec_taint{node="n",key="k",value="v",effect="NoSchedule"} 1
            kube_node_status_condition{node="n",condition="Ready",status="true"} 1
            kube_node_status_condition{node="n",condition="Ready",status="false"} 0
            kube_node_status_condition{node="n",condition="Ready",status="unknown"} 0
            kube_node_status_addresses{node="n",type="InternalIP",address="10.1.0.1"} 1
        "#]],
    );
}

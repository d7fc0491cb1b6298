//! Copied keys, overhead, owners, claims, volumes.

use expect_test::expect;

use crate::resources::pod::RESOURCE;
use crate::resources::testing::{Options, check, check_with, everything, only};

#[test]
fn labels_and_annotations_are_copied_on_request() {
    check_with(
        &RESOURCE,
        &Options { only: &["kube_pod_annotations", "kube_pod_labels"], ..everything() },
        "
metadata:
  namespace: ns
  name: p
  uid: u
  labels: {app.kubernetes.io/name: web, podTemplateHash: h}
  annotations: {note: \"a \\\"b\\\"\\n\"}
",
        expect![[r#"
            kube_pod_annotations{namespace="ns",pod="p",uid="u",annotation_note="a \"b\"\n"} 1
            kube_pod_labels{namespace="ns",pod="p",uid="u",label_app_kubernetes_io_name="web",label_pod_template_hash="h"} 1
        "#]],
    );
}

#[test]
fn every_owner_has_a_sample_and_an_unset_flag_is_false() {
    // R09, https://github.com/kubernetes/kube-state-metrics/issues/1923
    check_with(
        &RESOURCE,
        &only(&["kube_pod_owner"]),
        "
metadata:
  namespace: ns
  name: p
  uid: u
  ownerReferences:
  - {kind: Widget, name: w1}
  - {kind: ReplicaSet, name: rs, controller: true}
  - {kind: Node, name: n, controller: false}
",
        expect![[r#"
            kube_pod_owner{namespace="ns",pod="p",uid="u",owner_kind="Widget",owner_name="w1",owner_is_controller="false"} 1
            kube_pod_owner{namespace="ns",pod="p",uid="u",owner_kind="ReplicaSet",owner_name="rs",owner_is_controller="true"} 1
            kube_pod_owner{namespace="ns",pod="p",uid="u",owner_kind="Node",owner_name="n",owner_is_controller="false"} 1
        "#]],
    );
}

#[test]
fn no_owner_is_one_sample_of_empty_labels() {
    // R09, https://github.com/kubernetes/kube-state-metrics/issues/1923
    check_with(
        &RESOURCE,
        &only(&["kube_pod_owner"]),
        "metadata: {namespace: ns, name: p, uid: u}",
        expect![[r#"
        kube_pod_owner{namespace="ns",pod="p",uid="u",owner_kind="",owner_name="",owner_is_controller=""} 1
    "#]],
    );
}

#[test]
fn overhead_of_cpu_and_memory_alone_is_exported() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_overhead"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec: {overhead: {cpu: 250m, memory: 120Mi, ephemeral-storage: 1Gi}}
",
        expect![[r#"
            kube_pod_overhead_cpu_cores{namespace="ns",pod="p",uid="u"} 0.25
            kube_pod_overhead_memory_bytes{namespace="ns",pod="p",uid="u"} 1.2582912e+08
        "#]],
    );
}

#[test]
fn resource_claims_are_named_from_spec_or_status() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_resourceclaim_info"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec:
  resourceClaims:
  - {name: direct, resourceClaimName: shared}
  - {name: made, resourceClaimTemplateName: t}
  - {name: pending, resourceClaimTemplateName: t}
  - {name: twice, resourceClaimTemplateName: t}
  - {name: both, resourceClaimName: own, resourceClaimTemplateName: t}
  - {name: neither}
status:
  resourceClaimStatuses:
  - {name: direct, resourceClaimName: ignored}
  - {name: made, resourceClaimName: p-made-x7k2p}
  - {name: pending}
  - {name: twice, resourceClaimName: first}
  - {name: twice, resourceClaimName: second}
  - {name: twice}
  - {name: neither, resourceClaimName: orphan}
",
        expect![[r#"
            kube_pod_resourceclaim_info{namespace="ns",pod="p",uid="u",claim_name="direct",resourceclaim_name="shared",resourceclaim_template_name=""} 1
            kube_pod_resourceclaim_info{namespace="ns",pod="p",uid="u",claim_name="made",resourceclaim_name="p-made-x7k2p",resourceclaim_template_name="t"} 1
            kube_pod_resourceclaim_info{namespace="ns",pod="p",uid="u",claim_name="pending",resourceclaim_name="",resourceclaim_template_name="t"} 1
            kube_pod_resourceclaim_info{namespace="ns",pod="p",uid="u",claim_name="twice",resourceclaim_name="second",resourceclaim_template_name="t"} 1
            kube_pod_resourceclaim_info{namespace="ns",pod="p",uid="u",claim_name="both",resourceclaim_name="own",resourceclaim_template_name="t"} 1
        "#]],
    );
}

#[test]
fn restart_policy_is_always_there_and_runtime_class_only_when_set() {
    const FAMILIES: &[&str] = &["kube_pod_restart_policy", "kube_pod_runtimeclass_name_info"];
    check_with(
        &RESOURCE,
        &only(FAMILIES),
        "{metadata: {namespace: ns, name: p, uid: u}, spec: {restartPolicy: Always, runtimeClassName: gvisor}}",
        expect![[r#"
            kube_pod_restart_policy{namespace="ns",pod="p",uid="u",type="Always"} 1
            kube_pod_runtimeclass_name_info{namespace="ns",pod="p",uid="u",runtimeclass_name="gvisor"} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &only(FAMILIES),
        "{metadata: {namespace: ns, name: p, uid: u}, spec: {runtimeClassName: ''}}",
        expect![[r#"
            kube_pod_restart_policy{namespace="ns",pod="p",uid="u",type=""} 1
            kube_pod_runtimeclass_name_info{namespace="ns",pod="p",uid="u",runtimeclass_name=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &only(FAMILIES),
        "metadata: {namespace: ns, name: p, uid: u}",
        expect![[r#"
        kube_pod_restart_policy{namespace="ns",pod="p",uid="u",type=""} 1
    "#]],
    );
}

#[test]
fn every_claim_of_a_pod_has_a_sample() {
    // R10, https://github.com/kubernetes/kube-state-metrics/issues/2397
    check_with(
        &RESOURCE,
        &only(&["kube_pod_spec_volumes"]),
        "
metadata: {namespace: team-a, name: store-0, uid: u}
spec:
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data-store-0}}
  - {name: config, configMap: {name: c}}
  - {name: log, persistentVolumeClaim: {claimName: log-store-0, readOnly: true}}
  - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}
",
        expect![[r#"
            kube_pod_spec_volumes_persistentvolumeclaims_info{namespace="team-a",pod="store-0",uid="u",volume="data",persistentvolumeclaim="data-store-0",ephemeral="false"} 1
            kube_pod_spec_volumes_persistentvolumeclaims_info{namespace="team-a",pod="store-0",uid="u",volume="log",persistentvolumeclaim="log-store-0",ephemeral="false"} 1
            kube_pod_spec_volumes_persistentvolumeclaims_info{namespace="team-a",pod="store-0",uid="u",volume="scratch",persistentvolumeclaim="store-0-scratch",ephemeral="true"} 1
            kube_pod_spec_volumes_persistentvolumeclaims_readonly{namespace="team-a",pod="store-0",uid="u",volume="data",persistentvolumeclaim="data-store-0",ephemeral="false"} 0
            kube_pod_spec_volumes_persistentvolumeclaims_readonly{namespace="team-a",pod="store-0",uid="u",volume="log",persistentvolumeclaim="log-store-0",ephemeral="false"} 1
            kube_pod_spec_volumes_persistentvolumeclaims_readonly{namespace="team-a",pod="store-0",uid="u",volume="scratch",persistentvolumeclaim="store-0-scratch",ephemeral="true"} 0
        "#]],
    );
}

#[test]
fn volume_sources_without_any_field_count_as_there() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_spec_volumes"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec: {volumes: [{name: a, ephemeral: {}}, {name: b, persistentVolumeClaim: {}}, {name: c, emptyDir: {}}, {name: d}]}
",
        expect![[r#"
            kube_pod_spec_volumes_persistentvolumeclaims_info{namespace="ns",pod="p",uid="u",volume="a",persistentvolumeclaim="p-a",ephemeral="true"} 1
            kube_pod_spec_volumes_persistentvolumeclaims_info{namespace="ns",pod="p",uid="u",volume="b",persistentvolumeclaim="",ephemeral="false"} 1
            kube_pod_spec_volumes_persistentvolumeclaims_readonly{namespace="ns",pod="p",uid="u",volume="a",persistentvolumeclaim="p-a",ephemeral="true"} 0
            kube_pod_spec_volumes_persistentvolumeclaims_readonly{namespace="ns",pod="p",uid="u",volume="b",persistentvolumeclaim="",ephemeral="false"} 0
        "#]],
    );
}

/// A whole pod at once: what a scrape shows of it, in the order of the table.
#[test]
fn a_common_pod_renders_in_table_order() {
    check(
        &RESOURCE,
        "
metadata:
  namespace: shop
  name: web-7d9c-x2x
  uid: 3f1c
  creationTimestamp: 2026-03-12T20:00:00Z
  ownerReferences: [{kind: ReplicaSet, name: web-7d9c, controller: true}]
spec:
  nodeName: node-1
  restartPolicy: Always
  serviceAccountName: web
  schedulerName: default-scheduler
  containers:
  - {name: app, image: 'registry.test/app:1', resources: {limits: {memory: 64Mi}, requests: {cpu: 100m, memory: 32Mi}}}
  tolerations:
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
status:
  phase: Running
  qosClass: Burstable
  hostIP: 192.0.2.1
  podIP: 10.0.0.1
  podIPs: [{ip: 10.0.0.1}]
  startTime: 2026-03-12T20:00:01Z
  conditions:
  - {type: Initialized, status: 'True', lastTransitionTime: '2026-03-12T20:00:01Z'}
  - {type: Ready, status: 'True', lastTransitionTime: '2026-03-12T20:00:03Z'}
  - {type: ContainersReady, status: 'True', lastTransitionTime: '2026-03-12T20:00:03Z'}
  - {type: PodScheduled, status: 'True', lastTransitionTime: '2026-03-12T20:00:00Z'}
  containerStatuses:
  - name: app
    image: registry.test/app:1
    imageID: registry.test/app@sha256:0
    containerID: containerd://1
    ready: true
    state: {running: {startedAt: '2026-03-12T20:00:02Z'}}
",
        expect![[r#"
            kube_pod_container_info{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app",image_spec="registry.test/app:1",image="registry.test/app:1",image_id="registry.test/app@sha256:0",container_id="containerd://1"} 1
            kube_pod_container_resource_limits{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app",node="node-1",resource="memory",unit="byte"} 6.7108864e+07
            kube_pod_container_resource_requests{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app",node="node-1",resource="cpu",unit="core"} 0.1
            kube_pod_container_resource_requests{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app",node="node-1",resource="memory",unit="byte"} 3.3554432e+07
            kube_pod_container_state_started{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app"} 1.773345602e+09
            kube_pod_container_status_ready{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app"} 1
            kube_pod_container_status_restarts_total{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app"} 0
            kube_pod_container_status_running{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app"} 1
            kube_pod_container_status_terminated{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app"} 0
            kube_pod_container_status_waiting{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",container="app"} 0
            kube_pod_created{namespace="shop",pod="web-7d9c-x2x",uid="3f1c"} 1.7733456e+09
            kube_pod_info{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",host_ip="192.0.2.1",pod_ip="10.0.0.1",node="node-1",created_by_kind="ReplicaSet",created_by_name="web-7d9c",priority_class="",host_network="false"} 1
            kube_pod_ips{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",ip="10.0.0.1",ip_family="4"} 1
            kube_pod_owner{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",owner_kind="ReplicaSet",owner_name="web-7d9c",owner_is_controller="true"} 1
            kube_pod_restart_policy{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",type="Always"} 1
            kube_pod_start_time{namespace="shop",pod="web-7d9c-x2x",uid="3f1c"} 1.773345601e+09
            kube_pod_status_phase{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",phase="Pending"} 0
            kube_pod_status_phase{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",phase="Succeeded"} 0
            kube_pod_status_phase{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",phase="Failed"} 0
            kube_pod_status_phase{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",phase="Unknown"} 0
            kube_pod_status_phase{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",phase="Running"} 1
            kube_pod_status_qos_class{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",qos_class="BestEffort"} 0
            kube_pod_status_qos_class{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",qos_class="Burstable"} 1
            kube_pod_status_qos_class{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",qos_class="Guaranteed"} 0
            kube_pod_status_ready{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",condition="true"} 1
            kube_pod_status_ready{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",condition="false"} 0
            kube_pod_status_ready{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",condition="unknown"} 0
            kube_pod_status_ready_time{namespace="shop",pod="web-7d9c-x2x",uid="3f1c"} 1.773345603e+09
            kube_pod_status_initialized_time{namespace="shop",pod="web-7d9c-x2x",uid="3f1c"} 1.773345601e+09
            kube_pod_status_container_ready_time{namespace="shop",pod="web-7d9c-x2x",uid="3f1c"} 1.773345603e+09
            kube_pod_status_scheduled{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",condition="true"} 1
            kube_pod_status_scheduled{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",condition="false"} 0
            kube_pod_status_scheduled{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",condition="unknown"} 0
            kube_pod_status_scheduled_time{namespace="shop",pod="web-7d9c-x2x",uid="3f1c"} 1.7733456e+09
            kube_pod_tolerations{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",key="node.kubernetes.io/not-ready",operator="Exists",value="",effect="NoExecute",toleration_seconds="300"} 1
            kube_pod_service_account{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",service_account="web"} 1
            kube_pod_scheduler{namespace="shop",pod="web-7d9c-x2x",uid="3f1c",name="default-scheduler"} 1
        "#]],
    );
}

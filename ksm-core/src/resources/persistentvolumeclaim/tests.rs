//! PersistentVolumeClaim families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_claim_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: data-db-0
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: db}
  annotations: {note: n}
spec:
  accessModes: [ReadWriteOnce, ReadWriteMany]
  resources: {requests: {storage: 10Gi}, limits: {storage: 20Gi}}
  storageClassName: fast
  volumeName: pv-1
  volumeMode: Filesystem
status:
  phase: Bound
  accessModes: [ReadWriteOnce]
  capacity: {storage: 10Gi}
  conditions:
  - {type: Resizing, status: 'True', reason: r}
  - {type: FileSystemResizePending, status: 'False'}
",
        expect![[r#"
            kube_persistentvolumeclaim_labels{namespace="ns",persistentvolumeclaim="data-db-0",label_app="db"} 1
            kube_persistentvolumeclaim_annotations{namespace="ns",persistentvolumeclaim="data-db-0",annotation_note="n"} 1
            kube_persistentvolumeclaim_info{namespace="ns",persistentvolumeclaim="data-db-0",storageclass="fast",volumename="pv-1",volumemode="Filesystem"} 1
            kube_persistentvolumeclaim_status_phase{namespace="ns",persistentvolumeclaim="data-db-0",phase="Lost"} 0
            kube_persistentvolumeclaim_status_phase{namespace="ns",persistentvolumeclaim="data-db-0",phase="Bound"} 1
            kube_persistentvolumeclaim_status_phase{namespace="ns",persistentvolumeclaim="data-db-0",phase="Pending"} 0
            kube_persistentvolumeclaim_resource_requests_storage_bytes{namespace="ns",persistentvolumeclaim="data-db-0"} 1.073741824e+10
            kube_persistentvolumeclaim_access_mode{namespace="ns",persistentvolumeclaim="data-db-0",access_mode="ReadWriteOnce"} 1
            kube_persistentvolumeclaim_access_mode{namespace="ns",persistentvolumeclaim="data-db-0",access_mode="ReadWriteMany"} 1
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="data-db-0",condition="Resizing",status="true"} 1
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="data-db-0",condition="Resizing",status="false"} 0
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="data-db-0",condition="Resizing",status="unknown"} 0
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="data-db-0",condition="FileSystemResizePending",status="true"} 0
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="data-db-0",condition="FileSystemResizePending",status="false"} 1
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="data-db-0",condition="FileSystemResizePending",status="unknown"} 0
            kube_persistentvolumeclaim_created{namespace="ns",persistentvolumeclaim="data-db-0"} 1.7733456e+09
            kube_persistentvolumeclaim_deletion_timestamp{namespace="ns",persistentvolumeclaim="data-db-0"} 1.77334566e+09
        "#]],
    );
}

#[test]
fn what_is_not_set_gives_no_sample_or_an_empty_label() {
    // R05, https://github.com/kubernetes/kube-state-metrics/issues/1324
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: bare}",
        expect![[r#"
        kube_persistentvolumeclaim_info{namespace="ns",persistentvolumeclaim="bare",storageclass="",volumename="",volumemode=""} 1
    "#]],
    );
}

#[test]
fn the_class_of_the_annotation_counts_first_even_when_empty() {
    let info = only(&["kube_persistentvolumeclaim_info"]);
    check_with(
        &RESOURCE,
        &info,
        "
metadata: {namespace: ns, name: old, annotations: {volume.beta.kubernetes.io/storage-class: slow}}
spec: {storageClassName: fast}
",
        expect![[r#"
            kube_persistentvolumeclaim_info{namespace="ns",persistentvolumeclaim="old",storageclass="slow",volumename="",volumemode=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "
metadata: {namespace: ns, name: old, annotations: {volume.beta.kubernetes.io/storage-class: ''}}
spec: {storageClassName: fast, volumeMode: Block}
",
        expect![[r#"
            kube_persistentvolumeclaim_info{namespace="ns",persistentvolumeclaim="old",storageclass="",volumename="",volumemode="Block"} 1
        "#]],
    );
}

#[test]
fn an_unknown_phase_leaves_all_at_zero() {
    check_with(
        &RESOURCE,
        &only(&["kube_persistentvolumeclaim_status_phase"]),
        "{metadata: {namespace: ns, name: odd}, status: {phase: Melted}}",
        expect![[r#"
            kube_persistentvolumeclaim_status_phase{namespace="ns",persistentvolumeclaim="odd",phase="Lost"} 0
            kube_persistentvolumeclaim_status_phase{namespace="ns",persistentvolumeclaim="odd",phase="Bound"} 0
            kube_persistentvolumeclaim_status_phase{namespace="ns",persistentvolumeclaim="odd",phase="Pending"} 0
        "#]],
    );
}

#[test]
fn requested_bytes_are_rounded_up_and_never_wrap() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    let requests = only(&["kube_persistentvolumeclaim_resource_requests"]);
    check_with(
        &RESOURCE,
        &requests,
        "{metadata: {namespace: ns, name: a}, spec: {resources: {requests: {storage: 100m, cpu: '1'}}}}",
        expect![[r#"
            kube_persistentvolumeclaim_resource_requests_storage_bytes{namespace="ns",persistentvolumeclaim="a"} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &requests,
        "{metadata: {namespace: ns, name: a}, spec: {resources: {requests: {storage: 1e19}}}}",
        expect![[r#"
            kube_persistentvolumeclaim_resource_requests_storage_bytes{namespace="ns",persistentvolumeclaim="a"} 1e+19
        "#]],
    );
    check_with(
        &RESOURCE,
        &requests,
        "{metadata: {namespace: ns, name: a}, spec: {resources: {requests: {storage: '0'}}}}",
        expect![[r#"
            kube_persistentvolumeclaim_resource_requests_storage_bytes{namespace="ns",persistentvolumeclaim="a"} 0
        "#]],
    );
}

#[test]
fn repeated_conditions_and_access_modes_are_exported_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_persistentvolumeclaim_access_mode", "kube_persistentvolumeclaim_status_condition"]),
        "
metadata: {namespace: ns, name: a}
spec: {accessModes: [ReadOnlyMany, ReadOnlyMany]}
status: {conditions: [{type: Custom, status: 'False'}, {type: Custom, status: 'True'}]}
",
        expect![[r#"
            kube_persistentvolumeclaim_access_mode{namespace="ns",persistentvolumeclaim="a",access_mode="ReadOnlyMany"} 1
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="a",condition="Custom",status="true"} 0
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="a",condition="Custom",status="false"} 1
            kube_persistentvolumeclaim_status_condition{namespace="ns",persistentvolumeclaim="a",condition="Custom",status="unknown"} 0
        "#]],
    );
}

//! PersistentVolume families.

use expect_test::expect;

use super::RESOURCE;
use crate::resource::{AnyResource, Scope};
use crate::resources::testing::{Options, check, check_with, everything, only};

#[test]
fn every_family_of_a_full_volume_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: pv-1
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: db}
  annotations: {note: n}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce, ReadOnlyMany]
  claimRef: {kind: PersistentVolumeClaim, namespace: ns, name: data-db-0}
  persistentVolumeReclaimPolicy: Retain
  storageClassName: fast
  volumeMode: Block
  csi:
    driver: rbd.csi.example.test
    volumeHandle: h-1
    volumeAttributes: {mounter: rbd-nbd, mapOptions: 'nbd:timeout=1', pool: p}
status: {phase: Bound}
",
        expect![[r#"
            kube_persistentvolume_claim_ref{persistentvolume="pv-1",name="data-db-0",claim_namespace="ns"} 1
            kube_persistentvolume_annotations{persistentvolume="pv-1",annotation_note="n"} 1
            kube_persistentvolume_labels{persistentvolume="pv-1",label_app="db"} 1
            kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Pending"} 0
            kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Available"} 0
            kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Bound"} 1
            kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Released"} 0
            kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Failed"} 0
            kube_persistentvolume_info{persistentvolume="pv-1",storageclass="fast",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="rbd.csi.example.test",csi_volume_handle="h-1",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy="Retain"} 1
            kube_persistentvolume_capacity_bytes{persistentvolume="pv-1"} 1.073741824e+10
            kube_persistentvolume_created{persistentvolume="pv-1"} 1.7733456e+09
            kube_persistentvolume_deletion_timestamp{persistentvolume="pv-1"} 1.77334566e+09
            kube_persistentvolume_csi_attributes{persistentvolume="pv-1",csi_mounter="rbd-nbd",csi_map_options="nbd:timeout=1"} 1
            kube_persistentvolume_volume_mode{persistentvolume="pv-1",volumemode="Block"} 1
            kube_persistentvolume_access_mode{persistentvolume="pv-1",access_mode="ReadWriteOnce"} 1
            kube_persistentvolume_access_mode{persistentvolume="pv-1",access_mode="ReadOnlyMany"} 1
        "#]],
    );
}

#[test]
fn an_unclaimed_volume_has_no_claim_and_no_volume_has_a_namespace() {
    // R10, https://github.com/kubernetes/kube-state-metrics/issues/2891
    check(
        &RESOURCE,
        "{metadata: {name: pv-1}, status: {phase: Available}}",
        expect![[r#"
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Pending"} 0
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Available"} 1
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Bound"} 0
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Released"} 0
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Failed"} 0
        kube_persistentvolume_info{persistentvolume="pv-1",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        kube_persistentvolume_capacity_bytes{persistentvolume="pv-1"} 0
        kube_persistentvolume_volume_mode{persistentvolume="pv-1",volumemode="Filesystem"} 1
    "#]],
    );
}

#[test]
fn without_a_phase_there_is_no_sample_and_an_unknown_one_leaves_all_at_zero() {
    let phase = only(&["kube_persistentvolume_status_phase"]);
    check_with(&RESOURCE, &phase, "metadata: {name: pv-1}", expect![[r#""#]]);
    check_with(
        &RESOURCE,
        &phase,
        "{metadata: {name: pv-1}, status: {phase: Melted}}",
        expect![[r#"
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Pending"} 0
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Available"} 0
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Bound"} 0
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Released"} 0
        kube_persistentvolume_status_phase{persistentvolume="pv-1",phase="Failed"} 0
    "#]],
    );
}

#[test]
fn large_sizes_do_not_overflow_and_parts_of_a_byte_are_rounded_up() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    let capacity = only(&["kube_persistentvolume_capacity_bytes"]);
    check_with(
        &RESOURCE,
        &capacity,
        "{metadata: {name: pv-1}, spec: {capacity: {storage: 20Ei}}}",
        expect![[r#"
            kube_persistentvolume_capacity_bytes{persistentvolume="pv-1"} 2.305843009213694e+19
        "#]],
    );
    check_with(
        &RESOURCE,
        &capacity,
        "{metadata: {name: pv-1}, spec: {capacity: {storage: 1500m}}}",
        expect![[r#"
            kube_persistentvolume_capacity_bytes{persistentvolume="pv-1"} 2
        "#]],
    );
}

#[test]
fn csi_attributes_are_opt_in() {
    let volume = "
metadata: {name: pv-1}
spec: {csi: {driver: d, volumeHandle: h}}
";
    check_with(&RESOURCE, &only(&["kube_persistentvolume_csi"]), volume, expect![[r#""#]]);
    let opt_in = Options { opt_in: true, ..only(&["kube_persistentvolume_csi"]) };
    check_with(
        &RESOURCE,
        &opt_in,
        volume,
        expect![[r#"
        kube_persistentvolume_csi_attributes{persistentvolume="pv-1",csi_mounter="",csi_map_options=""} 1
    "#]],
    );
    check_with(&RESOURCE, &opt_in, "{metadata: {name: pv-1}, spec: {nfs: {server: s, path: p}}}", expect![[r#""#]]);
}

#[test]
fn each_kind_of_source_has_its_labels() {
    let info = only(&["kube_persistentvolume_info"]);
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: gce}, spec: {gcePersistentDisk: {pdName: disk-1, fsType: ext4}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="gce",storageclass="",gce_persistent_disk_name="disk-1",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: ebs}, spec: {awsElasticBlockStore: {volumeID: 'aws://zone/vol-1'}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="ebs",storageclass="",gce_persistent_disk_name="",ebs_volume_id="aws://zone/vol-1",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: azure}, spec: {azureDisk: {diskName: d, diskURI: 'https://d.example.test'}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="azure",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="d",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: fc}, spec: {fc: {lun: 0, targetWWNs: ['', '', a, '', b], wwids: [c, d, '']}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="fc",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="c,d,",fc_lun="0",fc_target_wwns="a,,b",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: fc}, spec: {fc: {wwids: [c]}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="fc",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="c",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "
metadata: {name: iscsi}
spec: {iscsi: {targetPortal: '10.0.0.1:3260', iqn: iqn.2026-01.test, lun: 7, initiatorName: i}}
",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="iscsi",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="10.0.0.1:3260",iscsi_iqn="iqn.2026-01.test",iscsi_lun="7",iscsi_initiator_name="i",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: iscsi}, spec: {iscsi: {targetPortal: p, iqn: q}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="iscsi",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="p",iscsi_iqn="q",iscsi_lun="0",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: nfs}, spec: {nfs: {server: nfs.example.test, path: /export}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="nfs",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="nfs.example.test",nfs_path="/export",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: csi}, spec: {csi: {driver: csi.example.test, volumeHandle: h}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="csi",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="csi.example.test",csi_volume_handle="h",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: local}, spec: {local: {path: /mnt/disk, fsType: xfs}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="local",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="/mnt/disk",local_fs="xfs",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: host}, spec: {hostPath: {path: /data, type: DirectoryOrCreate}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="host",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="/data",host_path_type="DirectoryOrCreate",reclaim_policy=""} 1
        "#]],
    );
    check_with(
        &RESOURCE,
        &info,
        "{metadata: {name: other}, spec: {cephfs: {monitors: [m]}, storageClassName: c, persistentVolumeReclaimPolicy: Delete}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="other",storageclass="c",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="",nfs_path="",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy="Delete"} 1
        "#]],
    );
}

#[test]
fn of_several_sources_the_first_kind_counts() {
    check_with(
        &RESOURCE,
        &only(&["kube_persistentvolume_info"]),
        "{metadata: {name: two}, spec: {hostPath: {path: /data}, nfs: {server: s, path: p}}}",
        expect![[r#"
            kube_persistentvolume_info{persistentvolume="two",storageclass="",gce_persistent_disk_name="",ebs_volume_id="",azure_disk_name="",fc_wwids="",fc_lun="",fc_target_wwns="",iscsi_target_portal="",iscsi_iqn="",iscsi_lun="",iscsi_initiator_name="",nfs_server="s",nfs_path="p",csi_driver="",csi_volume_handle="",local_path="",local_fs="",host_path="",host_path_type="",reclaim_policy=""} 1
        "#]],
    );
}

#[test]
fn the_volume_mode_is_a_file_system_where_none_is_set() {
    let mode = only(&["kube_persistentvolume_volume_mode", "kube_persistentvolume_access_mode"]);
    check_with(
        &RESOURCE,
        &mode,
        "metadata: {name: pv-1}",
        expect![[r#"
        kube_persistentvolume_volume_mode{persistentvolume="pv-1",volumemode="Filesystem"} 1
    "#]],
    );
    check_with(
        &RESOURCE,
        &mode,
        "{metadata: {name: pv-1}, spec: {volumeMode: Block, accessModes: [ReadWriteOncePod, ReadWriteOncePod]}}",
        expect![[r#"
            kube_persistentvolume_volume_mode{persistentvolume="pv-1",volumemode="Block"} 1
            kube_persistentvolume_access_mode{persistentvolume="pv-1",access_mode="ReadWriteOncePod"} 1
        "#]],
    );
}

#[test]
fn it_belongs_to_the_whole_cluster() {
    // R13, https://github.com/kubernetes/kube-state-metrics/issues/2998
    assert_eq!(RESOURCE.descriptor().scope, Scope::Cluster);
}

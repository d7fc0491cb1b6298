//! VolumeAttachment families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, only};

#[test]
fn every_family_of_a_full_attachment_is_exported_with_all_labels_and_no_option() {
    check(
        &RESOURCE,
        "
metadata:
  name: va-1
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {app.kubernetes.io/name: a, Tier: gold}
  annotations: {note: n}
spec:
  attacher: csi.example.test
  nodeName: worker-0
  source: {persistentVolumeName: pv-1}
status:
  attached: true
  attachmentMetadata: {devicePath: /dev/sdb, 'odd key/x': v}
",
        expect![[r#"
            kube_volumeattachment_labels{volumeattachment="va-1",label_tier="gold",label_app_kubernetes_io_name="a"} 1
            kube_volumeattachment_info{volumeattachment="va-1",attacher="csi.example.test",node="worker-0"} 1
            kube_volumeattachment_created{volumeattachment="va-1"} 1.7733456e+09
            kube_volumeattachment_spec_source_persistentvolume{volumeattachment="va-1",volumename="pv-1"} 1
            kube_volumeattachment_status_attached{volumeattachment="va-1"} 1
            kube_volumeattachment_status_attachment_metadata{volumeattachment="va-1",metadata_device_path="/dev/sdb",metadata_odd_key_x="v"} 1
        "#]],
    );
}

#[test]
fn an_attachment_without_labels_volume_or_metadata_still_shows() {
    check(
        &RESOURCE,
        "{metadata: {name: va-1}, spec: {attacher: a, nodeName: n}}",
        expect![[r#"
        kube_volumeattachment_labels{volumeattachment="va-1"} 1
        kube_volumeattachment_info{volumeattachment="va-1",attacher="a",node="n"} 1
        kube_volumeattachment_status_attached{volumeattachment="va-1"} 0
        kube_volumeattachment_status_attachment_metadata{volumeattachment="va-1"} 1
    "#]],
    );
}

#[test]
fn metadata_keys_that_are_equal_once_sanitised_are_told_apart() {
    check_with(
        &RESOURCE,
        &only(&["kube_volumeattachment_status_attachment_metadata"]),
        "{metadata: {name: va-1}, status: {attachmentMetadata: {a-b: '1', a.b: '2', a_b: '3'}}}",
        expect![[r#"
            kube_volumeattachment_status_attachment_metadata{volumeattachment="va-1",metadata_a_b_conflict1="1",metadata_a_b_conflict2="2",metadata_a_b_conflict3="3"} 1
        "#]],
    );
}

#[test]
fn an_empty_volume_name_is_one() {
    check_with(
        &RESOURCE,
        &only(&["kube_volumeattachment_spec"]),
        "{metadata: {name: va-1}, spec: {source: {persistentVolumeName: ''}}}",
        expect![[r#"
            kube_volumeattachment_spec_source_persistentvolume{volumeattachment="va-1",volumename=""} 1
        "#]],
    );
}

//! StorageClass families.

use expect_test::expect;

use super::RESOURCE;
use crate::resource::{AnyResource, Scope};
use crate::resources::testing::{check, check_with, everything};

#[test]
fn every_family_of_a_full_class_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  name: fast
  creationTimestamp: 2026-03-12T20:00:00Z
  labels: {tier: gold}
  annotations: {storageclass.kubernetes.io/is-default-class: 'true'}
provisioner: csi.example.test
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
parameters: {type: ssd}
",
        expect![[r#"
            kube_storageclass_info{storageclass="fast",provisioner="csi.example.test",reclaim_policy="Retain",volume_binding_mode="WaitForFirstConsumer"} 1
            kube_storageclass_created{storageclass="fast"} 1.7733456e+09
            kube_storageclass_annotations{storageclass="fast",annotation_storageclass_kubernetes_io_is_default_class="true"} 1
            kube_storageclass_labels{storageclass="fast",label_tier="gold"} 1
        "#]],
    );
}

#[test]
fn unset_policies_are_those_the_api_takes() {
    check(
        &RESOURCE,
        "{metadata: {name: plain}, provisioner: p}",
        expect![[r#"
        kube_storageclass_info{storageclass="plain",provisioner="p",reclaim_policy="Delete",volume_binding_mode="Immediate"} 1
    "#]],
    );
}

#[test]
fn it_belongs_to_the_whole_cluster() {
    // R13, https://github.com/kubernetes/kube-state-metrics/issues/2998
    assert_eq!(RESOURCE.descriptor().scope, Scope::Cluster);
}

//! PersistentVolumes (core `v1`): families `kube_persistentvolume_*`. Decodes metadata, where the volume comes from, how it
//! may be mounted, its claim and its phase.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::common;
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta, Quantity};
use source::Source;

mod source;

pub(crate) static RESOURCE: Resource<PersistentVolume> = Resource {
    descriptor: Descriptor {
        plural: "persistentvolumes",
        group: "",
        version: "v1",
        kind: "PersistentVolume",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::name("persistentvolume")],
    families: FAMILIES,
};

const FAMILIES: &[Family<PersistentVolume>] = &[
    Family::gauge(
        "kube_persistentvolume_claim_ref",
        Stable,
        &["name", "claim_namespace"],
        "Claim that the volume is bound to or kept for; always 1.",
        |volume, out| {
            if let Some(claim) = &volume.spec.claim_ref {
                out.sample(&[&claim.name, &claim.namespace], 1);
            }
        },
    ),
    common::annotations("kube_persistentvolume_annotations", Experimental),
    common::labels("kube_persistentvolume_labels", Stable),
    Family::gauge(
        "kube_persistentvolume_status_phase",
        Stable,
        &["phase"],
        "Phase of the volume: 1 for the one it is in, 0 for the others.",
        |volume, out| {
            if !volume.status.phase.is_empty() {
                out.states(&["Pending", "Available", "Bound", "Released", "Failed"], &volume.status.phase);
            }
        },
    ),
    Family::gauge(
        "kube_persistentvolume_info",
        Stable,
        &[
            "storageclass",
            "gce_persistent_disk_name",
            "ebs_volume_id",
            "azure_disk_name",
            "fc_wwids",
            "fc_lun",
            "fc_target_wwns",
            "iscsi_target_portal",
            "iscsi_iqn",
            "iscsi_lun",
            "iscsi_initiator_name",
            "nfs_server",
            "nfs_path",
            "csi_driver",
            "csi_volume_handle",
            "local_path",
            "local_fs",
            "host_path",
            "host_path_type",
            "reclaim_policy",
        ],
        "Class of the volume, where its data is, and what becomes of it when it is released; always 1.",
        info,
    ),
    Family::gauge(
        "kube_persistentvolume_capacity_bytes",
        Stable,
        &[],
        "Size of the volume, in bytes.",
        |volume, out| match volume.spec.capacity.get("storage") {
            Some(size) => out.optional(size.whole()),
            None => out.value(0),
        },
    ),
    common::created("kube_persistentvolume_created", Experimental),
    common::deletion_timestamp("kube_persistentvolume_deletion_timestamp", Experimental),
    Family::gauge(
        "kube_persistentvolume_csi_attributes",
        Experimental,
        &["csi_mounter", "csi_map_options"],
        "How the CSI driver of Ceph mounts the volume; always 1.",
        csi_attributes,
    )
    .opt_in(),
    Family::gauge(
        "kube_persistentvolume_volume_mode",
        Experimental,
        &["volumemode"],
        "Whether the volume is mounted as a file system, as where nothing is set, or as a block device; always 1.",
        |volume, out| out.sample(&[volume.spec.volume_mode.as_deref().unwrap_or("Filesystem")], 1),
    ),
    Family::gauge(
        "kube_persistentvolume_access_mode",
        Experimental,
        &["access_mode"],
        "Ways in which the volume can be mounted, one sample each; always 1.",
        |volume, out| common::access_modes(&volume.spec.access_modes, out),
    ),
];

/// View of a PersistentVolume.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PersistentVolume {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(btree_map = "string, message", tag = "1")]
    capacity: BTreeMap<String, Quantity>,
    /// A message of its own in protobuf only.
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    source: Source,
    #[prost(string, repeated, tag = "3")]
    access_modes: Vec<String>,
    #[prost(message, optional, tag = "4")]
    claim_ref: Option<ClaimReference>,
    #[prost(string, tag = "5")]
    persistent_volume_reclaim_policy: String,
    #[prost(string, tag = "6")]
    storage_class_name: String,
    #[prost(string, optional, tag = "8")]
    volume_mode: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClaimReference {
    #[prost(string, tag = "2")]
    namespace: String,
    #[prost(string, tag = "3")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(string, tag = "1")]
    phase: String,
}

impl Object for PersistentVolume {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn info(volume: &PersistentVolume, out: &mut Samples<'_>) {
    let spec = &volume.spec;
    let source = spec.source.labels();
    out.sample(
        &[
            &spec.storage_class_name,
            source.gce_persistent_disk_name,
            source.ebs_volume_id,
            source.azure_disk_name,
            &source.fc_wwids,
            &source.fc_lun,
            &source.fc_target_wwns,
            source.iscsi_target_portal,
            source.iscsi_iqn,
            &source.iscsi_lun,
            source.iscsi_initiator_name,
            source.nfs_server,
            source.nfs_path,
            source.csi_driver,
            source.csi_volume_handle,
            source.local_path,
            source.local_fs,
            source.host_path,
            source.host_path_type,
            &spec.persistent_volume_reclaim_policy,
        ],
        1,
    );
}

fn csi_attributes(volume: &PersistentVolume, out: &mut Samples<'_>) {
    if let Some(csi) = &volume.spec.source.csi {
        let attribute = |key: &str| csi.volume_attributes.get(key).map_or("", String::as_str);
        out.sample(&[attribute("mounter"), attribute("mapOptions")], 1);
    }
}

#[cfg(test)]
mod tests;

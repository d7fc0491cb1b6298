//! Where the data of a volume is: one kind of source each, of which some have labels of their own.
//!
//! Texts that can be unset are plain: unset and empty are exported alike.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The source of a volume; kinds without labels are not read.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Source {
    #[prost(message, optional, tag = "1")]
    gce_persistent_disk: Option<GcePersistentDisk>,
    #[prost(message, optional, tag = "2")]
    aws_elastic_block_store: Option<AwsElasticBlockStore>,
    #[prost(message, optional, tag = "3")]
    host_path: Option<HostPath>,
    #[prost(message, optional, tag = "5")]
    nfs: Option<Nfs>,
    #[prost(message, optional, tag = "7")]
    iscsi: Option<Iscsi>,
    #[prost(message, optional, tag = "10")]
    fc: Option<FibreChannel>,
    #[prost(message, optional, tag = "16")]
    azure_disk: Option<AzureDisk>,
    #[prost(message, optional, tag = "20")]
    local: Option<Local>,
    #[prost(message, optional, tag = "22")]
    pub(super) csi: Option<Csi>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GcePersistentDisk {
    #[prost(string, tag = "1")]
    pd_name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AwsElasticBlockStore {
    #[prost(string, tag = "1")]
    #[serde(rename = "volumeID")]
    volume_id: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HostPath {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(string, tag = "2")]
    r#type: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Nfs {
    #[prost(string, tag = "1")]
    server: String,
    #[prost(string, tag = "2")]
    path: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Iscsi {
    #[prost(string, tag = "1")]
    target_portal: String,
    #[prost(string, tag = "2")]
    iqn: String,
    #[prost(int32, tag = "3")]
    lun: i32,
    #[prost(string, tag = "12")]
    initiator_name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FibreChannel {
    #[prost(string, repeated, tag = "1")]
    #[serde(rename = "targetWWNs")]
    target_wwns: Vec<String>,
    #[prost(int32, optional, tag = "2")]
    lun: Option<i32>,
    #[prost(string, repeated, tag = "5")]
    wwids: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AzureDisk {
    #[prost(string, tag = "1")]
    disk_name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Local {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(string, tag = "2")]
    fs_type: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Csi {
    #[prost(string, tag = "1")]
    driver: String,
    #[prost(string, tag = "2")]
    volume_handle: String,
    #[prost(btree_map = "string, string", tag = "5")]
    pub(super) volume_attributes: BTreeMap<String, String>,
}

/// Label values of `kube_persistentvolume_info`; those of kinds that the volume is not of are empty.
#[derive(Default)]
pub(super) struct SourceLabels<'a> {
    pub(super) gce_persistent_disk_name: &'a str,
    pub(super) ebs_volume_id: &'a str,
    pub(super) azure_disk_name: &'a str,
    pub(super) fc_wwids: String,
    pub(super) fc_lun: String,
    pub(super) fc_target_wwns: String,
    pub(super) iscsi_target_portal: &'a str,
    pub(super) iscsi_iqn: &'a str,
    pub(super) iscsi_lun: String,
    pub(super) iscsi_initiator_name: &'a str,
    pub(super) nfs_server: &'a str,
    pub(super) nfs_path: &'a str,
    pub(super) csi_driver: &'a str,
    pub(super) csi_volume_handle: &'a str,
    pub(super) local_path: &'a str,
    pub(super) local_fs: &'a str,
    pub(super) host_path: &'a str,
    pub(super) host_path_type: &'a str,
}

impl Source {
    /// The label values; the API admits one kind only, and of several the first in this order counts.
    pub(super) fn labels(&self) -> SourceLabels<'_> {
        let none = SourceLabels::default();
        if let Some(disk) = &self.gce_persistent_disk {
            SourceLabels { gce_persistent_disk_name: &disk.pd_name, ..none }
        } else if let Some(volume) = &self.aws_elastic_block_store {
            SourceLabels { ebs_volume_id: &volume.volume_id, ..none }
        } else if let Some(disk) = &self.azure_disk {
            SourceLabels { azure_disk_name: &disk.disk_name, ..none }
        } else if let Some(fc) = &self.fc {
            SourceLabels {
                fc_wwids: joined(&fc.wwids),
                fc_lun: fc.lun.map(|lun| lun.to_string()).unwrap_or_default(),
                fc_target_wwns: joined(&fc.target_wwns),
                ..none
            }
        } else if let Some(iscsi) = &self.iscsi {
            SourceLabels {
                iscsi_target_portal: &iscsi.target_portal,
                iscsi_iqn: &iscsi.iqn,
                iscsi_lun: iscsi.lun.to_string(),
                iscsi_initiator_name: &iscsi.initiator_name,
                ..none
            }
        } else if let Some(nfs) = &self.nfs {
            SourceLabels { nfs_server: &nfs.server, nfs_path: &nfs.path, ..none }
        } else if let Some(csi) = &self.csi {
            SourceLabels { csi_driver: &csi.driver, csi_volume_handle: &csi.volume_handle, ..none }
        } else if let Some(local) = &self.local {
            SourceLabels { local_path: &local.path, local_fs: &local.fs_type, ..none }
        } else if let Some(host_path) = &self.host_path {
            SourceLabels { host_path: &host_path.path, host_path_type: &host_path.r#type, ..none }
        } else {
            none
        }
    }
}

/// The names with commas between; empty ones in front leave no comma.
fn joined(names: &[String]) -> String {
    let first = names.iter().position(|name| !name.is_empty()).unwrap_or(names.len());
    names[first..].join(",")
}

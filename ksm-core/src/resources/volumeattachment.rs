//! VolumeAttachments (`storage.k8s.io/v1`): families `kube_volumeattachment_*`. Decodes metadata, what is attached where,
//! and what the attacher says of it.
//!
//! All labels of the object are copied, whatever `--metric-labels-allowlist` says: so has it always been.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::common;
use crate::family::Stability::Experimental;
use crate::family::{Family, KeyFilter};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<VolumeAttachment> = Resource {
    descriptor: Descriptor {
        plural: "volumeattachments",
        group: "storage.k8s.io",
        version: "v1",
        kind: "VolumeAttachment",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::name("volumeattachment")],
    families: FAMILIES,
};

const FAMILIES: &[Family<VolumeAttachment>] = &[
    Family::gauge(
        "kube_volumeattachment_labels",
        Experimental,
        &[],
        "Labels of the object, all of them; always 1.",
        |attachment, out| out.copied("label", &attachment.metadata.labels, &KeyFilter::All),
    ),
    Family::gauge(
        "kube_volumeattachment_info",
        Experimental,
        &["attacher", "node"],
        "Who attaches the volume, and to which node; always 1.",
        |attachment, out| out.sample(&[&attachment.spec.attacher, &attachment.spec.node_name], 1),
    ),
    common::created("kube_volumeattachment_created", Experimental),
    Family::gauge(
        "kube_volumeattachment_spec_source_persistentvolume",
        Experimental,
        &["volumename"],
        "PersistentVolume that is attached; always 1.",
        |attachment, out| {
            if let Some(name) = &attachment.spec.source.persistent_volume_name {
                out.sample(&[name], 1);
            }
        },
    ),
    Family::gauge(
        "kube_volumeattachment_status_attached",
        Experimental,
        &[],
        "Whether the volume is attached.",
        |attachment, out| out.value(attachment.status.attached),
    ),
    Family::gauge(
        "kube_volumeattachment_status_attachment_metadata",
        Experimental,
        &[],
        "What the attacher says of the attachment, each entry as a label; always 1.",
        |attachment, out| out.copied("metadata", &attachment.status.attachment_metadata, &KeyFilter::All),
    ),
];

/// View of a VolumeAttachment.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct VolumeAttachment {
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
    #[prost(string, tag = "1")]
    attacher: String,
    #[prost(message, required, tag = "2")]
    source: Source,
    #[prost(string, tag = "3")]
    node_name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Source {
    #[prost(string, optional, tag = "1")]
    persistent_volume_name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(bool, tag = "1")]
    attached: bool,
    #[prost(btree_map = "string, string", tag = "2")]
    attachment_metadata: BTreeMap<String, String>,
}

impl Object for VolumeAttachment {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

#[cfg(test)]
mod tests;

//! `metav1.ObjectMeta`, the fields that families, selection and logs read.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Object, Time};

/// Metadata every object carries.
/// Source: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/>.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectMeta {
    /// Name, unique in its namespace.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Namespace, empty for cluster-scoped objects.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Unique for ever; empty in manifests that never reached an API server.
    #[prost(string, tag = "5")]
    pub uid: String,
    /// Opaque version of the object.
    #[prost(string, tag = "6")]
    pub resource_version: String,
    /// Counts changes of the desired state.
    #[prost(int64, tag = "7")]
    pub generation: i64,
    /// When the object was created.
    #[prost(message, optional, tag = "8")]
    pub creation_timestamp: Option<Time>,
    /// When the object is to be gone; set while it is being deleted.
    #[prost(message, optional, tag = "9")]
    pub deletion_timestamp: Option<Time>,
    /// Labels by key.
    #[prost(btree_map = "string, string", tag = "11")]
    pub labels: BTreeMap<String, String>,
    /// Annotations by key.
    #[prost(btree_map = "string, string", tag = "12")]
    pub annotations: BTreeMap<String, String>,
    /// Objects this one depends on.
    #[prost(message, repeated, tag = "13")]
    pub owner_references: Vec<OwnerReference>,
}

/// One owner of an object.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnerReference {
    /// Kind of the owner.
    #[prost(string, tag = "1")]
    pub kind: String,
    /// Name of the owner.
    #[prost(string, tag = "3")]
    pub name: String,
    /// Whether the owner is the managing controller; unset means no.
    #[prost(bool, optional, tag = "6")]
    pub controller: Option<bool>,
}

/// An object of which only metadata is read, asked for as `PartialObjectMetadata`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Meta {
    /// The object's metadata.
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
}

impl Object for Meta {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

//! One stored object: its protobuf bytes, and beside them its identity.
//!
//! Labels and fields are read from the bytes when a selector asks: walking over a pod to its node's name takes less time
//! than looking it up in a map would, and nothing is kept twice.
//!
//! The bytes are the message without envelope, metadata first, so that a metadata-only answer is a slice of them.

use std::sync::Arc;

use bytes::Bytes;

use crate::codec::wire::{self, Value};

/// Field numbers of `metav1.ObjectMeta`.
mod meta {
    pub(super) const NAME: u32 = 1;
    pub(super) const NAMESPACE: u32 = 3;
    pub(super) const UID: u32 = 5;
    pub(super) const RESOURCE_VERSION: u32 = 6;
    pub(super) const CREATION_TIMESTAMP: u32 = 8;
    pub(super) const DELETION_TIMESTAMP: u32 = 9;
    pub(super) const LABELS: u32 = 11;
    pub(super) const OWNER_REFERENCES: u32 = 13;
}

/// Namespace (empty for cluster-scoped kinds) and name; ordered as the API server lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// An immutable version of an object.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) key: Key,
    pub(crate) uid: Box<str>,
    pub(crate) resource_version: u64,
    /// The encoded message.
    pub(crate) bytes: Bytes,
    /// Length of the metadata field at the start of `bytes`.
    metadata_end: usize,
}

/// Metadata values to set; `None` keeps what is there.
#[derive(Debug, Default)]
pub(crate) struct MetadataPatch<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) uid: Option<&'a str>,
    pub(crate) resource_version: Option<u64>,
    /// Seconds since the epoch.
    pub(crate) creation_timestamp: Option<i64>,
    /// Seconds since the epoch.
    pub(crate) deletion_timestamp: Option<i64>,
}

impl MetadataPatch<'_> {
    /// The fields to set, by number; all of them are length-delimited.
    fn fields(&self) -> Vec<(u32, Vec<u8>)> {
        let text = |number, text: Option<&str>| text.map(|text| (number, text.as_bytes().to_vec()));
        let version = self.resource_version.map(|version| version.to_string());
        let time = |number, seconds: Option<i64>| {
            seconds.map(|seconds| {
                let mut time = Vec::with_capacity(8);
                wire::put_uint(&mut time, 1, seconds as u64);
                wire::put_uint(&mut time, 2, 0);
                (number, time)
            })
        };
        [
            text(meta::NAME, self.name),
            text(meta::NAMESPACE, self.namespace),
            text(meta::UID, self.uid),
            text(meta::RESOURCE_VERSION, version.as_deref()),
            time(meta::CREATION_TIMESTAMP, self.creation_timestamp),
            time(meta::DELETION_TIMESTAMP, self.deletion_timestamp),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Object {
    /// Reads the metadata of an encoded message whose first field is its metadata.
    pub(crate) fn new(bytes: Bytes) -> Self {
        let first = wire::fields(&bytes).next().filter(|field| field.number == 1);
        let metadata_end = first.as_ref().map_or(0, |field| field.end);
        let metadata = metadata(&bytes);
        let mut key = Key::new("", "");
        let (mut uid, mut resource_version) = (Box::default(), 0);
        for field in wire::fields(metadata) {
            let Value::Bytes(value) = field.value else { continue };
            let text = || str::from_utf8(value).unwrap_or_default();
            match field.number {
                meta::NAME => key.name = text().into(),
                meta::NAMESPACE => key.namespace = text().into(),
                meta::UID => uid = text().into(),
                meta::RESOURCE_VERSION => resource_version = text().parse().unwrap_or_default(),
                _ => {}
            }
        }
        Self { key, uid, resource_version, bytes, metadata_end }
    }

    /// The message with its metadata only (`metav1.PartialObjectMetadata` has the same field number for it).
    pub(crate) fn partial(&self) -> Bytes {
        self.bytes.slice(..self.metadata_end)
    }

    /// The value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        wire::fields(metadata(&self.bytes)).find_map(|field| match field.value {
            Value::Bytes(entry) if field.number == meta::LABELS && wire::text_field(entry, 1) == key => {
                Some(wire::text_field(entry, 2))
            }
            _ => None,
        })
    }

    /// The same object at another resource version.
    pub(crate) fn at_version(&self, resource_version: u64) -> Self {
        let patch = MetadataPatch { resource_version: Some(resource_version), ..MetadataPatch::default() };
        Self::new(patch_metadata(&self.bytes, &patch).into())
    }

    /// `metadata.creationTimestamp` in seconds since the epoch, if set.
    pub(crate) fn created(&self) -> Option<i64> {
        wire::bytes_field(metadata(&self.bytes), meta::CREATION_TIMESTAMP).map(|time| number(time, 1))
    }

    /// Whether the object is being deleted.
    pub(crate) fn is_terminating(&self) -> bool {
        wire::bytes_field(metadata(&self.bytes), meta::DELETION_TIMESTAMP).is_some()
    }

    /// Kind and name of the first owner; empty when nobody owns the object.
    pub(crate) fn owner(&self) -> (&str, &str) {
        let owner = wire::bytes_field(metadata(&self.bytes), meta::OWNER_REFERENCES).unwrap_or_default();
        (wire::text_field(owner, 1), wire::text_field(owner, 3))
    }

    /// `metadata.generateName`.
    pub(crate) fn generate_name(&self) -> &str {
        wire::text_field(metadata(&self.bytes), 2)
    }

    /// The encoded `spec`, where the kind has one.
    pub(crate) fn spec(&self) -> &[u8] {
        wire::bytes_field(&self.bytes, 2).unwrap_or_default()
    }
}

fn metadata(message: &[u8]) -> &[u8] {
    wire::bytes_field(message, 1).unwrap_or_default()
}

fn number(message: &[u8], number: u32) -> i64 {
    wire::fields(message)
        .find_map(|field| match field.value {
            Value::Varint(value) if field.number == number => Some(value as i64),
            _ => None,
        })
        .unwrap_or_default()
}

/// A copy of the message with one length-delimited field replaced, or removed.
pub(crate) fn replace_field(message: &[u8], number: u32, content: Option<&[u8]>) -> Vec<u8> {
    // Exactly what is needed: stored objects keep their capacity.
    let old: usize = wire::fields(message).filter(|field| field.number == number).map(|field| field.raw.len()).sum();
    let new = content.map_or(0, |content| {
        wire::varint_len(u64::from(number << 3)) + wire::varint_len(content.len() as u64) + content.len()
    });
    let mut out = Vec::with_capacity(message.len() - old + new);
    let mut pending = content;
    for field in wire::fields(message).filter(|field| field.number != number) {
        if let Some(content) = pending.take_if(|_| field.number > number) {
            wire::put_bytes(&mut out, number, content);
        }
        out.extend_from_slice(field.raw);
    }
    if let Some(content) = pending {
        wire::put_bytes(&mut out, number, content);
    }
    out
}

/// A copy of the message with some metadata replaced.
pub(crate) fn patch_metadata(message: &[u8], patch: &MetadataPatch<'_>) -> Vec<u8> {
    let old = metadata(message);
    let mut new = Vec::with_capacity(old.len() + 96);
    // In order of their numbers, so that equal metadata has equal bytes.
    let mut replacements = patch.fields().into_iter().peekable();
    let replaced: Vec<u32> = replacements.clone().map(|(number, _)| number).collect();
    for field in wire::fields(old).filter(|field| !replaced.contains(&field.number)) {
        while let Some((number, content)) = replacements.next_if(|(number, _)| *number < field.number) {
            wire::put_bytes(&mut new, number, &content);
        }
        new.extend_from_slice(field.raw);
    }
    for (number, content) in replacements {
        wire::put_bytes(&mut new, number, &content);
    }
    replace_field(message, 1, Some(&new))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{codec, resources};

    fn pod() -> Vec<u8> {
        let message = resources::by_plural("pods").unwrap().message();
        let pod = json!({
            "metadata": {"name": "a", "namespace": "n", "labels": {"x": "y"}},
            "spec": {"nodeName": "node-1", "containers": []},
        });
        codec::to_protobuf(message, &pod).unwrap()
    }

    #[test]
    fn patches_replace_and_keep() {
        let patch = MetadataPatch {
            uid: Some("u"),
            resource_version: Some(42),
            creation_timestamp: Some(1_700_000_000),
            ..MetadataPatch::default()
        };
        let object = Object::new(patch_metadata(&pod(), &patch).into());
        assert_eq!((&*object.key.namespace, &*object.key.name, &*object.uid), ("n", "a", "u"));
        assert_eq!(object.resource_version, 42);
        assert_eq!(object.created(), Some(1_700_000_000));
        assert_eq!(object.label("x"), Some("y"));
        let again = object.at_version(43);
        assert_eq!(again.resource_version, 43);
        assert_eq!(again.bytes.len(), object.bytes.len());
        assert_eq!(again.spec(), object.spec());
    }

    #[test]
    fn the_partial_object_is_the_metadata_alone() {
        let object = Object::new(pod().into());
        let numbers: Vec<_> = wire::fields(&object.partial()).map(|field| field.number).collect();
        assert_eq!(numbers, [1]);
    }
}

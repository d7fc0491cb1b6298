//! What the API server sends, as bytes: lists and watch frames in protobuf and JSON, taken apart piece by piece while
//! they stream in. No IO here, and no piece is ever decoded further than needed to find its end.
//!
//! Protobuf bodies are the magic `k8s\0` and a `runtime.Unknown`; watch frames have a 4-byte big-endian length in front
//! (<https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding>).

mod frames;
mod json_list;
mod protobuf_list;

use prost::Message;
use serde::Deserialize;
use thiserror::Error;

pub(super) use frames::{Event, EventKind, Frames};

use crate::view::{DecodeError, Encoding, Meta, ObjectMeta, decode, decode_value};

/// First bytes of every protobuf body.
const MAGIC: &[u8; 4] = b"k8s\0";

/// No object is larger: etcd takes 1.5 MiB by default, and a length past this is a broken stream.
const MAX_PIECE: usize = 64 << 20;

/// Bytes that are not what they should be.
#[derive(Debug, Error)]
pub enum WireError {
    /// The body ended in the middle of something.
    #[error("the body ended inside {0}")]
    Cut(&'static str),
    /// A protobuf body without the magic.
    #[error("a protobuf body must start with the bytes \"k8s\\0\"")]
    Magic,
    /// A length that no sound body has.
    #[error("{what} of {length} bytes is larger than the limit of {MAX_PIECE}")]
    TooLarge {
        /// What has that length.
        what: &'static str,
        /// The length read.
        length: u64,
    },
    /// Bytes that break the encoding.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// A part other than an object that does not decode.
    #[error("{what} does not decode")]
    Decode {
        /// Which part.
        what: &'static str,
        /// Why.
        source: DecodeError,
    },
}

/// `metav1.ListMeta` and, in the answer to a list that was filtered by shard, what it was filtered by.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ListMeta {
    #[prost(string, tag = "2")]
    pub resource_version: String,
    #[prost(string, tag = "3")]
    #[serde(rename = "continue")]
    pub continue_token: String,
    #[prost(message, optional, tag = "5")]
    pub shard_info: Option<ShardInfo>,
}

/// `metav1.ShardInfo` (KEP-5866).
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ShardInfo {
    #[prost(string, tag = "1")]
    pub selector: String,
}

/// `metav1.Status`: how the API server says what went wrong.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Status {
    #[prost(string, tag = "3")]
    pub message: String,
    #[prost(string, tag = "4")]
    pub reason: String,
    #[prost(int32, tag = "6")]
    pub code: i32,
}

/// `runtime.Unknown`, the envelope of a protobuf object.
#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(bytes = "bytes", tag = "2")]
    raw: bytes::Bytes,
}

/// Takes the envelope off one object.
fn unwrap(bytes: &bytes::Bytes) -> Result<bytes::Bytes, WireError> {
    if !bytes.starts_with(MAGIC) {
        return Err(WireError::Magic);
    }
    let unknown = Unknown::decode(bytes.slice(MAGIC.len()..)).map_err(|_| WireError::Malformed("protobuf envelope"))?;
    Ok(unknown.raw)
}

/// Decodes a whole answer that is one `Status`, whatever its encoding; `None` if it is something else.
pub(super) fn decode_status(body: &bytes::Bytes) -> Option<Status> {
    if body.starts_with(MAGIC) { Status::decode(unwrap(body).ok()?).ok() } else { serde_json::from_slice(body).ok() }
}

/// One piece of a list, in the order it streams in.
#[derive(Debug)]
pub(super) enum ListPart {
    /// An object, encoded on its own.
    Object(bytes::Bytes),
    /// The metadata of the list.
    Meta(ListMeta),
}

/// Takes a list body apart while it streams in.
pub(super) enum List {
    Protobuf(protobuf_list::ProtobufList),
    Json(json_list::JsonList),
}

impl List {
    pub(super) fn new(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Protobuf => Self::Protobuf(protobuf_list::ProtobufList::default()),
            Encoding::Json => Self::Json(json_list::JsonList::default()),
        }
    }

    /// Takes the next bytes of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Protobuf(list) => list.push(bytes),
            Self::Json(list) => list.push(bytes),
        }
    }

    /// The next complete piece, or `None` until more bytes are pushed.
    pub(super) fn next(&mut self) -> Result<Option<ListPart>, WireError> {
        match self {
            Self::Protobuf(list) => list.next(),
            Self::Json(list) => list.next(),
        }
    }

    /// Says that the body has ended, and yields what only then is complete.
    pub(super) fn finish(self) -> Result<Option<ListMeta>, WireError> {
        match self {
            Self::Protobuf(list) => list.finish().map(|()| None),
            Self::Json(list) => list.finish().map(Some),
        }
    }
}

/// Decodes a part of a JSON body that is no object of the resource.
fn decode_json<'a, T: Deserialize<'a>>(what: &'static str, bytes: &'a [u8]) -> Result<T, WireError> {
    serde_json::from_slice(bytes).map_err(|_| WireError::Malformed(what))
}

/// Decodes the metadata of one object, to know which it is; what else the object holds does not matter.
pub(super) fn decode_meta(encoding: Encoding, bytes: &[u8]) -> Result<ObjectMeta, WireError> {
    let meta: Result<Meta, DecodeError> = match encoding {
        Encoding::Protobuf => decode(encoding, bytes),
        Encoding::Json => {
            let mut object: serde_json::Value = decode_json("object", bytes)?;
            let metadata = object.get_mut("metadata").map(serde_json::Value::take).unwrap_or_default();
            decode_value(serde_json::json!({ "metadata": metadata }))
        }
    };
    meta.map(|meta| meta.metadata).map_err(|source| WireError::Decode { what: "object metadata", source })
}

#[cfg(test)]
mod tests;

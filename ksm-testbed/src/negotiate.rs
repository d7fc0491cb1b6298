//! Content negotiation: which encoding an answer takes, whether it is metadata only, and how objects are framed.
//!
//! Protobuf answers are `k8s\0` and a `runtime.Unknown` that names the kind and holds the message; watch events are
//! `metav1.WatchEvent`s behind a 4-byte big-endian length, their object again in an envelope.

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use crate::{
    codec::{self, schema, wire},
    status::Status,
};

/// The package of `Status`, `PartialObjectMetadata` and their like.
pub(crate) const META: &str = "k8s.io.apimachinery.pkg.apis.meta.v1";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: &[u8; 4] = b"k8s\0";
/// `contentEncoding` and `contentType` of `runtime.Unknown`, both empty; Go always writes them.
const UNKNOWN_TAIL: &[u8] = &[0x1a, 0, 0x22, 0];

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// `application/json`.
    Json,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

/// How much of each object is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Full,
    /// `metav1.PartialObjectMetadata`.
    Metadata,
    /// `metav1.PartialObjectMetadataList`, asked for where it is of no use.
    MetadataList,
}

/// What is being asked for, as far as negotiation cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Object,
    List,
    Watch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) encoding: Encoding,
    pub(crate) form: Form,
}

/// Picks the first clause of the `Accept` header that can be served.
pub(crate) fn accept(headers: &HeaderMap, wanted: Wanted) -> Result<Accept, Status> {
    let full = |encoding| Accept { encoding, form: Form::Full };
    let header = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if header.trim().is_empty() {
        return Ok(full(Encoding::Json));
    }
    let mut table = None;
    for clause in header.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let encoding = match parts.next().unwrap_or_default() {
            "application/json" | "application/*" | "*/*" => Encoding::Json,
            PROTOBUF => Encoding::Protobuf,
            _ => continue,
        };
        let kind = parts.find_map(|parameter| parameter.strip_prefix("as="));
        match (kind, wanted) {
            (None, _) => return Ok(full(encoding)),
            (Some("PartialObjectMetadata"), Wanted::Object | Wanted::Watch)
            | (Some("PartialObjectMetadataList"), Wanted::List) => {
                return Ok(Accept { encoding, form: Form::Metadata });
            }
            (Some("PartialObjectMetadataList"), Wanted::Watch) => {
                return Ok(Accept { encoding, form: Form::MetadataList });
            }
            // Tables are not drawn here: the plain object, unless a later clause is served as asked.
            (Some("Table"), _) => table = table.or(Some(full(encoding))),
            _ => {}
        }
    }
    table.ok_or_else(|| {
        let message = "only the following media types are accepted: application/json, \
                       application/vnd.kubernetes.protobuf";
        Status::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    })
}

impl Encoding {
    pub(crate) fn content_type(self, watch: bool) -> &'static str {
        match (self, watch) {
            (Self::Json, _) => "application/json",
            (Self::Protobuf, false) => PROTOBUF,
            (Self::Protobuf, true) => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }

    /// Encodes a small object of the meta group, such as a status or a discovery answer.
    pub(crate) fn meta_object(self, api_version: &str, kind: &str, value: &Value) -> Vec<u8> {
        let message = schema::message(&format!("{META}.{kind}")).expect("kinds of the meta group are in the schema");
        let bytes = codec::to_protobuf(message, value).expect("answers of the server fit their kind");
        self.object(message, api_version, kind, &bytes)
    }

    /// Encodes a stored message with its kind.
    pub(crate) fn object(self, message: &schema::Message, api_version: &str, kind: &str, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Protobuf => {
                let mut out = Vec::with_capacity(bytes.len() + 64);
                envelope_head(api_version, kind, bytes.len(), &mut out);
                out.extend_from_slice(bytes);
                out.extend_from_slice(UNKNOWN_TAIL);
                out
            }
            Self::Json => {
                let mut out = Vec::with_capacity(bytes.len() * 3);
                write_typed_json(message, api_version, kind, bytes, &mut out);
                out
            }
        }
    }
}

fn write_typed_json(message: &schema::Message, api_version: &str, kind: &str, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}""#).as_bytes());
    codec::write_fields(message, bytes, &mut false, out);
    out.push(b'}');
}

/// Appends an envelope up to the first byte of the message, which must have exactly `length` bytes.
pub(crate) fn envelope_head(api_version: &str, kind: &str, length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    let mut type_meta = Vec::with_capacity(32);
    wire::put_bytes(&mut type_meta, 1, api_version.as_bytes());
    wire::put_bytes(&mut type_meta, 2, kind.as_bytes());
    wire::put_bytes(out, 1, &type_meta);
    wire::put_tag(out, 2, 2);
    wire::put_varint(out, length as u64);
}

/// What follows the message in an envelope.
pub(crate) fn envelope_tail() -> Bytes {
    Bytes::from_static(UNKNOWN_TAIL)
}

/// The message in an envelope with its `apiVersion` and kind, or `None` when the bytes are no envelope.
pub(crate) fn open_envelope(body: &[u8]) -> Option<(&str, &str, &[u8])> {
    let unknown = body.strip_prefix(MAGIC)?;
    let type_meta = wire::bytes_field(unknown, 1)?;
    Some((wire::text_field(type_meta, 1), wire::text_field(type_meta, 2), wire::bytes_field(unknown, 2)?))
}

/// A watch event as chunks that are sent one after the other; the object's bytes are shared, not copied.
pub(crate) fn watch_frame(
    encoding: Encoding,
    event: &str,
    message: &schema::Message,
    (api_version, kind): (&str, &str),
    object: &Bytes,
) -> [Bytes; 3] {
    match encoding {
        Encoding::Json => {
            let mut out = Vec::with_capacity(object.len() * 3);
            out.extend_from_slice(format!(r#"{{"type":"{event}","object":"#).as_bytes());
            write_typed_json(message, api_version, kind, object, &mut out);
            out.extend_from_slice(b"}\n");
            [out.into(), Bytes::new(), Bytes::new()]
        }
        Encoding::Protobuf => {
            let mut head = Vec::with_capacity(48);
            envelope_head(api_version, kind, object.len(), &mut head);
            [frame_head(event, &head, object.len()), object.clone(), envelope_tail()]
        }
    }
}

/// The beginning of a protobuf frame, up to and including the envelope's head.
fn frame_head(event: &str, envelope: &[u8], object: usize) -> Bytes {
    let raw = envelope.len() + object + UNKNOWN_TAIL.len();
    let extension = 1 + wire::varint_len(raw as u64) + raw;
    let mut out = Vec::with_capacity(envelope.len() + 40);
    out.extend_from_slice(&[0; 4]);
    wire::put_bytes(&mut out, 1, event.as_bytes());
    wire::put_tag(&mut out, 2, 2);
    wire::put_varint(&mut out, extension as u64);
    wire::put_tag(&mut out, 1, 2);
    wire::put_varint(&mut out, raw as u64);
    let length = u32::try_from(out.len() - 4 + raw).expect("objects are smaller than 4 GiB");
    out[..4].copy_from_slice(&length.to_be_bytes());
    out.extend_from_slice(envelope);
    out.into()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(header: &'static str, wanted: Wanted, expected: Option<(Encoding, Form)>) {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(header))]);
        assert_eq!(accept(&headers, wanted).ok().map(|accept| (accept.encoding, accept.form)), expected);
    }

    #[test]
    fn the_first_clause_that_can_be_served_wins() {
        use Encoding::{Json, Protobuf};
        check("", Wanted::List, Some((Json, Form::Full)));
        check("*/*", Wanted::Object, Some((Json, Form::Full)));
        check("application/vnd.kubernetes.protobuf,application/json", Wanted::List, Some((Protobuf, Form::Full)));
        check("application/cbor, application/vnd.kubernetes.protobuf", Wanted::Watch, Some((Protobuf, Form::Full)));
        check(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/vnd.kubernetes.protobuf",
            Wanted::List,
            Some((Protobuf, Form::Full)),
        );
        check("application/json;as=Table;v=v1;g=meta.k8s.io", Wanted::List, Some((Json, Form::Full)));
        check(
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
            Wanted::Object,
            Some((Json, Form::Full)),
        );
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        check(metadata, Wanted::List, Some((Protobuf, Form::Metadata)));
        check(metadata, Wanted::Watch, Some((Protobuf, Form::MetadataList)));
        check(
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Wanted::Watch,
            Some((Json, Form::Metadata)),
        );
        check("text/plain", Wanted::List, None);
    }
}

//! Watch frames: protobuf ones with a length in front, JSON ones line by line.

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{MAX_PIECE, Status, WireError, decode_json, unwrap};
use crate::view::Encoding;

/// What happened to the object of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum EventKind {
    Added,
    Modified,
    Deleted,
    Bookmark,
}

/// One event of a watch.
#[derive(Debug)]
pub(in super::super) enum Event {
    /// About an object, encoded on its own; for a bookmark the object has metadata only.
    Object { kind: EventKind, object: Bytes },
    /// The API server ends the watch, and says why.
    Error(Status),
}

/// `metav1.WatchEvent`.
#[derive(Clone, PartialEq, Message)]
struct WatchEvent {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(message, optional, tag = "2")]
    object: Option<RawExtension>,
}

/// `runtime.RawExtension`.
#[derive(Clone, PartialEq, Message)]
struct RawExtension {
    #[prost(bytes = "bytes", tag = "1")]
    raw: Bytes,
}

#[derive(Deserialize)]
struct JsonEvent<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Takes a watch stream apart.
pub(in super::super) struct Frames {
    encoding: Encoding,
    buffer: BytesMut,
    /// JSON: how much of `buffer` is known to hold no line end.
    scanned: usize,
}

impl Frames {
    pub(in super::super) fn new(encoding: Encoding) -> Self {
        Self { encoding, buffer: BytesMut::new(), scanned: 0 }
    }

    /// Takes the next bytes of the stream.
    pub(in super::super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event, or `None` until more bytes are pushed.
    ///
    /// # Errors
    /// The stream is broken; nothing after this can be trusted.
    pub(in super::super) fn next(&mut self) -> Result<Option<Event>, WireError> {
        match self.encoding {
            Encoding::Protobuf => self.next_protobuf(),
            Encoding::Json => self.next_json(),
        }
    }

    /// Says that the stream has ended.
    ///
    /// # Errors
    /// It ended inside a frame.
    pub(in super::super) fn finish(self) -> Result<(), WireError> {
        if self.buffer.iter().all(u8::is_ascii_whitespace) { Ok(()) } else { Err(WireError::Cut("a watch frame")) }
    }

    fn next_protobuf(&mut self) -> Result<Option<Event>, WireError> {
        let Some(&prefix) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(prefix) as usize;
        if length > MAX_PIECE {
            return Err(WireError::TooLarge { what: "watch frame", length: length as u64 });
        }
        if self.buffer.len() < 4 + length {
            self.buffer.reserve(4 + length - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(4);
        let frame = self.buffer.split_to(length).freeze();
        let event = WatchEvent::decode(frame).map_err(|_| WireError::Malformed("watch event"))?;
        let object = unwrap(&event.object.ok_or(WireError::Malformed("watch event"))?.raw)?;
        event_of(&event.kind, object, |object| Status::decode(object).map_err(|_| WireError::Malformed("status")))
            .map(Some)
    }

    fn next_json(&mut self) -> Result<Option<Event>, WireError> {
        loop {
            let Some(end) = self.buffer[self.scanned..].iter().position(|&byte| byte == b'\n') else {
                self.scanned = self.buffer.len();
                if self.scanned > MAX_PIECE {
                    return Err(WireError::TooLarge { what: "watch frame", length: self.scanned as u64 });
                }
                return Ok(None);
            };
            let line = self.buffer.split_to(self.scanned + end + 1).freeze();
            self.scanned = 0;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let event: JsonEvent<'_> = decode_json("watch event", &line)?;
            let object = line.slice_ref(event.object.get().as_bytes());
            return event_of(event.kind, object, |object| decode_json("status", &object)).map(Some);
        }
    }
}

/// Control events are told from object events here, and types this client does not know are refused, never taken for
/// an object (<https://github.com/kubernetes/kube-state-metrics/issues/2993>).
fn event_of(
    kind: &str,
    object: Bytes,
    status: impl FnOnce(Bytes) -> Result<Status, WireError>,
) -> Result<Event, WireError> {
    let kind = match kind {
        "ADDED" => EventKind::Added,
        "MODIFIED" => EventKind::Modified,
        "DELETED" => EventKind::Deleted,
        "BOOKMARK" => EventKind::Bookmark,
        "ERROR" => return Ok(Event::Error(status(object)?)),
        _ => return Err(WireError::Malformed("watch event: its type is none this client knows")),
    };
    Ok(Event::Object { kind, object })
}

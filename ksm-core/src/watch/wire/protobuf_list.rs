//! A protobuf list body: `k8s\0`, then `runtime.Unknown` whose `raw` is the list message: metadata (field 1) and items
//! (field 2). Fields come in order, so each item can be handed out as soon as its last byte is there.

use bytes::{Buf, BytesMut};
use prost::Message;

use super::{ListMeta, ListPart, MAGIC, MAX_PIECE, WireError};
use crate::view::DecodeError;

const LENGTH_DELIMITED: u64 = 2;

/// Field numbers of `runtime.Unknown` and of every list message.
const UNKNOWN_RAW: u64 = 2;
const LIST_META: u64 = 1;
const LIST_ITEMS: u64 = 2;

#[derive(Default)]
enum At {
    #[default]
    Magic,
    /// Between fields of the envelope.
    Envelope,
    /// Between fields of the list message, which has this many bytes left.
    List(u64),
}

/// Takes a protobuf list body apart.
#[derive(Default)]
pub(in super::super) struct ProtobufList {
    buffer: BytesMut,
    at: At,
    /// Whether the list message has been read to its end.
    complete: bool,
}

impl ProtobufList {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(super) fn next(&mut self) -> Result<Option<ListPart>, WireError> {
        loop {
            match self.at {
                At::Magic => {
                    let Some(magic) = self.buffer.get(..MAGIC.len()) else { return Ok(None) };
                    if magic != MAGIC {
                        return Err(WireError::Magic);
                    }
                    self.buffer.advance(MAGIC.len());
                    self.at = At::Envelope;
                }
                At::Envelope => {
                    let Some((field, length, header)) = header(&self.buffer, "list envelope")? else { return Ok(None) };
                    if field == UNKNOWN_RAW {
                        self.buffer.advance(header);
                        self.at = At::List(length);
                    } else if self.take(header, length, "list envelope")?.is_none() {
                        return Ok(None);
                    }
                }
                At::List(0) => {
                    self.at = At::Envelope;
                    self.complete = true;
                }
                At::List(left) => {
                    let Some((field, length, header)) = header(&self.buffer, "list")? else { return Ok(None) };
                    let size = header as u64 + length;
                    if size > left {
                        return Err(WireError::Malformed("list"));
                    }
                    let Some(bytes) = self.take(header, length, "list item")? else { return Ok(None) };
                    self.at = At::List(left - size);
                    match field {
                        LIST_ITEMS => return Ok(Some(ListPart::Object(bytes))),
                        LIST_META => {
                            let meta = ListMeta::decode(bytes).map_err(|error| WireError::Decode {
                                what: "list metadata",
                                source: DecodeError::new(error.to_string()),
                            })?;
                            return Ok(Some(ListPart::Meta(meta)));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    pub(super) fn finish(self) -> Result<(), WireError> {
        if self.complete && matches!(self.at, At::Envelope) && self.buffer.is_empty() {
            Ok(())
        } else {
            Err(WireError::Cut("a protobuf list"))
        }
    }

    /// The payload of the field in front, once all of it is there.
    fn take(&mut self, header: usize, length: u64, what: &'static str) -> Result<Option<bytes::Bytes>, WireError> {
        let size = usize::try_from(length).ok().filter(|&size| size <= MAX_PIECE);
        let size = size.ok_or(WireError::TooLarge { what, length })?;
        if self.buffer.len() < header + size {
            self.buffer.reserve(header + size - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(header);
        Ok(Some(self.buffer.split_to(size).freeze()))
    }
}

/// Number and payload length of the field in front, and how many bytes say so; `None` if these are not all there yet.
fn header(bytes: &[u8], what: &'static str) -> Result<Option<(u64, u64, usize)>, WireError> {
    let Some((key, key_size)) = varint(bytes, what)? else { return Ok(None) };
    if key & 7 != LENGTH_DELIMITED {
        return Err(WireError::Malformed(what));
    }
    let Some((length, length_size)) = varint(&bytes[key_size..], what)? else { return Ok(None) };
    Ok(Some((key >> 3, length, key_size + length_size)))
}

fn varint(bytes: &[u8], what: &'static str) -> Result<Option<(u64, usize)>, WireError> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok(Some((value, i + 1)));
        }
    }
    if bytes.len() < 10 { Ok(None) } else { Err(WireError::Malformed(what)) }
}

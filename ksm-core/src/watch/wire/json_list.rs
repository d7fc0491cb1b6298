//! A JSON list body: the elements of the top-level `items` array are handed out as they complete; the rest of the body
//! is small and parsed at its end.

use bytes::{Buf, BytesMut};
use serde::Deserialize;

use super::{ListMeta, ListPart, MAX_PIECE, WireError, decode_json};

/// Takes a JSON list body apart.
#[derive(Default)]
pub(in super::super) struct JsonList {
    buffer: BytesMut,
    /// How much of `buffer` has been scanned; what lies before it is the item in progress, or nothing.
    scanned: usize,
    /// The body without the elements of `items`.
    rest: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The string read last at depth 1, which is a key when a `:` follows.
    key: Vec<u8>,
    in_items: bool,
}

/// Depth inside the `items` array, where its elements stand.
const ITEMS_DEPTH: usize = 2;

impl JsonList {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(super) fn next(&mut self) -> Result<Option<ListPart>, WireError> {
        while let Some(&byte) = self.buffer.get(self.scanned) {
            let in_item = self.in_items && self.depth > ITEMS_DEPTH;
            self.scan(byte);
            if in_item {
                self.scanned += 1;
                if self.scanned > MAX_PIECE {
                    return Err(WireError::TooLarge { what: "list item", length: self.scanned as u64 });
                }
                if self.depth == ITEMS_DEPTH && !self.in_string {
                    let item = self.buffer.split_to(self.scanned).freeze();
                    self.scanned = 0;
                    return Ok(Some(ListPart::Object(item)));
                }
            } else if self.in_items && self.depth > ITEMS_DEPTH {
                self.scanned += 1;
            } else {
                self.buffer.advance(1);
                if !(self.in_items && byte == b',') {
                    self.rest.push(byte);
                }
                if self.rest.len() > MAX_PIECE {
                    return Err(WireError::TooLarge { what: "list", length: self.rest.len() as u64 });
                }
            }
        }
        Ok(None)
    }

    pub(super) fn finish(self) -> Result<ListMeta, WireError> {
        if self.depth != 0 || self.rest.is_empty() {
            return Err(WireError::Cut("a JSON list"));
        }
        #[derive(Deserialize)]
        struct Rest {
            #[serde(default)]
            metadata: ListMeta,
        }
        decode_json::<Rest>("JSON list", &self.rest).map(|rest| rest.metadata)
    }

    /// Follows strings and nesting over one byte.
    fn scan(&mut self, byte: u8) {
        if self.in_string {
            if self.depth == 1 {
                self.key.push(byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 {
                    self.key.clear();
                }
            }
            b'{' | b'[' => {
                if byte == b'[' && self.depth == 1 && self.key == b"items\"" {
                    self.in_items = true;
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth < ITEMS_DEPTH {
                    self.in_items = false;
                }
            }
            _ => {}
        }
    }
}

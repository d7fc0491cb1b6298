//! Response bodies: short texts, and expositions that are put together while they are sent.
//!
//! The length of either is known before the first byte. An exposition reads the snapshots taken when it was made, so
//! it is one consistent view however slowly it is read, and holds one chunk of text at a time.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::query::Selection;
use crate::catalogue::Catalogue;
use crate::exposition::Format;
use crate::store::Snapshot;

/// A chunk is sent once it has grown to this; it may be longer by the text of one block and family.
const CHUNK_BYTES: usize = 64 * 1024;

/// What to do when a body was sent or given up.
pub(super) type OnEnd = Box<dyn FnOnce() + Send>;

/// The body of a response.
pub struct Body {
    content: Content,
    on_end: Option<OnEnd>,
}

enum Content {
    Whole(Bytes),
    Exposition(Box<Exposition>),
}

impl Body {
    /// A body that is there already.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { content: Content::Whole(bytes.into()), on_end: None }
    }

    /// An exposition.
    pub(super) fn exposition(exposition: Exposition) -> Self {
        Self { content: Content::Exposition(Box::new(exposition)), on_end: None }
    }

    /// How many bytes are left.
    pub(super) fn remaining(&self) -> u64 {
        match &self.content {
            Content::Whole(bytes) => bytes.len() as u64,
            Content::Exposition(exposition) => exposition.remaining,
        }
    }

    /// Runs `on_end` when the body is dropped, after what was to run already.
    pub(super) fn on_end(mut self, on_end: OnEnd) -> Self {
        let before = self.on_end.take();
        self.on_end = Some(Box::new(move || {
            if let Some(before) = before {
                before();
            }
            on_end();
        }));
        self
    }

    /// The same without content, as an answer to HEAD.
    pub(super) fn without_content(mut self) -> Self {
        self.content = Content::Whole(Bytes::new());
        self
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(on_end) = self.on_end.take() {
            on_end();
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.content {
            Content::Whole(bytes) => std::mem::take(bytes),
            Content::Exposition(exposition) => exposition.next_chunk(),
        };
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining())
    }
}

/// One exposition, family by family; of each its header, then the samples of every namespace in turn.
pub(super) struct Exposition {
    catalogue: Arc<Catalogue>,
    format: Format,
    parts: Vec<Part>,
    next: Position,
    remaining: u64,
}

/// A resource that has objects.
struct Part {
    /// Its place in the catalogue.
    resource: usize,
    /// One for each namespace.
    snapshots: Vec<Arc<Snapshot>>,
}

#[derive(Clone, Copy, Default)]
struct Position {
    part: usize,
    family: usize,
    snapshot: usize,
    block: usize,
}

impl Exposition {
    /// Everything `selection` picks, as it is now. A resource without any object is silent, headers included.
    pub(super) fn new(catalogue: &Arc<Catalogue>, selection: &Selection, format: Format) -> Self {
        let (mut parts, mut remaining) = (Vec::new(), format.end().len() as u64);
        for (index, resource) in catalogue.resources().iter().enumerate() {
            if !selection.picks(resource.plural()) {
                continue;
            }
            let snapshots: Vec<_> = resource.readers().iter().map(crate::store::Reader::snapshot).collect();
            if snapshots.iter().all(|snapshot| snapshot.objects() == 0) {
                continue;
            }
            remaining += resource.headers(format).len() as u64;
            remaining += snapshots.iter().flat_map(|s| s.totals()).map(|family| family.bytes).sum::<u64>();
            parts.push(Part { resource: index, snapshots });
        }
        Self { catalogue: Arc::clone(catalogue), format, parts, next: Position::default(), remaining }
    }

    /// The next chunk; empty at the end.
    fn next_chunk(&mut self) -> Bytes {
        if self.remaining == 0 {
            return Bytes::new();
        }
        let mut chunk = Vec::with_capacity(CHUNK_BYTES.min(usize::try_from(self.remaining).unwrap_or(CHUNK_BYTES)));
        while chunk.len() < CHUNK_BYTES && self.append_next(&mut chunk) {}
        self.remaining = self.remaining.checked_sub(chunk.len() as u64).expect("the totals of a snapshot are exact");
        debug_assert!(!chunk.is_empty(), "the totals of a snapshot are exact");
        Bytes::from(chunk)
    }

    /// Appends a header, or one block's samples of a family; false after the last.
    fn append_next(&mut self, chunk: &mut Vec<u8>) -> bool {
        let next = &mut self.next;
        let Some(part) = self.parts.get(next.part) else {
            if next.part == self.parts.len() {
                next.part += 1;
                chunk.extend_from_slice(self.format.end().as_bytes());
            }
            return false;
        };
        let headers = self.catalogue.resources()[part.resource].headers(self.format);
        if next.family == headers.families() {
            *next = Position { part: next.part + 1, ..Position::default() };
            return true;
        }
        if next.snapshot == 0 && next.block == 0 {
            chunk.extend_from_slice(headers.family(next.family));
        }
        match part.snapshots.get(next.snapshot) {
            None => *next = Position { part: next.part, family: next.family + 1, ..Position::default() },
            Some(snapshot) => match snapshot.blocks().get(next.block) {
                None => *next = Position { snapshot: next.snapshot + 1, block: 0, ..*next },
                Some(block) => {
                    block.append(next.family, chunk);
                    next.block += 1;
                }
            },
        }
        true
    }
}

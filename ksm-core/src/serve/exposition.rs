//! One exposition: of each family its header, then the samples of every namespace in turn; plain or as a gzip member.
//!
//! A gzip member is put together from pieces that are packed already (RFC 1952; see `store::deflate`): a header, the
//! pieces, a final block, and a checksum that follows from those of the pieces.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::query::Selection;
use crate::catalogue::{Catalogue, Headers, ServedResource};
use crate::exposition::Format;
use crate::store::{Block, FINAL, GZIP_HEADER, Packed, Snapshot, TextReader, crc32_combine, gzip_trailer};

/// A chunk is sent once it has grown to this; it may be longer by the text of one block and family.
const CHUNK_BYTES: usize = 128 * 1024;

/// Memory of chunks comes in multiples of this, so that one serves chunks of about the same length.
const ROOM_STEP: usize = 64 * 1024;

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// As it is.
    Identity,
    /// As one gzip member.
    Gzip,
}

/// An exposition on its way out.
pub(super) struct Exposition {
    content: Arc<Content>,
    next: Position,
    /// Bytes that no span was made of yet.
    remaining: u64,
}

/// What an exposition consists of.
struct Content {
    catalogue: Arc<Catalogue>,
    format: Format,
    coding: Coding,
    parts: Vec<Part>,
    /// What ends the body: `# EOF` if the format has it, and what a gzip member ends with.
    end: Vec<u8>,
    /// Memory of chunks that were sent, to be used for the next ones: fresh memory for each would cost a page fault
    /// every 4 KiB.
    sent: Mutex<Vec<Vec<u8>>>,
    readers: Mutex<Vec<TextReader>>,
}

/// A stretch of an exposition that is still to be put together; spans may be, in any order and at the same time.
pub(super) struct Span {
    content: Arc<Content>,
    start: Position,
    bytes: usize,
}

/// A chunk whose memory goes back when it was sent.
struct Chunk {
    /// Longer than the chunk if it was a longer one's before.
    memory: Vec<u8>,
    bytes: usize,
    content: Arc<Content>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.bytes]
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        put_back(&self.content.sent, std::mem::take(&mut self.memory));
    }
}

fn take<T: Default>(pool: &Mutex<Vec<T>>) -> T {
    pool.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
}

fn put_back<T>(pool: &Mutex<Vec<T>>, used: T) {
    pool.lock().unwrap_or_else(PoisonError::into_inner).push(used);
}

/// A resource that has objects.
struct Part {
    /// Its place in the catalogue.
    resource: usize,
    /// One for each namespace.
    snapshots: Vec<Arc<Snapshot>>,
    /// Families to send, by their place in the plan.
    families: Vec<usize>,
}

/// What comes next: the header of a family before its blocks, the end after the last part.
#[derive(Clone, Copy, Default)]
struct Position {
    begun: bool,
    ended: bool,
    part: usize,
    /// Index into the part's families.
    family: usize,
    headed: bool,
    snapshot: usize,
    block: usize,
}

/// A stretch of text that is made in one go.
enum Item<'a> {
    GzipHeader,
    /// The header of a family.
    Header(&'a Headers, usize),
    /// A family's samples of a block.
    Samples(&'a Block, usize),
    End,
}

/// Length and checksum of a gzip member under construction.
#[derive(Clone, Copy, Default)]
struct Member {
    packed: u64,
    plain: u64,
    crc: u32,
}

impl Member {
    fn add(&mut self, packed: u64, crc: u32, plain: u64) {
        if plain > 0 {
            self.crc = crc32_combine(self.crc, crc, plain);
            self.packed += packed;
            self.plain += plain;
        }
    }

    fn add_piece(&mut self, packed: &Packed, family: usize) {
        let piece = packed.piece(family);
        self.add(piece.data.len() as u64, piece.crc, piece.length);
    }
}

impl Exposition {
    /// Everything `selection` picks, as it is now. A resource without any object is silent, headers included.
    ///
    /// For gzip, what is not packed yet is packed first.
    pub(super) fn new(catalogue: &Arc<Catalogue>, selection: &Selection, format: Format, coding: Coding) -> Self {
        let mut parts = Vec::new();
        let mut families_before = 0;
        for (index, resource) in catalogue.resources().iter().enumerate() {
            let families = resource.headers(format).families();
            let picked = (0..families).filter(|family| selection.picks_family(families_before + family)).collect();
            families_before += families;
            if !selection.picks(resource.plural()) {
                continue;
            }
            let snapshots: Vec<_> = resource.readers().iter().map(crate::store::Reader::snapshot).collect();
            if snapshots.iter().any(|snapshot| snapshot.objects() > 0) {
                parts.push(Part { resource: index, snapshots, families: picked });
            }
        }
        let (catalogue, end) = (Arc::clone(catalogue), Vec::new());
        let mut content =
            Content { catalogue, format, coding, parts, end, sent: Mutex::default(), readers: Mutex::default() };
        let remaining = match coding {
            Coding::Identity => content.close_plain(),
            Coding::Gzip => content.close_gzip(),
        };
        Self { content: Arc::new(content), next: Position::default(), remaining }
    }

    /// How many bytes are left that no span was made of.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Whether chunks take more than copying.
    pub(super) fn takes_work(&self) -> bool {
        let all_plain = |snapshot: &Arc<Snapshot>| snapshot.blocks().iter().all(|block| block.is_plain());
        let parts = &self.content.parts;
        self.content.coding == Coding::Identity && !parts.iter().flat_map(|part| &part.snapshots).all(all_plain)
    }

    /// What the next chunk is to be put together from; none at the end.
    pub(super) fn next_span(&mut self) -> Option<Span> {
        let (content, start) = (Arc::clone(&self.content), self.next);
        let mut bytes = 0;
        while bytes < CHUNK_BYTES {
            let Some(item) = content.step(&mut self.next) else { break };
            bytes += content.length(&item);
        }
        self.remaining = self.remaining.checked_sub(bytes as u64).expect("the totals of a snapshot are exact");
        (bytes > 0).then_some(Span { content, start, bytes })
    }

    /// The next chunk; empty at the end.
    pub(super) fn next_chunk(&mut self) -> Bytes {
        self.next_span().map_or_else(Bytes::new, Span::into_chunk)
    }
}

impl Content {
    /// Makes the end of a plain body, and returns the length of the body.
    fn close_plain(&mut self) -> u64 {
        self.end.extend_from_slice(self.format.end().as_bytes());
        let mut length = self.end.len() as u64;
        for part in &self.parts {
            let headers = part.resource(&self.catalogue).headers(self.format);
            for &family in &part.families {
                length += headers.family(family).len() as u64;
                length += part.snapshots.iter().map(|snapshot| snapshot.totals()[family].bytes).sum::<u64>();
            }
        }
        length
    }

    /// Makes the end of a packed body, and returns the length of the body.
    fn close_gzip(&mut self) -> u64 {
        let mut member = Member::default();
        for part in &self.parts {
            let headers = part.resource(&self.catalogue).headers(self.format).packed();
            for &family in &part.families {
                member.add_piece(headers, family);
                for snapshot in &part.snapshots {
                    let packed = snapshot.packed_totals()[family];
                    member.add(packed.bytes, packed.crc, snapshot.totals()[family].bytes);
                }
            }
        }
        let end = Packed::of([self.format.end().as_bytes()]);
        member.add_piece(&end, 0);
        self.end.extend_from_slice(end.piece(0).data);
        self.end.extend_from_slice(&FINAL);
        self.end.extend_from_slice(&gzip_trailer(member.crc, member.plain));
        // The packed end is counted in the member.
        (GZIP_HEADER.len() + FINAL.len() + 8) as u64 + member.packed
    }

    /// The item at `next`, which moves past it; none after the end.
    fn step(&self, next: &mut Position) -> Option<Item<'_>> {
        if self.coding == Coding::Gzip && !next.begun {
            next.begun = true;
            return Some(Item::GzipHeader);
        }
        while let Some(part) = self.parts.get(next.part) {
            let Some(&family) = part.families.get(next.family) else {
                *next = Position { begun: true, part: next.part + 1, ..Position::default() };
                continue;
            };
            if !next.headed {
                next.headed = true;
                return Some(Item::Header(part.resource(&self.catalogue).headers(self.format), family));
            }
            let Some(snapshot) = part.snapshots.get(next.snapshot) else {
                *next = Position { begun: true, part: next.part, family: next.family + 1, ..Position::default() };
                continue;
            };
            let Some(block) = snapshot.blocks().get(next.block) else {
                *next = Position { snapshot: next.snapshot + 1, block: 0, ..*next };
                continue;
            };
            next.block += 1;
            return Some(Item::Samples(block, family));
        }
        (!std::mem::replace(&mut next.ended, true)).then_some(Item::End)
    }

    fn length(&self, item: &Item<'_>) -> usize {
        match (item, self.coding) {
            (Item::Samples(block, family), Coding::Identity) => block.length(*family),
            _ => self.bytes(item).len(),
        }
    }

    /// The bytes of an item that is there as it is sent.
    fn bytes<'a>(&'a self, item: &Item<'a>) -> &'a [u8] {
        match (item, self.coding) {
            (Item::GzipHeader, _) => &GZIP_HEADER,
            (Item::Header(headers, family), Coding::Identity) => headers.family(*family),
            (Item::Header(headers, family), Coding::Gzip) => headers.packed().piece(*family).data,
            (Item::Samples(block, family), _) => block.packed().piece(*family).data,
            (Item::End, _) => &self.end,
        }
    }
}

impl Span {
    /// Puts it together. Plain text of packed blocks takes about a millisecond a megabyte.
    pub(super) fn into_chunk(self) -> Bytes {
        let Self { content, start: mut next, bytes } = self;
        let (mut memory, mut reader) = (take(&content.sent), take(&content.readers));
        if memory.len() < bytes {
            memory.resize(bytes.next_multiple_of(ROOM_STEP), 0);
        }
        let mut room = &mut memory[..bytes];
        while !room.is_empty() {
            let item = content.step(&mut next).expect("a span ends before the exposition does");
            let (here, rest) = room.split_at_mut(content.length(&item));
            match (&item, content.coding) {
                (Item::Samples(block, family), Coding::Identity) => block.read(*family, &mut reader, here),
                _ => here.copy_from_slice(content.bytes(&item)),
            }
            room = rest;
        }
        put_back(&content.readers, reader);
        Bytes::from_owner(Chunk { memory, bytes, content })
    }
}

/// Writes everything there is, plain.
///
/// # Errors
/// `out` does not take it.
pub fn write_all(catalogue: &Arc<Catalogue>, format: Format, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let mut exposition = Exposition::new(catalogue, &Selection::default(), format, Coding::Identity);
    loop {
        let chunk = exposition.next_chunk();
        if chunk.is_empty() {
            return out.flush();
        }
        out.write_all(&chunk)?;
    }
}

impl Part {
    fn resource<'a>(&self, catalogue: &'a Catalogue) -> &'a ServedResource {
        &catalogue.resources()[self.resource]
    }
}

//! One exposition: of each family its header, then the samples of every namespace in turn; plain or as a gzip member.
//!
//! A gzip member is put together from pieces that are packed already (RFC 1952; see `store::deflate`): a header, the
//! pieces, a final block, and a checksum that follows from those of the pieces.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::query::Selection;
use crate::catalogue::{Catalogue, ServedResource};
use crate::exposition::Format;
use crate::store::{FINAL, GZIP_HEADER, Packed, Snapshot, TextReader, crc32_combine, gzip_trailer};

/// A chunk is sent once it has grown to this; it may be longer by the text of one block and family.
const CHUNK_BYTES: usize = 128 * 1024;

/// What a chunk takes as a rule, the last block's text included.
const CHUNK_ROOM: usize = CHUNK_BYTES + 32 * 1024;

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
    catalogue: Arc<Catalogue>,
    format: Format,
    coding: Coding,
    parts: Vec<Part>,
    next: Position,
    remaining: u64,
    /// What ends the body: `# EOF` if the format has it, and what a gzip member ends with.
    end: Vec<u8>,
    reader: TextReader,
    sent: Sent,
}

/// Memory of chunks that were sent, to be used for the next ones: fresh memory for each would cost a page fault every
/// 4 KiB.
type Sent = Arc<Mutex<Vec<Vec<u8>>>>;

/// A chunk whose memory goes back when it was sent.
struct Chunk {
    bytes: Vec<u8>,
    sent: Sent,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
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

#[derive(Clone, Copy, Default)]
struct Position {
    part: usize,
    /// Index into the part's families.
    family: usize,
    snapshot: usize,
    block: usize,
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
        let catalogue = Arc::clone(catalogue);
        let (next, reader, sent) = (Position::default(), TextReader::default(), Sent::default());
        let mut new = Self { catalogue, format, coding, parts, next, remaining: 0, end: Vec::new(), reader, sent };
        match coding {
            Coding::Identity => new.close_plain(),
            Coding::Gzip => new.close_gzip(),
        }
        new
    }

    fn close_plain(&mut self) {
        self.end.extend_from_slice(self.format.end().as_bytes());
        self.remaining = self.end.len() as u64;
        for part in &self.parts {
            let headers = part.resource(&self.catalogue).headers(self.format);
            for &family in &part.families {
                self.remaining += headers.family(family).len() as u64;
                self.remaining += part.snapshots.iter().map(|snapshot| snapshot.totals()[family].bytes).sum::<u64>();
            }
        }
    }

    fn close_gzip(&mut self) {
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
        self.remaining = (GZIP_HEADER.len() + FINAL.len() + 8) as u64 + member.packed;
    }

    /// How many bytes are left.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Whether chunks take more than copying.
    pub(super) fn takes_work(&self) -> bool {
        let all_plain = |snapshot: &Arc<Snapshot>| snapshot.blocks().iter().all(|block| block.is_plain());
        self.coding == Coding::Identity && !self.parts.iter().flat_map(|part| &part.snapshots).all(all_plain)
    }

    /// The next chunk; empty at the end.
    pub(super) fn next_chunk(&mut self) -> Bytes {
        if self.remaining == 0 {
            return Bytes::new();
        }
        let again = self.sent.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let room = CHUNK_ROOM.min(usize::try_from(self.remaining).unwrap_or(CHUNK_ROOM));
        let mut chunk = again.unwrap_or_else(|| Vec::with_capacity(room));
        if self.coding == Coding::Gzip && self.next.is_start() {
            chunk.extend_from_slice(&GZIP_HEADER);
        }
        while chunk.len() < CHUNK_BYTES && self.append_next(&mut chunk) {}
        self.remaining = self.remaining.checked_sub(chunk.len() as u64).expect("the totals of a snapshot are exact");
        debug_assert!(!chunk.is_empty(), "the totals of a snapshot are exact");
        Bytes::from_owner(Chunk { bytes: chunk, sent: Arc::clone(&self.sent) })
    }

    /// Appends a header, or one block's samples of a family; false after the last.
    fn append_next(&mut self, chunk: &mut Vec<u8>) -> bool {
        let next = &mut self.next;
        let Some(part) = self.parts.get(next.part) else {
            if next.part == self.parts.len() {
                next.part += 1;
                chunk.extend_from_slice(&self.end);
            }
            return false;
        };
        let Some(&family) = part.families.get(next.family) else {
            *next = Position { part: next.part + 1, ..Position::default() };
            return true;
        };
        let headers = part.resource(&self.catalogue).headers(self.format);
        if next.snapshot == 0 && next.block == 0 {
            chunk.extend_from_slice(match self.coding {
                Coding::Identity => headers.family(family),
                Coding::Gzip => headers.packed().piece(family).data,
            });
        }
        match part.snapshots.get(next.snapshot) {
            None => *next = Position { part: next.part, family: next.family + 1, ..Position::default() },
            Some(snapshot) => match snapshot.blocks().get(next.block) {
                None => *next = Position { snapshot: next.snapshot + 1, block: 0, ..*next },
                Some(block) => {
                    match self.coding {
                        Coding::Identity => block.append(family, &mut self.reader, chunk),
                        Coding::Gzip => chunk.extend_from_slice(block.packed().piece(family).data),
                    }
                    next.block += 1;
                }
            },
        }
        true
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

impl Position {
    fn is_start(&self) -> bool {
        (self.part, self.family, self.snapshot, self.block) == (0, 0, 0, 0)
    }
}

//! The metric store: sample text by object and family, kept in blocks, read through immutable snapshots.
//!
//! ```text
//!                     new, or no room in a sealed block
//!   apply ──▶ hot block ◀──────────────── taken apart ◀─┐ thinned out
//!              plain text                                │
//!                  │ full, quiet, and more              │
//!                  ▼ plain text than a set may have     │
//!             sealed block ──────────────────────────────┘
//!              packed text + waiting changes ──▶ folded in when readers are shown changes
//! ```
//!
//! One writer changes a [`Store`]; readers load the last published [`Snapshot`] and share no lock with it. A relist is
//! built aside as a [`Relist`] and swapped in whole, so readers see all of the old view or all of the new one.

mod block;
mod deflate;
mod hot;
mod objects;
mod published;
mod relist;
mod sealed;

use std::sync::{Arc, OnceLock};

pub use block::{BLOCK_OBJECTS, Block, Packed, Piece, TextReader};
pub use deflate::{FINAL, GZIP_HEADER, crc32_combine, gzip_trailer};
pub use objects::{Applied, ObjectKey};
pub use relist::Relist;

use self::objects::{Objects, Pass};
use self::published::Published;
use crate::resource::Rendered;

/// How much of a set may be plain text, in bytes.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// In blocks that could be sealed. So small sets, which are most, stay plain: a change to them costs a copy, and
    /// reading them nothing else.
    plain: usize,
    /// Of changes that readers were not shown yet; with more, they are packed.
    unshown: usize,
    /// Of objects that a relist finds otherwise; further ones are packed as if they were new.
    relisted: usize,
}

impl Limits {
    const DEFAULT: Self = Self { plain: 1024 * 1024, unshown: 8 * 1024 * 1024, relisted: 4 * 1024 * 1024 };
}

/// Changes that readers were not shown yet may be this part of all plain text, in sets in which their limit is little.
const UNSHOWN_PART: u64 = 32;

/// The objects of one list/watch, and what readers see of them.
pub struct Store {
    objects: Objects,
    published: Published,
    changed: bool,
    threads: usize,
    unshown_limit: usize,
}

impl Store {
    /// An empty store for objects with `families` families each, which works on one thread.
    pub fn new(families: usize) -> Self {
        let objects = Objects::new(families);
        let published = Published::new(Snapshot::empty(families));
        Self { objects, published, changed: false, threads: 1, unshown_limit: Limits::DEFAULT.unshown }
    }

    /// The same, working on up to `threads` threads when it publishes.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// A handle on what is published; cheap to clone.
    pub fn reader(&self) -> Reader {
        Reader { published: self.published.clone() }
    }

    /// Adds or replaces an object; readers see it after [`Store::publish`].
    pub fn apply(&mut self, key: ObjectKey, rendered: &Rendered) -> Applied {
        let applied = self.objects.apply(key, rendered);
        self.changed |= applied != Applied::Unchanged;
        applied
    }

    /// Takes an object out, if it is there; readers see it after [`Store::publish`].
    pub fn delete(&mut self, key: ObjectKey) -> bool {
        let deleted = self.objects.delete(key);
        self.changed |= deleted;
        deleted
    }

    /// Takes out every object that `keep` does not hold on to; readers see it after [`Store::publish`]. Returns how many.
    pub fn retain(&mut self, keep: impl FnMut(ObjectKey) -> bool) -> usize {
        let before = self.len();
        self.objects.retain(keep);
        let gone = before - self.len();
        self.changed |= gone > 0;
        gone
    }

    /// Whether it holds that object, published or not.
    pub fn contains(&self, key: ObjectKey) -> bool {
        self.objects.contains(key)
    }

    /// A new view to build aside from what is served. The store must not change until it is
    /// [swapped in](Self::replace) or dropped.
    pub fn relist(&self) -> Relist {
        Relist::new(&self.objects)
    }

    /// Adds an object to a new view, or replaces it there.
    pub fn relist_apply(&self, relist: &mut Relist, key: ObjectKey, rendered: &Rendered) {
        relist.apply(&self.objects, key, rendered);
    }

    /// Keeps an object of which nothing else is known in a new view as it is, if it is there.
    pub fn relist_keep(&self, relist: &mut Relist, key: ObjectKey) {
        relist.keep(&self.objects, key);
    }

    /// Takes an object out of a new view.
    pub fn relist_delete(&self, relist: &mut Relist, key: ObjectKey) {
        relist.delete(key);
    }

    /// Swaps in a whole new view and publishes it.
    pub fn replace(&mut self, relist: Relist) {
        relist.finish(&mut self.objects);
        self.changed = true;
        self.publish();
    }

    /// Whether there are changes that readers do not see yet.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Whether publishing costs next to nothing, so that each change may be shown at once.
    pub fn is_cheap(&self) -> bool {
        self.objects.is_plain()
    }

    /// Whether what readers were not shown yet takes so much that it is time to [pack it](Self::relieve).
    pub fn is_swollen(&self) -> bool {
        self.changed && self.objects.unshown_bytes() > self.unshown_limit
    }

    /// Packs what readers were not shown yet, which costs far less than showing it to them. Returns false if that still
    /// leaves so much that it should be published though nobody asks.
    pub fn relieve(&mut self) -> bool {
        self.objects.pack_unshown();
        self.objects.unshown_bytes() <= self.unshown_limit / 2
    }

    /// Shows readers every change so far, in one step. Takes processor time in proportion to the blocks that changed.
    pub fn publish(&mut self) {
        if !self.changed {
            return;
        }
        let seal_all = self.is_swollen();
        let snapshot = Arc::new(self.objects.show(Pass { threads: self.threads, seal_all }));
        let bytes: u64 = snapshot.totals().iter().map(|total| total.bytes).sum();
        self.unshown_limit =
            self.objects.limits().unshown.max(usize::try_from(bytes / UNSHOWN_PART).unwrap_or(usize::MAX));
        self.published.store(snapshot);
        self.changed = false;
    }

    /// How many threads it works on at most.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How many objects it holds, published or not.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it holds no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Reads what a [`Store`] published last.
#[derive(Clone, Debug)]
pub struct Reader {
    published: Published,
}

impl Reader {
    /// The view published last; it stays as it is however long it is held.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load()
    }
}

/// One immutable view of a store.
#[derive(Debug)]
pub struct Snapshot {
    blocks: Vec<Arc<Block>>,
    objects: usize,
    families: Box<[Totals]>,
    packed: OnceLock<Box<[PackedTotals]>>,
}

/// Sums over all objects, for one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of plain text, headers not counted.
    pub bytes: u64,
    /// Sample lines.
    pub samples: u64,
}

/// What the pieces of one family come to, laid end to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedTotals {
    /// Bytes of all pieces.
    pub bytes: u64,
    /// CRC-32 of the plain text.
    pub crc: u32,
}

impl Snapshot {
    fn new(blocks: Vec<Arc<Block>>, objects: usize, families: Vec<Totals>) -> Self {
        Self { blocks, objects, families: families.into(), packed: OnceLock::new() }
    }

    fn empty(families: usize) -> Self {
        Self::new(Vec::new(), 0, vec![Totals::default(); families])
    }

    /// How many objects it holds.
    pub fn objects(&self) -> usize {
        self.objects
    }

    /// Sums by family, in plan order.
    pub fn totals(&self) -> &[Totals] {
        &self.families
    }

    /// Blocks in order of arrival.
    pub fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }

    /// Sums over pieces by family, in plan order. The first call packs what is still plain: some 3 ms a megabyte.
    pub fn packed_totals(&self) -> &[PackedTotals] {
        self.packed.get_or_init(|| {
            let mut totals = vec![PackedTotals::default(); self.families.len()];
            for block in &self.blocks {
                let packed = block.packed();
                for (family, total) in totals.iter_mut().enumerate() {
                    let Piece { data, crc, length } = packed.piece(family);
                    if length > 0 {
                        total.crc = crc32_combine(total.crc, crc, length);
                        total.bytes += data.len() as u64;
                    }
                }
            }
            totals.into()
        })
    }

    /// Bytes of plain text that [`Snapshot::packed_totals`] would pack.
    pub fn unpacked_bytes(&self) -> u64 {
        if self.packed.get().is_some() { 0 } else { self.blocks.iter().map(|block| block.unpacked_bytes()).sum() }
    }

    /// Bytes of packed text that it keeps.
    pub fn packed_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.packed_bytes()).sum()
    }
}

#[cfg(test)]
mod tests;

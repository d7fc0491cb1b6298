//! The metric store: sample text by object and family, kept in blocks, read through immutable snapshots.
//!
//! One writer changes a [`Store`]; readers load the last published [`Snapshot`] and share no lock with it. A relist is
//! built aside as [`Objects`] and swapped in whole, so readers see all of the old view or all of the new one.

mod block;
mod objects;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use block::{BLOCK_OBJECTS, Block};
pub use objects::{Applied, ObjectKey, Objects};

use crate::resource::Rendered;

/// The objects of one list/watch, and what readers see of them.
#[derive(Debug)]
pub struct Store {
    objects: Objects,
    published: Arc<ArcSwap<Snapshot>>,
    changed: bool,
}

impl Store {
    /// An empty store for objects with `families` families each.
    pub fn new(families: usize) -> Self {
        let objects = Objects::new(families);
        let published = Arc::new(ArcSwap::from_pointee(objects.snapshot()));
        Self { objects, published, changed: false }
    }

    /// A handle on what is published; cheap to clone.
    pub fn reader(&self) -> Reader {
        Reader { published: Arc::clone(&self.published) }
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

    /// An empty set to build a new view in, aside from what is served.
    pub fn replacement(&self) -> Objects {
        Objects::new(self.objects.families())
    }

    /// Swaps in a whole new view and publishes it.
    pub fn replace(&mut self, objects: Objects) {
        self.objects = objects;
        self.changed = true;
        self.publish();
    }

    /// Shows readers every change so far, in one step.
    pub fn publish(&mut self) {
        if self.changed {
            self.published.store(Arc::new(self.objects.snapshot()));
            self.changed = false;
        }
    }

    /// How many objects it holds, published or not.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it holds no object.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

/// Reads what a [`Store`] published last.
#[derive(Clone, Debug)]
pub struct Reader {
    published: Arc<ArcSwap<Snapshot>>,
}

impl Reader {
    /// The view published last; it stays as it is however long it is held.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.load_full()
    }
}

/// One immutable view of a store.
#[derive(Debug)]
pub struct Snapshot {
    blocks: Vec<Arc<Block>>,
    objects: usize,
    families: Box<[Totals]>,
}

/// Sums over all objects, for one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of plain text, headers not counted.
    pub bytes: u64,
    /// Sample lines.
    pub samples: u64,
}

impl Snapshot {
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
}

#[cfg(test)]
mod tests;

//! Blocks whose objects are new or still change: plain text, changed in place.

use std::sync::Arc;

use super::block::{BLOCK_BYTES, BLOCK_OBJECTS, Block, ObjectText};
use super::objects::ObjectKey;
use crate::resource::Rendered;

/// Objects with more text than this, or more samples of one family than a sealed block counts, stay plain for good.
const SEALABLE_BYTES: usize = 16 * 1024 * 1024;

/// Whether a sealed block can hold an object with that text.
pub(super) fn is_sealable(rendered: &Rendered) -> bool {
    rendered.text.len() <= SEALABLE_BYTES && rendered.samples.iter().all(|&samples| samples <= u32::from(u16::MAX))
}

/// A block of plain text. Slots of deleted objects stay empty, so that others keep theirs.
#[derive(Debug)]
pub(super) struct Hot {
    keys: Vec<ObjectKey>,
    objects: Vec<Option<Arc<ObjectText>>>,
    families: usize,
    bytes: usize,
    /// Since readers were last shown it.
    changed: bool,
    block: Arc<Block>,
}

impl Hot {
    pub(super) fn new(families: usize) -> Self {
        let block = Arc::new(Block::plain(Box::default(), families));
        Self { keys: Vec::new(), objects: Vec::new(), families, bytes: 0, changed: false, block }
    }

    /// Whether no more objects are to be added.
    pub(super) fn is_full(&self) -> bool {
        self.objects.len() >= BLOCK_OBJECTS || self.bytes >= BLOCK_BYTES
    }

    /// Whether nothing changed since readers were last shown it.
    pub(super) fn is_quiet(&self) -> bool {
        !self.changed
    }

    /// Whether a sealed block can hold all its objects.
    pub(super) fn is_sealable(&self) -> bool {
        self.live().all(|(_, object)| {
            object.len() <= SEALABLE_BYTES && (0..self.families).all(|f| object.samples(f) <= u32::from(u16::MAX))
        })
    }

    /// Objects that are there, with their keys.
    pub(super) fn live(&self) -> impl Iterator<Item = (ObjectKey, &Arc<ObjectText>)> {
        self.keys.iter().zip(&self.objects).filter_map(|(&key, object)| object.as_ref().map(|object| (key, object)))
    }

    /// Every slot, empty ones too.
    pub(super) fn slots(&self) -> &[Option<Arc<ObjectText>>] {
        &self.objects
    }

    /// The key of each slot's object, there or not any more.
    pub(super) fn keys(&self) -> &[ObjectKey] {
        &self.keys
    }

    pub(super) fn len(&self) -> usize {
        self.live().count()
    }

    /// Bytes of text.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an object and returns its slot; there must be one left.
    pub(super) fn push(&mut self, key: ObjectKey, object: Arc<ObjectText>) -> u8 {
        let slot = u8::try_from(self.objects.len()).expect("a block has few slots");
        self.bytes += object.len();
        self.keys.push(key);
        self.objects.push(Some(object));
        self.changed = true;
        slot
    }

    /// Replaces the text of an object; false if it already is what it would become.
    pub(super) fn replace(&mut self, slot: u8, rendered: &Rendered) -> bool {
        let object = self.objects[usize::from(slot)].as_mut().expect("the index names slots that are taken");
        if object.is(rendered) {
            return false;
        }
        self.bytes -= object.len();
        *object = Arc::new(ObjectText::new(rendered));
        self.bytes += object.len();
        self.changed = true;
        true
    }

    /// Whether the text of an object is what `rendered` says.
    pub(super) fn is(&self, slot: u8, rendered: &Rendered) -> bool {
        self.objects[usize::from(slot)].as_ref().is_some_and(|object| object.is(rendered))
    }

    pub(super) fn remove(&mut self, slot: u8) {
        let object = self.objects[usize::from(slot)].take().expect("the index names slots that are taken");
        self.bytes -= object.len();
        self.changed = true;
    }

    /// The block as it is now, for readers.
    pub(super) fn show(&mut self) -> Arc<Block> {
        if self.changed {
            let objects = self.objects.iter().flatten().map(Arc::clone).collect();
            self.block = Arc::new(Block::plain(objects, self.families));
            self.changed = false;
        }
        Arc::clone(&self.block)
    }
}

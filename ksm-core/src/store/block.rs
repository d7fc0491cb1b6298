//! A block: up to [`BLOCK_OBJECTS`] objects, the unit of sharing between snapshots.
//!
//! A block is never changed once a snapshot holds it; the writer then works on a copy.

use std::sync::Arc;

use super::{ObjectKey, Totals};
use crate::resource::Rendered;

/// How many objects a block holds at most.
pub const BLOCK_OBJECTS: usize = 64;

/// Sample text of a few objects.
#[derive(Clone, Debug, Default)]
pub struct Block {
    objects: Vec<Arc<ObjectText>>,
}

/// Sample text of one object, family after family in plan order.
#[derive(Debug)]
struct ObjectText {
    key: ObjectKey,
    text: Box<[u8]>,
    ends: Box<[u32]>,
    samples: Box<[u32]>,
}

impl ObjectText {
    fn new(key: ObjectKey, rendered: &Rendered) -> Self {
        Self {
            key,
            text: rendered.text.as_slice().into(),
            ends: rendered.ends.as_slice().into(),
            samples: rendered.samples.as_slice().into(),
        }
    }

    fn family(&self, family: usize) -> &[u8] {
        let start = if family == 0 { 0 } else { self.ends[family - 1] };
        &self.text[start as usize..self.ends[family] as usize]
    }

    /// Adds this object's sums to, or takes them from, those of each family.
    fn count(&self, totals: &mut [Totals], add: bool) {
        for (family, total) in totals.iter_mut().enumerate() {
            let (bytes, samples) = (self.family(family).len() as u64, u64::from(self.samples[family]));
            if add {
                total.bytes += bytes;
                total.samples += samples;
            } else {
                total.bytes -= bytes;
                total.samples -= samples;
            }
        }
    }
}

impl Block {
    /// Appends the sample lines of `family` (its place in the plan), object after object.
    pub fn append(&self, family: usize, out: &mut Vec<u8>) {
        for object in &self.objects {
            out.extend_from_slice(object.family(family));
        }
    }

    /// How many objects it holds.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it holds no object.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.objects.len() >= BLOCK_OBJECTS
    }

    pub(super) fn push(&mut self, key: ObjectKey, rendered: &Rendered, totals: &mut [Totals]) {
        let object = ObjectText::new(key, rendered);
        object.count(totals, true);
        self.objects.push(Arc::new(object));
    }

    /// Replaces the text of an object; false, and nothing done, if it already is what it would become.
    pub(super) fn replace(this: &mut Arc<Self>, key: ObjectKey, rendered: &Rendered, totals: &mut [Totals]) -> bool {
        let slot = this.slot(key);
        let old = &this.objects[slot];
        if *old.text == *rendered.text && *old.ends == *rendered.ends {
            return false;
        }
        old.count(totals, false);
        let object = ObjectText::new(key, rendered);
        object.count(totals, true);
        Arc::make_mut(this).objects[slot] = Arc::new(object);
        true
    }

    pub(super) fn remove(this: &mut Arc<Self>, key: ObjectKey, totals: &mut [Totals]) {
        let slot = this.slot(key);
        let object = Arc::make_mut(this).objects.remove(slot);
        object.count(totals, false);
    }

    fn slot(&self, key: ObjectKey) -> usize {
        self.objects.iter().position(|object| object.key == key).expect("the index names the block that has the object")
    }
}

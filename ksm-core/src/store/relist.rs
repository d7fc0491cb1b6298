//! A list built aside from what is served.
//!
//! Most objects of a relist are what they were. Those are only ticked off, so that a relist takes little more memory
//! than what really changed.

use std::collections::{HashMap, HashSet};

use super::block::{BLOCK_BYTES, BLOCK_OBJECTS};
use super::objects::{ObjectKey, Objects};
use super::sealed::Workshop;
use crate::resource::Rendered;

/// A list under construction. Dropping it changes nothing.
pub struct Relist {
    /// Objects that are there already, as they are.
    unchanged: HashSet<ObjectKey>,
    /// Objects that are there already, otherwise.
    changed: HashMap<ObjectKey, Box<Rendered>>,
    changed_bytes: usize,
    /// Objects that are new, or changed when too many had.
    fresh: Objects,
    shop: Workshop,
    /// Objects and bytes of text that came since full blocks were packed.
    pushed: (usize, usize),
    hashes: Vec<u64>,
}

impl Relist {
    pub(super) fn new(current: &Objects) -> Self {
        Self {
            unchanged: HashSet::new(),
            changed: HashMap::new(),
            changed_bytes: 0,
            fresh: current.sibling(),
            shop: Workshop::default(),
            pushed: (0, 0),
            hashes: Vec::new(),
        }
    }

    pub(super) fn apply(&mut self, current: &Objects, key: ObjectKey, rendered: &Rendered) {
        if self.fresh.contains(key) {
            self.fresh.apply(key, rendered);
            return;
        }
        match current.compare(key, rendered, &mut self.hashes) {
            Some(true) => {
                self.forget_change(key);
                self.unchanged.insert(key);
            }
            Some(false) => {
                self.forget_change(key);
                self.unchanged.remove(&key);
                if self.changed_bytes <= current.limits().relisted {
                    self.changed_bytes += rendered.text.len();
                    self.changed.insert(key, Box::new(rendered.text_only()));
                } else {
                    self.push(key, rendered);
                }
            }
            None => self.push(key, rendered),
        }
    }

    /// Keeps an object that is there already as it is, unless the list has it otherwise.
    pub(super) fn keep(&mut self, current: &Objects, key: ObjectKey) {
        if current.contains(key) && !self.changed.contains_key(&key) && !self.fresh.contains(key) {
            self.unchanged.insert(key);
        }
    }

    /// Takes an object out again.
    pub(super) fn delete(&mut self, key: ObjectKey) {
        self.fresh.delete(key);
        self.forget_change(key);
        self.unchanged.remove(&key);
    }

    /// How many objects it has.
    pub fn len(&self) -> usize {
        self.unchanged.len() + self.changed.len() + self.fresh.len()
    }

    /// Whether it has no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes `current` what the list says.
    pub(super) fn finish(mut self, current: &mut Objects) {
        current.retain(|key| self.unchanged.contains(&key) || self.changed.contains_key(&key));
        // Before anything is applied, which may need a new block: the numbers of these are taken.
        current.append(self.fresh);
        for (key, rendered) in self.changed.drain() {
            current.apply(key, &rendered);
        }
    }

    fn forget_change(&mut self, key: ObjectKey) {
        if let Some(rendered) = self.changed.remove(&key) {
            self.changed_bytes -= rendered.text.len();
        }
    }

    fn push(&mut self, key: ObjectKey, rendered: &Rendered) {
        self.fresh.apply(key, rendered);
        self.pushed = (self.pushed.0 + 1, self.pushed.1 + rendered.text.len());
        if self.pushed.0 >= BLOCK_OBJECTS || self.pushed.1 >= BLOCK_BYTES {
            self.pushed = (0, 0);
            self.fresh.seal_full(&mut self.shop);
        }
    }
}

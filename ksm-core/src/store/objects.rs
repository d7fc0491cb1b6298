//! A set of objects that one writer changes: blocks, and an index from object to block.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use md5::{Digest, Md5};

use super::{Block, Snapshot, Totals};
use crate::resource::Rendered;
use crate::view::ObjectMeta;

/// What identifies an object in a store: its UID, or namespace and name where it has none (manifests).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey(u128);

impl ObjectKey {
    /// The key of the object with that metadata.
    pub fn new(meta: &ObjectMeta) -> Self {
        match meta.uid.as_str() {
            "" => Self::digest(&[&meta.namespace, "/", &meta.name]),
            uid => Self::from_uid(uid),
        }
    }

    /// The key of the object with that UID.
    pub fn from_uid(uid: &str) -> Self {
        parse_uuid(uid).map_or_else(|| Self::digest(&[uid]), Self)
    }

    fn digest(parts: &[&str]) -> Self {
        let mut md5 = Md5::new();
        parts.iter().for_each(|part| md5.update(part));
        Self(u128::from_be_bytes(md5.finalize().into()))
    }
}

/// The 128 bits of `8-4-4-4-12` lower-case hexadecimal digits, the form the API server gives every UID.
fn parse_uuid(text: &str) -> Option<u128> {
    let bytes = text.as_bytes();
    if bytes.len() != 36 {
        return None;
    }
    bytes.iter().enumerate().try_fold(0_u128, |value, (i, &byte)| {
        let digit = match (i, byte) {
            (8 | 13 | 18 | 23, b'-') => return Some(value),
            (8 | 13 | 18 | 23, _) => return None,
            (_, b'0'..=b'9') => byte - b'0',
            (_, b'a'..=b'f') => byte - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u128::from(digit))
    })
}

/// What applying an object did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was not there before.
    Added,
    /// Its text changed.
    Changed,
    /// Its text is what it was.
    Unchanged,
}

/// A set of objects under change.
#[derive(Debug)]
pub struct Objects {
    /// Blocks by number; numbers only grow, so their order is the order of arrival.
    blocks: BTreeMap<u32, Arc<Block>>,
    index: HashMap<ObjectKey, u32>,
    totals: Box<[Totals]>,
}

impl Objects {
    /// An empty set of objects with `families` families each.
    pub fn new(families: usize) -> Self {
        Self { blocks: BTreeMap::new(), index: HashMap::new(), totals: vec![Totals::default(); families].into() }
    }

    /// Adds or replaces an object.
    pub fn apply(&mut self, key: ObjectKey, rendered: &Rendered) -> Applied {
        debug_assert_eq!(rendered.ends.len(), self.totals.len());
        if let Some(number) = self.index.get(&key) {
            let block = self.blocks.get_mut(number).expect("the index names blocks that exist");
            let changed = Block::replace(block, key, rendered, &mut self.totals);
            return if changed { Applied::Changed } else { Applied::Unchanged };
        }
        let last = self.blocks.last_key_value().map(|(&number, block)| (number, block.is_full()));
        let number = match last {
            Some((number, false)) => number,
            Some((number, true)) => number + 1,
            None => 0,
        };
        Arc::make_mut(self.blocks.entry(number).or_default()).push(key, rendered, &mut self.totals);
        self.index.insert(key, number);
        Applied::Added
    }

    /// Takes an object out; false if it was not there.
    pub fn delete(&mut self, key: ObjectKey) -> bool {
        let Some(number) = self.index.remove(&key) else { return false };
        let block = self.blocks.get_mut(&number).expect("the index names blocks that exist");
        Block::remove(block, key, &mut self.totals);
        if block.is_empty() {
            self.blocks.remove(&number);
        }
        true
    }

    /// How many objects it holds.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether it holds no object.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// How many families each object has.
    pub fn families(&self) -> usize {
        self.totals.len()
    }

    /// An immutable view of it as it is now; shares all text.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { blocks: self.blocks.values().cloned().collect(), objects: self.len(), families: self.totals.clone() }
    }
}

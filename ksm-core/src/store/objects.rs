//! A set of objects that one writer changes: blocks, and an index from object to block.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use md5::{Digest, Md5};

use super::block::{BLOCK_BYTES, ObjectText};
use super::hot::{Hot, is_sealable};
use super::sealed::{Sealed, Workshop, hash_families};
use super::{BLOCK_OBJECTS, Limits, Snapshot, Totals};
use crate::resource::Rendered;
use crate::view::ObjectMeta;

/// A block to which nothing is added any more, with fewer objects than this and less text than that, is taken apart, and
/// its objects are put with new ones.
const THIN: (usize, usize) = (BLOCK_OBJECTS / 2, BLOCK_BYTES / 2);

/// So many blocks are taken apart before what they held is packed again, so that little of it is plain at a time.
const BLOCKS_APART: usize = 16;

/// So many blocks to work on are worth a thread.
const BLOCKS_A_THREAD: usize = 4;

/// What identifies an object in a store: its UID, or namespace and name where it has none (manifests).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey([u64; 2]);

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
        parse_uuid(uid).map_or_else(|| Self::digest(&[uid]), Self::from_bits)
    }

    /// Whether [`ObjectKey::uuid`] gives that UID back.
    pub fn is_reversible(uid: &str) -> bool {
        parse_uuid(uid).is_some()
    }

    /// The UID it was made from, if that was a UUID as the API server writes it; else a UUID that says nothing.
    pub fn uuid(self) -> String {
        let [high, low] = self.0;
        let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
        format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
    }

    fn digest(parts: &[&str]) -> Self {
        let mut md5 = Md5::new();
        parts.iter().for_each(|part| md5.update(part));
        Self::from_bits(u128::from_be_bytes(md5.finalize().into()))
    }

    fn from_bits(bits: u128) -> Self {
        Self([(bits >> 64) as u64, bits as u64])
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

/// Where an object is.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: u32,
    slot: u8,
}

#[derive(Debug)]
enum Held {
    Hot(Hot),
    Sealed(Sealed),
}

impl Held {
    /// Whether too little is left in it; asked of blocks to which nothing is added any more.
    fn is_thin(&self) -> bool {
        let (objects, bytes) = THIN;
        match self {
            Self::Hot(hot) => hot.len() < objects && hot.bytes() < bytes,
            Self::Sealed(sealed) => sealed.len() < objects && sealed.plain_bytes() < bytes,
        }
    }
}

/// A set of objects under change.
#[derive(Debug)]
pub(super) struct Objects {
    /// Blocks by number; numbers only grow, so their order is the order of arrival.
    blocks: BTreeMap<u32, Held>,
    index: HashMap<ObjectKey, Place>,
    families: usize,
    /// Number of the next block.
    next: u32,
    seed: u64,
    limits: Limits,
    /// Bytes of text and changes that came since readers were last shown something, about.
    unshown: usize,
    hashes: Vec<u64>,
}

/// What is done to blocks when readers are to be shown changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// Threads to use at most.
    pub threads: usize,
    /// Seal what still changes as well.
    pub seal_all: bool,
}

/// What a pass does to one block.
#[derive(Clone, Copy)]
enum Work {
    Fold,
    Seal,
}

impl Objects {
    /// An empty set of objects with `families` families each.
    pub(super) fn new(families: usize) -> Self {
        let seed = RandomState::new().hash_one(families);
        Self {
            blocks: BTreeMap::new(),
            index: HashMap::new(),
            families,
            next: 0,
            seed,
            limits: Limits::DEFAULT,
            unshown: 0,
            hashes: Vec::new(),
        }
    }

    /// The same with other limits.
    #[cfg(test)]
    pub(super) fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// An empty set whose blocks can be [appended](Self::append) to this one's.
    pub(super) fn sibling(&self) -> Self {
        Self { next: self.next, seed: self.seed, limits: self.limits, ..Self::new(self.families) }
    }

    /// Adds or replaces an object.
    pub(super) fn apply(&mut self, key: ObjectKey, rendered: &Rendered) -> Applied {
        debug_assert_eq!(rendered.ends.len(), self.families);
        let Some(&place) = self.index.get(&key) else {
            self.push(key, Arc::new(ObjectText::new(rendered)));
            return Applied::Added;
        };
        let changed = match self.held(place) {
            Held::Hot(hot) => {
                let changed = hot.replace(place.slot, rendered);
                self.unshown += if changed { rendered.text.len() } else { 0 };
                changed
            }
            Held::Sealed(_) if !is_sealable(rendered) => {
                self.delete(key);
                self.push(key, Arc::new(ObjectText::new(rendered)));
                true
            }
            Held::Sealed(_) => {
                let mut hashes = std::mem::take(&mut self.hashes);
                hash_families(&rendered.text, &rendered.ends, self.seed, &mut hashes);
                let Held::Sealed(sealed) = self.held(place) else { unreachable!("it was just seen") };
                let before = sealed.waiting_bytes();
                let changed = sealed.replace(place.slot, rendered, &hashes);
                self.unshown += sealed.waiting_bytes().saturating_sub(before);
                self.hashes = hashes;
                changed
            }
        };
        if changed { Applied::Changed } else { Applied::Unchanged }
    }

    /// Whether the object is there; and whether its text is what `rendered` says.
    pub(super) fn compare(&self, key: ObjectKey, rendered: &Rendered, hashes: &mut Vec<u64>) -> Option<bool> {
        let place = self.index.get(&key)?;
        Some(match &self.blocks[&place.block] {
            Held::Hot(hot) => hot.is(place.slot, rendered),
            Held::Sealed(sealed) => {
                hash_families(&rendered.text, &rendered.ends, self.seed, hashes);
                sealed.is(place.slot, hashes)
            }
        })
    }

    /// Takes an object out; false if it was not there.
    pub(super) fn delete(&mut self, key: ObjectKey) -> bool {
        let Some(place) = self.index.remove(&key) else { return false };
        match self.held(place) {
            Held::Hot(hot) => hot.remove(place.slot),
            Held::Sealed(sealed) => {
                let before = sealed.waiting_bytes();
                sealed.remove(place.slot);
                self.unshown += sealed.waiting_bytes().saturating_sub(before);
            }
        }
        true
    }

    /// How many objects it holds.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn contains(&self, key: ObjectKey) -> bool {
        self.index.contains_key(&key)
    }

    /// Takes out every object that `keep` does not hold on to.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(ObjectKey) -> bool) {
        let gone: Vec<ObjectKey> = self.index.keys().copied().filter(|&key| !keep(key)).collect();
        for key in gone {
            self.delete(key);
        }
    }

    /// Adds all objects of a [sibling](Self::sibling), none of which may be here.
    pub(super) fn append(&mut self, mut sibling: Self) {
        debug_assert!(sibling.blocks.keys().all(|number| !self.blocks.contains_key(number)));
        self.blocks.append(&mut sibling.blocks);
        self.index.extend(sibling.index);
        self.next = sibling.next;
    }

    /// Whether no block is sealed, so that showing readers a change is cheap.
    pub(super) fn is_plain(&self) -> bool {
        self.blocks.values().all(|held| matches!(held, Held::Hot(_)))
    }

    /// Bytes of text and changes that came since readers were last shown something, about.
    pub(super) fn unshown_bytes(&self) -> usize {
        self.unshown
    }

    /// Packs what is full, quiet or not, while there is more plain text than a set may have; what readers see stays as it
    /// is.
    pub(super) fn seal_full(&mut self, shop: &mut Workshop) {
        let (mut plain, open) = (self.hot_bytes(), self.open());
        for (&number, held) in &mut self.blocks {
            if plain <= self.limits.plain {
                break;
            }
            let (closed, thin) = (Some(number) != open, held.is_thin());
            let Held::Hot(hot) = held else { continue };
            if closed && !thin && hot.is_sealable() {
                plain -= hot.bytes();
                *held = Held::Sealed(Sealed::seal(hot, self.families, self.seed, shop));
            }
        }
    }

    /// The block that new objects are added to, if the last one has room.
    fn open(&self) -> Option<u32> {
        let (&number, held) = self.blocks.last_key_value()?;
        matches!(held, Held::Hot(hot) if !hot.is_full()).then_some(number)
    }

    /// Packs what readers were not shown yet, as far as it is worth it; what they see stays as it is.
    pub(super) fn pack_unshown(&mut self) {
        let mut shop = Workshop::default();
        self.seal_full(&mut shop);
        self.unshown = 0;
        for held in self.blocks.values_mut() {
            match held {
                Held::Hot(hot) if hot.is_quiet() => {}
                Held::Hot(hot) => self.unshown += hot.bytes(),
                Held::Sealed(sealed) => {
                    sealed.pack_waiting(&mut shop);
                    self.unshown += sealed.waiting_bytes();
                }
            }
        }
    }

    /// Brings the blocks in order and shows them as they are now.
    pub(super) fn show(&mut self, pass: Pass) -> Snapshot {
        self.blocks.retain(|_, held| match held {
            Held::Hot(hot) => hot.len() > 0,
            Held::Sealed(sealed) => sealed.len() > 0,
        });
        self.merge_thin(pass.threads);
        let (families, seed) = (self.families, self.seed);
        in_parallel(pass.threads, &mut self.plan(pass), |(held, work), shop| match (&mut **held, work) {
            (Held::Sealed(sealed), Work::Fold) => sealed.fold(shop),
            (Held::Hot(hot), Work::Seal) => **held = Held::Sealed(Sealed::seal(hot, families, seed, shop)),
            (Held::Hot(_), Work::Fold) | (Held::Sealed(_), Work::Seal) => {
                unreachable!("the plan knows what each block is")
            }
        });
        self.unshown = 0;
        self.snapshot()
    }

    /// Takes thin blocks apart and puts their objects together in new ones.
    fn merge_thin(&mut self, threads: usize) {
        let open = self.open();
        let thin = |&(&number, held): &(&u32, &Held)| {
            let changed = match held {
                Held::Hot(_) => true,
                Held::Sealed(sealed) => sealed.is_waiting(),
            };
            changed && Some(number) != open && held.is_thin()
        };
        let thin: Vec<u32> = self.blocks.iter().filter(thin).map(|(&number, _)| number).collect();
        let mut shop = Workshop::default();
        for numbers in thin.chunks(BLOCKS_APART) {
            let blocks = numbers.iter().map(|number| self.blocks.remove(number).expect("it was just seen"));
            let mut blocks: Vec<(Held, Vec<_>)> = blocks.map(|held| (held, Vec::new())).collect();
            in_parallel(threads, &mut blocks, |(held, objects), shop| {
                *objects = match held {
                    Held::Sealed(sealed) => sealed.unseal(shop),
                    Held::Hot(hot) => hot.live().map(|(key, object)| (key, Arc::clone(object))).collect(),
                };
            });
            for (key, object) in blocks.into_iter().flat_map(|(_, objects)| objects) {
                self.push(key, object);
            }
            self.seal_full(&mut shop);
        }
    }

    /// What is to be done to which block.
    fn plan(&mut self, pass: Pass) -> Vec<(&mut Held, Work)> {
        let (mut plain, open, limit) = (self.hot_bytes(), self.open(), self.limits.plain);
        let mut work = Vec::new();
        for (&number, held) in &mut self.blocks {
            let todo = match held {
                Held::Hot(hot) => {
                    let (closed, quiet) = (Some(number) != open, hot.is_quiet() || pass.seal_all);
                    (closed && plain > limit && quiet && hot.is_sealable()).then(|| {
                        plain -= hot.bytes();
                        Work::Seal
                    })
                }
                Held::Sealed(sealed) => sealed.is_waiting().then_some(Work::Fold),
            };
            work.extend(todo.map(|todo| (held, todo)));
        }
        work
    }

    fn snapshot(&mut self) -> Snapshot {
        let mut totals = vec![Totals::default(); self.families];
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for held in self.blocks.values_mut() {
            let block = match held {
                Held::Hot(hot) => hot.show(),
                Held::Sealed(sealed) => Arc::clone(sealed.block()),
            };
            block.count(&mut totals);
            blocks.push(block);
        }
        Snapshot::new(blocks, self.index.len(), totals)
    }

    fn hot_bytes(&self) -> usize {
        let bytes = |held: &Held| match held {
            Held::Hot(hot) => hot.bytes(),
            Held::Sealed(_) => 0,
        };
        self.blocks.values().map(bytes).sum()
    }

    fn held(&mut self, place: Place) -> &mut Held {
        self.blocks.get_mut(&place.block).expect("the index names blocks that exist")
    }

    fn push(&mut self, key: ObjectKey, object: Arc<ObjectText>) {
        self.unshown += object.len();
        let number = self.open().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        let held = self.blocks.entry(number).or_insert_with(|| Held::Hot(Hot::new(self.families)));
        let Held::Hot(hot) = held else { unreachable!("an open block is hot") };
        let slot = hot.push(key, object);
        self.index.insert(key, Place { block: number, slot });
    }
}

/// Does some work to each item, on up to so many threads.
fn in_parallel<T: Send>(threads: usize, items: &mut [T], work: impl Fn(&mut T, &mut Workshop) + Sync) {
    let threads = threads.min(items.len() / BLOCKS_A_THREAD).max(1);
    let shares = Mutex::new(items.chunks_mut(BLOCKS_A_THREAD));
    let take = || {
        let mut shop = Workshop::default();
        while let Some(share) = next(&shares) {
            share.iter_mut().for_each(|item| work(item, &mut shop));
        }
    };
    std::thread::scope(|scope| {
        // Where no thread is to be had, this one does it all.
        for _ in 1..threads {
            if std::thread::Builder::new().spawn_scoped(scope, take).is_err() {
                break;
            }
        }
        take();
    });
}

/// The next item, for one of several threads.
fn next<T>(items: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    items.lock().unwrap_or_else(PoisonError::into_inner).next()
}

//! Blocks at rest: packed text, and the changes that wait to be folded in.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::block::{Block, ObjectText, Packed, Packer, TextReader};
use super::hot::Hot;
use super::objects::ObjectKey;
use crate::resource::Rendered;

/// A hash of each family's text of one object, 0 for an empty one.
pub(super) fn hash_families(text: &[u8], ends: &[u32], seed: u64, hashes: &mut Vec<u64>) {
    hashes.clear();
    let mut start = 0;
    hashes.extend(ends.iter().map(|&end| {
        let family = &text[start..end as usize];
        start = end as usize;
        if family.is_empty() { 0 } else { xxh3_64_with_seed(family, seed) }
    }));
}

/// A block of packed text, and what a writer must know to change it. Slots never move.
#[derive(Debug)]
pub(super) struct Sealed {
    block: Arc<Block>,
    keys: Box<[ObjectKey]>,
    /// Of the text that each slot is to have, slot after slot; folded in or not.
    hashes: Box<[u64]>,
    /// Lines in the packed text, slot after slot.
    lines: Box<[u16]>,
    live: u64,
    /// Whether objects are gone whose lines are still in the packed text.
    thinned: bool,
    waiting: Vec<Waiting>,
    /// Older waiting changes.
    batches: Vec<Batch>,
    waiting_bytes: usize,
}

/// How the text of a slot is to change.
#[derive(Debug)]
struct Waiting {
    slot: u8,
    /// Ordered by family.
    families: Vec<WaitingFamily>,
}

#[derive(Debug)]
struct WaitingFamily {
    family: u16,
    lines: u16,
    text: Box<[u8]>,
}

/// Waiting changes, packed, since there were many or they waited for long.
#[derive(Debug)]
struct Batch {
    /// Ordered by family, then slot.
    changes: Box<[BatchChange]>,
    /// Their text as one family.
    text: Packed,
}

#[derive(Debug)]
struct BatchChange {
    family: u16,
    lines: u16,
    length: u32,
    slot: u8,
}

impl WaitingFamily {
    /// What it takes, about.
    fn bytes(&self) -> usize {
        self.text.len() + size_of::<Self>()
    }
}

impl Batch {
    /// What it takes, about.
    fn bytes(&self) -> usize {
        self.text.piece(0).data.len() + size_of_val(&*self.changes)
    }
}

/// What folding and sealing need; to be used again.
#[derive(Default)]
pub(super) struct Workshop {
    packer: Packer,
    reader: TextReader,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl Sealed {
    /// Packs a block of plain text that is sealable; every object keeps its slot.
    pub(super) fn seal(hot: &Hot, families: usize, seed: u64, shop: &mut Workshop) -> Self {
        let slots = hot.slots();
        let mut lines = vec![0; slots.len() * families];
        for family in 0..families {
            shop.new.clear();
            let mut samples = 0;
            for (slot, object) in slots.iter().enumerate() {
                let Some(object) = object else { continue };
                shop.new.extend_from_slice(object.family(family));
                samples += object.samples(family);
                lines[slot * families + family] = narrow(object.samples(family));
            }
            shop.packer.push(&shop.new, samples);
        }
        let mut hashes = vec![0; slots.len() * families];
        let mut scratch = Vec::with_capacity(families);
        let mut live = 0;
        for (slot, object) in slots.iter().enumerate() {
            if let Some(object) = object {
                object.hash(seed, &mut scratch);
                hashes[slot * families..][..families].copy_from_slice(&scratch);
                live |= 1 << slot;
            }
        }
        Self {
            block: Arc::new(Block::packed_of(hot.len(), shop.packer.finish())),
            keys: hot.keys().into(),
            hashes: hashes.into(),
            lines: lines.into(),
            live,
            thinned: false,
            waiting: Vec::new(),
            batches: Vec::new(),
            waiting_bytes: 0,
        }
    }

    pub(super) fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// Objects that are to be in it.
    pub(super) fn len(&self) -> usize {
        self.live.count_ones() as usize
    }

    /// Whether readers are to be shown something else than what is packed.
    pub(super) fn is_waiting(&self) -> bool {
        self.thinned || !self.waiting.is_empty() || !self.batches.is_empty()
    }

    /// Bytes of plain text that it comes to, about: those that are packed, without the part of objects that are gone.
    pub(super) fn plain_bytes(&self) -> usize {
        let packed: usize = (0..self.families()).map(|family| self.block.length(family)).sum();
        packed * self.len() / self.block.len().max(1)
    }

    /// Bytes that its waiting changes take, about.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    fn families(&self) -> usize {
        self.hashes.len() / self.keys.len()
    }

    fn hashes_of(&mut self, slot: u8) -> &mut [u64] {
        let families = self.families();
        &mut self.hashes[usize::from(slot) * families..][..families]
    }

    /// Whether the text of the object in `slot` is to be what these hashes stand for.
    pub(super) fn is(&self, slot: u8, hashes: &[u64]) -> bool {
        self.hashes[usize::from(slot) * hashes.len()..][..hashes.len()] == *hashes
    }

    /// Notes what changes in an object; false if nothing does.
    pub(super) fn replace(&mut self, slot: u8, rendered: &Rendered, hashes: &[u64]) -> bool {
        if self.is(slot, hashes) {
            return false;
        }
        let old = self.hashes_of(slot);
        let mut start = 0;
        let mut changes = Vec::new();
        for (family, &end) in rendered.ends.iter().enumerate() {
            if old[family] != hashes[family] {
                let text = &rendered.text[start..end as usize];
                changes.push((family, narrow(rendered.samples[family]), text));
            }
            start = end as usize;
        }
        old.copy_from_slice(hashes);
        for (family, lines, text) in changes {
            self.wait(slot, family, lines, text);
        }
        true
    }

    /// Notes that an object is gone.
    pub(super) fn remove(&mut self, slot: u8) {
        self.live &= !(1 << slot);
        self.thinned = true;
        self.hashes_of(slot).fill(0);
        if let Some(at) = self.waiting.iter().position(|waiting| waiting.slot == slot) {
            let waiting = self.waiting.swap_remove(at);
            self.waiting_bytes -= waiting.families.iter().map(WaitingFamily::bytes).sum::<usize>();
        }
    }

    /// Whether the slot has an object.
    fn is_live(&self, slot: usize) -> bool {
        self.live & 1 << slot != 0
    }

    fn change(&mut self, slot: u8) -> &mut Waiting {
        let at = match self.waiting.iter().position(|waiting| waiting.slot == slot) {
            Some(at) => at,
            None => {
                self.waiting.push(Waiting { slot, families: Vec::new() });
                self.waiting.len() - 1
            }
        };
        &mut self.waiting[at]
    }

    fn wait(&mut self, slot: u8, family: usize, lines: u16, text: &[u8]) {
        let family = u16::try_from(family).expect("a resource has far fewer families");
        let mut bytes = self.waiting_bytes;
        let families = &mut self.change(slot).families;
        let new = WaitingFamily { family, lines, text: text.into() };
        bytes += new.bytes();
        match families.binary_search_by_key(&family, |waiting| waiting.family) {
            Ok(at) => bytes -= std::mem::replace(&mut families[at], new).bytes(),
            Err(at) => families.insert(at, new),
        }
        self.waiting_bytes = bytes;
    }

    /// Packs the waiting changes, which then take a fraction of their bytes; what readers see stays as it is.
    pub(super) fn pack_waiting(&mut self, shop: &mut Workshop) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let families = waiting.iter().flat_map(|of| of.families.iter().map(|change| (change, of.slot)));
        let mut changes: Vec<(&WaitingFamily, u8)> = families.collect();
        changes.sort_unstable_by_key(|&(change, slot)| (change.family, slot));
        shop.new.clear();
        for (change, _) in &changes {
            shop.new.extend_from_slice(&change.text);
            self.waiting_bytes -= change.bytes();
        }
        shop.packer.push(&shop.new, 0);
        let changes = changes.into_iter().map(|(change, slot)| BatchChange {
            family: change.family,
            lines: change.lines,
            length: u32::try_from(change.text.len()).expect("what is sealed is far below 4 GiB"),
            slot,
        });
        let batch = Batch { changes: changes.collect(), text: shop.packer.finish() };
        self.waiting_bytes += batch.bytes();
        self.batches.push(batch);
    }

    /// Makes all waiting changes plain again.
    fn unpack_waiting(&mut self, shop: &mut Workshop) {
        if self.batches.is_empty() {
            return;
        }
        let newer = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        for batch in std::mem::take(&mut self.batches) {
            shop.old.resize(batch.text.length(0), 0);
            batch.text.read(0, &mut shop.reader, &mut shop.old);
            let mut rest = &*shop.old;
            for change in &batch.changes {
                let text;
                (text, rest) = rest.split_at(change.length as usize);
                if self.is_live(change.slot.into()) {
                    self.wait(change.slot, usize::from(change.family), change.lines, text);
                }
            }
        }
        for of in newer {
            self.change(of.slot);
            for change in of.families {
                self.wait(of.slot, usize::from(change.family), change.lines, &change.text);
            }
        }
    }

    /// Puts the waiting changes into the packed text. Families without a change are copied as they are.
    pub(super) fn fold(&mut self, shop: &mut Workshop) {
        self.unpack_waiting(shop);
        let (families, slots) = (self.families(), self.keys.len());
        let packed = self.block.packed();
        let mut lines = std::mem::take(&mut self.lines);
        let mut starts = Vec::with_capacity(slots + 1);
        for family in 0..families {
            // The text each slot is to have, if it changes.
            let mut changes: [Option<&WaitingFamily>; 64] = [None; 64];
            let mut any = (0..slots).any(|slot| !self.is_live(slot) && lines[slot * families + family] > 0);
            for waiting in &self.waiting {
                if let Ok(at) = waiting.families.binary_search_by_key(&family, |change| usize::from(change.family)) {
                    changes[usize::from(waiting.slot)] = Some(&waiting.families[at]);
                    any = true;
                }
            }
            if !any {
                shop.packer.copy(packed, family);
                continue;
            }
            // Bytes that are there from another family are written over.
            shop.old.resize(packed.length(family), 0);
            packed.read(family, &mut shop.reader, &mut shop.old);
            slot_starts(&shop.old, (0..slots).map(|slot| lines[slot * families + family]), &mut starts);
            shop.new.clear();
            let mut samples = 0;
            for slot in 0..slots {
                let count = &mut lines[slot * families + family];
                match changes[slot] {
                    Some(change) => {
                        shop.new.extend_from_slice(&change.text);
                        *count = change.lines;
                    }
                    None if !self.is_live(slot) => *count = 0,
                    None => shop.new.extend_from_slice(&shop.old[starts[slot]..starts[slot + 1]]),
                }
                samples += u32::from(*count);
            }
            shop.packer.push(&shop.new, samples);
        }
        self.lines = lines;
        self.block = Arc::new(Block::packed_of(self.len(), shop.packer.finish()));
        (self.waiting, self.waiting_bytes, self.thinned) = (Vec::new(), 0, false);
    }

    /// Takes it apart: its objects as they are to be, waiting changes included.
    pub(super) fn unseal(&mut self, shop: &mut Workshop) -> Vec<(ObjectKey, Arc<ObjectText>)> {
        self.unpack_waiting(shop);
        let (families, slots) = (self.families(), self.keys.len());
        let mut rendered: Vec<Rendered> = vec![Rendered::default(); slots];
        let mut starts = Vec::with_capacity(slots + 1);
        for family in 0..families {
            shop.old.resize(self.block.packed().length(family), 0);
            self.block.packed().read(family, &mut shop.reader, &mut shop.old);
            slot_starts(&shop.old, (0..slots).map(|slot| self.lines[slot * families + family]), &mut starts);
            for (slot, out) in rendered.iter_mut().enumerate().filter(|&(slot, _)| self.is_live(slot)) {
                let waiting = self.waiting.iter().find(|waiting| usize::from(waiting.slot) == slot);
                let change = waiting.and_then(|waiting| {
                    let at = waiting.families.binary_search_by_key(&family, |change| usize::from(change.family));
                    at.ok().map(|at| &waiting.families[at])
                });
                let (text, lines) = match change {
                    Some(change) => (&*change.text, change.lines),
                    None => (&shop.old[starts[slot]..starts[slot + 1]], self.lines[slot * families + family]),
                };
                out.text.extend_from_slice(text);
                out.ends.push(u32::try_from(out.text.len()).expect("what is sealed is far below 4 GiB"));
                out.samples.push(u32::from(lines));
            }
        }
        let live = (0..slots).filter(|&slot| self.is_live(slot));
        live.map(|slot| (self.keys[slot], Arc::new(ObjectText::new(&rendered[slot])))).collect()
    }
}

/// Where the lines of each slot start in the text of a family, and where the last end.
fn slot_starts(text: &[u8], lines: impl Iterator<Item = u16>, starts: &mut Vec<usize>) {
    starts.clear();
    starts.push(0);
    let mut ends = memchr::memchr_iter(b'\n', text);
    let mut start = 0;
    for lines in lines {
        if let Some(last) = usize::from(lines).checked_sub(1) {
            start = ends.nth(last).expect("lines are counted when they are packed") + 1;
        }
        starts.push(start);
    }
}

fn narrow(lines: u32) -> u16 {
    u16::try_from(lines).expect("only what fits is sealed")
}

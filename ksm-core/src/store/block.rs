//! A block: up to [`BLOCK_OBJECTS`] objects as readers see them. It never changes once a snapshot holds it.

use std::sync::{Arc, OnceLock};

use super::Totals;
use super::deflate::{Deflater, FINAL, Inflater, crc32};
use super::sealed::hash_families;
use crate::resource::Rendered;

/// How many objects a block holds at most. More pack smaller, fewer make a change to one of them cheaper.
pub const BLOCK_OBJECTS: usize = 64;

/// How much plain text a block takes before no more objects are added, so that what is done to a block at a time stays
/// small where objects are large.
pub(super) const BLOCK_BYTES: usize = 1024 * 1024;

/// Sample text of a few objects, by family.
#[derive(Debug)]
pub struct Block {
    objects: usize,
    text: Text,
}

#[derive(Debug)]
enum Text {
    /// For objects that are new or still change; packed when someone first asks for it.
    Plain {
        objects: Box<[Arc<ObjectText>]>,
        families: usize,
        packed: OnceLock<Packed>,
    },
    Packed(Packed),
}

impl Block {
    pub(super) fn plain(objects: Box<[Arc<ObjectText>]>, families: usize) -> Self {
        Self { objects: objects.len(), text: Text::Plain { objects, families, packed: OnceLock::new() } }
    }

    pub(super) fn packed_of(objects: usize, packed: Packed) -> Self {
        Self { objects, text: Text::Packed(packed) }
    }

    /// How many objects it holds.
    pub fn len(&self) -> usize {
        self.objects
    }

    /// Whether it holds no object.
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// Whether its plain text is there as it is, so that reading it is a copy.
    pub fn is_plain(&self) -> bool {
        matches!(self.text, Text::Plain { .. })
    }

    /// Bytes of the sample lines of `family` (its place in the plan).
    pub fn length(&self, family: usize) -> usize {
        match &self.text {
            Text::Plain { objects, .. } => objects.iter().map(|object| object.family(family).len()).sum(),
            Text::Packed(packed) => packed.length(family),
        }
    }

    /// Fills `out`, which is as long as they are, with the sample lines of `family`, object after object.
    pub fn read(&self, family: usize, reader: &mut TextReader, mut out: &mut [u8]) {
        match &self.text {
            Text::Plain { objects, .. } => {
                for object in objects {
                    let text = object.family(family);
                    let (here, rest) = out.split_at_mut(text.len());
                    here.copy_from_slice(text);
                    out = rest;
                }
            }
            Text::Packed(packed) => packed.read(family, reader, out),
        }
    }

    /// Appends the sample lines of `family`.
    pub fn append(&self, family: usize, reader: &mut TextReader, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.length(family), 0);
        self.read(family, reader, &mut out[start..]);
    }

    /// The same text as pieces of deflate.
    pub fn packed(&self) -> &Packed {
        match &self.text {
            Text::Plain { objects, families, packed } => packed.get_or_init(|| pack(objects, *families)),
            Text::Packed(packed) => packed,
        }
    }

    /// Adds its sums to those of each family.
    pub(super) fn count(&self, totals: &mut [Totals]) {
        match &self.text {
            Text::Plain { objects, .. } => objects.iter().for_each(|object| object.count(totals)),
            Text::Packed(packed) => {
                for (total, family) in totals.iter_mut().zip(&packed.families) {
                    total.bytes += family.length;
                    total.samples += u64::from(family.samples);
                }
            }
        }
    }

    /// Bytes of plain text that are not packed yet.
    pub(super) fn unpacked_bytes(&self) -> u64 {
        match &self.text {
            Text::Plain { objects, packed, .. } if packed.get().is_none() => {
                objects.iter().map(|object| object.len() as u64).sum()
            }
            Text::Plain { .. } | Text::Packed(_) => 0,
        }
    }

    /// Bytes of packed text it keeps, 0 if it keeps none.
    pub(super) fn packed_bytes(&self) -> usize {
        match &self.text {
            Text::Plain { packed, .. } => packed.get().map_or(0, |packed| packed.data.len()),
            Text::Packed(packed) => packed.data.len(),
        }
    }
}

/// What reading packed text needs; to be used again, not shared.
#[derive(Default)]
pub struct TextReader(Option<Inflater>);

impl TextReader {
    fn inflater(&mut self) -> &mut Inflater {
        self.0.get_or_insert_with(Inflater::new)
    }
}

/// Sample text of one object, family after family in plan order.
#[derive(Debug)]
pub(super) struct ObjectText {
    text: Box<[u8]>,
    ends: Box<[u32]>,
    samples: Box<[u32]>,
}

impl ObjectText {
    pub(super) fn new(rendered: &Rendered) -> Self {
        Self {
            text: rendered.text.as_slice().into(),
            ends: rendered.ends.as_slice().into(),
            samples: rendered.samples.as_slice().into(),
        }
    }

    pub(super) fn is(&self, rendered: &Rendered) -> bool {
        *self.text == *rendered.text && *self.ends == *rendered.ends
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn family(&self, family: usize) -> &[u8] {
        let start = if family == 0 { 0 } else { self.ends[family - 1] };
        &self.text[start as usize..self.ends[family] as usize]
    }

    pub(super) fn samples(&self, family: usize) -> u32 {
        self.samples[family]
    }

    pub(super) fn hash(&self, seed: u64, hashes: &mut Vec<u64>) {
        hash_families(&self.text, &self.ends, seed, hashes);
    }

    fn count(&self, totals: &mut [Totals]) {
        for (family, total) in totals.iter_mut().enumerate() {
            total.bytes += self.family(family).len() as u64;
            total.samples += u64::from(self.samples[family]);
        }
    }
}

/// Text by family, each family one piece of deflate.
#[derive(Debug)]
pub struct Packed {
    /// Pieces, each followed by [`FINAL`], so that it can be read on its own.
    data: Box<[u8]>,
    families: Box<[PackedFamily]>,
}

/// One family of a [`Packed`].
#[derive(Clone, Copy, Debug)]
struct PackedFamily {
    /// Where its piece ends.
    end: u64,
    /// Of the plain text, in bytes.
    length: u64,
    /// Of the plain text.
    crc: u32,
    samples: u32,
}

/// A family's piece of deflate, with what stands in for the text it was made from.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The piece.
    pub data: &'a [u8],
    /// CRC-32 of the plain text.
    pub crc: u32,
    /// Bytes of plain text.
    pub length: u64,
}

impl Packed {
    /// Packs texts, one a family.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut packer = Packer::default();
        texts.into_iter().for_each(|text| packer.push(text, 0));
        packer.finish()
    }

    /// The piece of that family.
    pub fn piece(&self, family: usize) -> Piece<'_> {
        let PackedFamily { end, crc, length, .. } = self.families[family];
        Piece { data: &self.data[self.start(family)..end as usize], crc, length }
    }

    pub(super) fn samples(&self, family: usize) -> u32 {
        self.families[family].samples
    }

    /// Bytes of plain text of that family.
    pub(super) fn length(&self, family: usize) -> usize {
        self.families[family].length as usize
    }

    /// Fills `out`, which is as long as it is, with the plain text of that family.
    pub(super) fn read(&self, family: usize, reader: &mut TextReader, out: &mut [u8]) {
        if !out.is_empty() {
            let closed = &self.data[self.start(family)..self.families[family].end as usize + FINAL.len()];
            reader.inflater().read(closed, out);
        }
    }

    fn start(&self, family: usize) -> usize {
        if family == 0 { 0 } else { self.families[family - 1].end as usize + FINAL.len() }
    }
}

/// Builds [`Packed`] family by family; to be used again.
#[derive(Default)]
pub(super) struct Packer {
    deflater: Option<Deflater>,
    data: Vec<u8>,
    families: Vec<PackedFamily>,
}

impl Packer {
    /// The next family, with that text.
    pub(super) fn push(&mut self, text: &[u8], samples: u32) {
        self.deflater.get_or_insert_with(Deflater::new).append(text, &mut self.data);
        self.note(crc32(text), text.len(), samples);
    }

    /// The next family, as `packed` has it.
    pub(super) fn copy(&mut self, packed: &Packed, family: usize) {
        let piece = packed.piece(family);
        self.data.extend_from_slice(piece.data);
        self.note(piece.crc, piece.length as usize, packed.samples(family));
    }

    fn note(&mut self, crc: u32, length: usize, samples: u32) {
        self.families.push(PackedFamily { end: self.data.len() as u64, length: length as u64, crc, samples });
        self.data.extend_from_slice(&FINAL);
    }

    /// What was built, leaving the packer empty.
    pub(super) fn finish(&mut self) -> Packed {
        let packed = Packed { data: self.data.as_slice().into(), families: self.families.as_slice().into() };
        self.data.clear();
        self.families.clear();
        packed
    }
}

fn pack(objects: &[Arc<ObjectText>], families: usize) -> Packed {
    let mut packer = Packer::default();
    let mut text = Vec::new();
    for family in 0..families {
        text.clear();
        objects.iter().for_each(|object| text.extend_from_slice(object.family(family)));
        packer.push(&text, objects.iter().map(|object| object.samples(family)).sum());
    }
    packer.finish()
}

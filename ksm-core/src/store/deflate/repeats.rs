//! Finds what repeats in sample lines.
//!
//! A line is mostly the line before it: the same family, often the same object, another value. So a repeat is looked for
//! where a token starts, not at each byte, and first where the line it last came from goes on.

/// Bytes of text that one call looks at, so that every place in it is a `u16`.
pub(super) const CHUNK: usize = u16::MAX as usize;

/// Longest repeat that deflate knows.
pub(super) const LONGEST: usize = 258;

/// Farthest distance that deflate knows.
const FARTHEST: usize = 32 * 1024;

/// Shortest repeat that is taken.
const SHORTEST: usize = 5;

/// A repeat of [`SHORTEST`] from farther away costs more bits than what it stands for.
const FAR: usize = 1024;

/// One that is so long is taken without looking for a longer one.
const LONG: usize = 60;

const PLACES_BITS: u32 = 12;

/// Literal bytes, and then a repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    /// Bytes that stand for themselves.
    pub literals: u16,
    /// Bytes of the repeat, 0 when the text ends in literals.
    pub length: u16,
    /// How far back it starts.
    pub distance: u16,
}

/// Cuts a text into sequences; to be used again.
pub(super) struct Repeats {
    /// Where four bytes of that hash stood last, among the places a repeat was looked for.
    places: Box<[u16; 1 << PLACES_BITS]>,
}

impl Repeats {
    pub(super) fn new() -> Self {
        Self { places: Box::new([0; 1 << PLACES_BITS]) }
    }

    /// Calls `found` with the sequences that make up `text`, in order, and the literals of each. The text is not longer
    /// than [`CHUNK`].
    pub(super) fn find<'a>(&mut self, text: &'a [u8], mut found: impl FnMut(Sequence, &'a [u8])) {
        debug_assert!(text.len() <= CHUNK);
        self.places.fill(0);
        let (mut at, mut literals) = (0, 0);
        // Where the line that is followed goes on.
        let mut source = 0;
        while let Some(word) = word(text, at) {
            let mut best = (0, 0);
            if source < at {
                best = (length(text, source, at), source);
            }
            let place = &mut self.places[hash(word)];
            if best.0 < LONG {
                let other = usize::from(*place);
                if other < at && other != source {
                    let length = length(text, other, at);
                    if length > best.0 {
                        best = (length, other);
                    }
                }
            }
            *place = at as u16;
            let (length, from) = best;
            let distance = at - from;
            if length > SHORTEST && distance <= FARTHEST || length == SHORTEST && distance <= FAR {
                let run = &text[literals..at];
                found(Sequence { literals: run.len() as u16, length: length as u16, distance: distance as u16 }, run);
                at += length;
                literals = at;
                source = from + length;
            } else {
                at = token(text, at + 1);
                if let Some(&delimiter) = text.get(at) {
                    source = follow(text, source, delimiter, at);
                }
            }
        }
        let run = &text[literals..];
        if !run.is_empty() {
            found(Sequence { literals: run.len() as u16, length: 0, distance: 0 }, run);
        }
    }
}

fn word(text: &[u8], at: usize) -> Option<u32> {
    text.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn hash(word: u32) -> usize {
    (word.wrapping_mul(0x9e37_79b1) >> (u32::BITS - PLACES_BITS)) as usize
}

/// How many bytes at `from` and `at` are the same, up to [`LONGEST`].
fn length(text: &[u8], from: usize, at: usize) -> usize {
    let end = text.len().min(at + LONGEST);
    let there = &text[at..end];
    let here = &text[from..from + there.len()];
    let (mut there8, mut here8) = (there.chunks_exact(8), here.chunks_exact(8));
    let mut length = 0;
    for (a, b) in there8.by_ref().zip(here8.by_ref()) {
        let differ =
            u64::from_le_bytes(a.try_into().expect("eight")) ^ u64::from_le_bytes(b.try_into().expect("eight"));
        if differ != 0 {
            return length + (differ.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    length + there8.remainder().iter().zip(here8.remainder()).take_while(|(a, b)| a == b).count()
}

/// Where the next token starts, at `from` or after it: a label value begins or ends, or a line ends.
fn token(text: &[u8], from: usize) -> usize {
    memchr::memchr2(b'"', b'\n', &text[from..]).map_or(text.len(), |skip| from + skip)
}

/// The next `delimiter` at or after `source`, if it is before `at`.
fn follow(text: &[u8], source: usize, delimiter: u8, at: usize) -> usize {
    if source >= at {
        return source;
    }
    memchr::memchr(delimiter, &text[source..at]).map_or(source, |skip| source + skip)
}

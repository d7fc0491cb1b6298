//! Writes sequences as blocks of deflate (RFC 1951).

use super::huffman::{LONGEST_CODE, code_lengths, codes};
use super::repeats::{CHUNK, LONGEST, Repeats, Sequence};

/// Literals, the end of the block, lengths.
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const END_OF_BLOCK: usize = 256;

/// Symbols that code lengths are written with, and the longest code of one.
const LENGTH_CODES: usize = 19;
const LONGEST_LENGTH_CODE: usize = 7;
/// The order in which lengths of their codes are written.
const LENGTH_CODE_ORDER: [usize; LENGTH_CODES] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// A block that is not the last, with codes of its own, and one with the fixed codes.
const DYNAMIC: (u64, u32) = (0b100, 3);
const FIXED: (u64, u32) = (0b010, 3);

/// An empty stored block, from the byte border on.
const FLUSH: [u8; 4] = [0, 0, 0xff, 0xff];

/// A range of lengths or distances with one symbol: its start, and how many bits tell which of the range.
#[derive(Clone, Copy)]
struct Range {
    start: u16,
    extra: u8,
}

const LENGTH_RANGES: [Range; LITERALS - END_OF_BLOCK - 1] = {
    let mut ranges = [Range { start: 0, extra: 0 }; LITERALS - END_OF_BLOCK - 1];
    let (mut start, mut index) = (3, 0);
    while index < ranges.len() - 1 {
        let extra = if index < 8 { 0 } else { index / 4 - 1 };
        ranges[index] = Range { start, extra: extra as u8 };
        start += 1 << extra;
        index += 1;
    }
    ranges[index] = Range { start: LONGEST as u16, extra: 0 };
    ranges
};

const DISTANCE_RANGES: [Range; DISTANCES] = {
    let mut ranges = [Range { start: 0, extra: 0 }; DISTANCES];
    let (mut start, mut index) = (1, 0);
    while index < ranges.len() {
        let extra = if index < 4 { 0 } else { index / 2 - 1 };
        ranges[index] = Range { start, extra: extra as u8 };
        start = start.wrapping_add(1 << extra);
        index += 1;
    }
    ranges
};

/// Which range a length is in.
static LENGTH_SYMBOLS: [u8; LONGEST + 1] = {
    let mut symbols = [0; LONGEST + 1];
    let (mut length, mut index) = (3, 0);
    while length <= LONGEST {
        while index + 1 < LENGTH_RANGES.len() && LENGTH_RANGES[index + 1].start as usize <= length {
            index += 1;
        }
        symbols[length] = index as u8;
        length += 1;
    }
    symbols
};

/// Which range a distance is in.
fn distance_symbol(distance: u16) -> usize {
    let distance = u32::from(distance) - 1;
    if distance < 4 {
        return distance as usize;
    }
    let bits = distance.ilog2();
    (2 * bits + (distance >> (bits - 1) & 1)) as usize
}

/// Writes texts as deflate; to be used again. Holds about 30 KB, and eight bytes for each sequence of a chunk.
pub(super) struct Encoder {
    repeats: Repeats,
    sequences: Vec<Sequence>,
    literals: Code<LITERALS>,
    distances: Code<DISTANCES>,
}

/// A prefix code.
struct Code<const N: usize> {
    frequencies: [u32; N],
    lengths: [u8; N],
    bits: [u16; N],
}

impl<const N: usize> Code<N> {
    fn new() -> Self {
        Self { frequencies: [0; N], lengths: [0; N], bits: [0; N] }
    }

    fn fit(&mut self, longest: usize) {
        code_lengths(&self.frequencies, longest, &mut self.lengths);
    }

    /// How many symbols there are up to the last with a code.
    fn used(&self) -> usize {
        self.lengths.iter().rposition(|&length| length > 0).map_or(0, |last| last + 1)
    }

    /// Bits for all symbols as often as they occur.
    fn cost(&self, lengths: impl Fn(usize) -> u8) -> u64 {
        self.frequencies.iter().enumerate().map(|(symbol, &times)| u64::from(times) * u64::from(lengths(symbol))).sum()
    }

    fn symbol(&self, symbol: usize) -> (u64, u32) {
        (u64::from(self.bits[symbol]), u32::from(self.lengths[symbol]))
    }
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { repeats: Repeats::new(), sequences: Vec::new(), literals: Code::new(), distances: Code::new() }
    }

    /// Appends `text`, which is not empty, as blocks that refer to nothing before it, none the last, and a sync flush.
    pub(super) fn append(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let mut bits = Bits::new(out);
        let mut rest = text;
        while !rest.is_empty() {
            let chunk;
            (chunk, rest) = rest.split_at(chunk_end(rest));
            self.block(chunk, &mut bits);
        }
        bits.flush();
    }

    fn block(&mut self, text: &[u8], out: &mut Bits<'_>) {
        self.sequences.clear();
        self.literals.frequencies.fill(0);
        self.distances.frequencies.fill(0);
        let mut extra = 0;
        let (sequences, literals, distances) =
            (&mut self.sequences, &mut self.literals.frequencies, &mut self.distances.frequencies);
        self.repeats.find(text, |sequence, run| {
            run.iter().for_each(|&byte| literals[usize::from(byte)] += 1);
            if sequence.length > 0 {
                let length = usize::from(LENGTH_SYMBOLS[usize::from(sequence.length)]);
                let distance = distance_symbol(sequence.distance);
                literals[END_OF_BLOCK + 1 + length] += 1;
                distances[distance] += 1;
                extra += u64::from(LENGTH_RANGES[length].extra) + u64::from(DISTANCE_RANGES[distance].extra);
            }
            sequences.push(sequence);
        });
        literals[END_OF_BLOCK] = 1;

        self.literals.fit(LONGEST_CODE);
        self.distances.fit(LONGEST_CODE);
        let head = Head::new(&self.literals, &self.distances);
        let dynamic = head.cost()
            + self.literals.cost(|symbol| self.literals.lengths[symbol])
            + self.distances.cost(|symbol| self.distances.lengths[symbol]);
        let fixed = self.literals.cost(fixed_length) + self.distances.cost(|_| 5);
        out.reserve(dynamic.min(fixed) + extra);
        if fixed <= dynamic {
            for symbol in 0..LITERALS {
                self.literals.lengths[symbol] = fixed_length(symbol);
            }
            self.distances.lengths.fill(5);
            out.put(FIXED);
            // The fixed code has two more symbols of eight bits, which never occur; they take the last of these codes.
            self.literals.bits = FIXED_CODES;
            codes(&self.distances.lengths, &mut self.distances.bits);
        } else {
            out.put(DYNAMIC);
            head.write(out);
            codes(&self.literals.lengths, &mut self.literals.bits);
            codes(&self.distances.lengths, &mut self.distances.bits);
        }
        self.body(text, out);
    }

    fn body(&self, text: &[u8], out: &mut Bits<'_>) {
        let mut literals = [0_u32; 256];
        for (symbol, literal) in literals.iter_mut().enumerate() {
            *literal = u32::from(self.literals.bits[symbol]) << 8 | u32::from(self.literals.lengths[symbol]);
        }
        let mut at = 0;
        for sequence in &self.sequences {
            let run = &text[at..at + usize::from(sequence.literals)];
            // Three of at most 15 bits fit beside the seven that may be left.
            let mut threes = run.chunks_exact(3);
            for three in threes.by_ref() {
                for &byte in three {
                    out.add((u64::from(literals[usize::from(byte)] >> 8), literals[usize::from(byte)] & 0xff));
                }
                out.spill();
            }
            for &byte in threes.remainder() {
                out.add((u64::from(literals[usize::from(byte)] >> 8), literals[usize::from(byte)] & 0xff));
            }
            out.spill();
            at += run.len() + usize::from(sequence.length);
            if sequence.length > 0 {
                let length = usize::from(LENGTH_SYMBOLS[usize::from(sequence.length)]);
                out.add(self.literals.symbol(END_OF_BLOCK + 1 + length));
                let range = LENGTH_RANGES[length];
                out.add((u64::from(sequence.length - range.start), u32::from(range.extra)));
                let distance = distance_symbol(sequence.distance);
                out.add(self.distances.symbol(distance));
                let range = DISTANCE_RANGES[distance];
                out.add((u64::from(sequence.distance - range.start), u32::from(range.extra)));
                out.spill();
            }
        }
        out.put(self.literals.symbol(END_OF_BLOCK));
    }
}

/// Where the first chunk of a text ends: after a line, if there is one that fits.
fn chunk_end(text: &[u8]) -> usize {
    if text.len() <= CHUNK {
        return text.len();
    }
    memchr::memrchr(b'\n', &text[..CHUNK]).map_or(CHUNK, |newline| newline + 1)
}

const fn fixed_length(symbol: usize) -> u8 {
    match symbol {
        0..144 => 8,
        144..256 => 9,
        256..280 => 7,
        _ => 8,
    }
}

const FIXED_CODES: [u16; LITERALS] = {
    let mut codes = [0; LITERALS];
    let mut symbol = 0;
    while symbol < LITERALS {
        let code: u16 = match symbol {
            0..144 => 0x30 + symbol as u16,
            144..256 => 0x190 + (symbol - 144) as u16,
            256..280 => (symbol - 256) as u16,
            _ => 0xc0 + (symbol - 280) as u16,
        };
        codes[symbol] = code.reverse_bits() >> (16 - fixed_length(symbol));
        symbol += 1;
    }
    codes
};

/// The head of a block with codes of its own: their lengths, themselves in a code.
struct Head {
    literals: usize,
    distances: usize,
    /// A symbol, and what its extra bits say.
    symbols: [(u8, u8); LITERALS + DISTANCES],
    count: usize,
    code: Code<LENGTH_CODES>,
    codes: usize,
}

/// Bits that follow a symbol of a code length.
const fn length_code_extra(symbol: u8) -> u32 {
    match symbol {
        16 => 2,
        17 => 3,
        18 => 7,
        _ => 0,
    }
}

impl Head {
    fn new(literals: &Code<LITERALS>, distances: &Code<DISTANCES>) -> Self {
        let (literal_count, distance_count) = (literals.used().max(END_OF_BLOCK + 1), distances.used().max(1));
        let mut lengths = [0; LITERALS + DISTANCES];
        lengths[..literal_count].copy_from_slice(&literals.lengths[..literal_count]);
        lengths[literal_count..][..distance_count].copy_from_slice(&distances.lengths[..distance_count]);
        let mut head = Self {
            literals: literal_count,
            distances: distance_count,
            symbols: [(0, 0); LITERALS + DISTANCES],
            count: 0,
            code: Code::new(),
            codes: 0,
        };
        let mut rest = &lengths[..literal_count + distance_count];
        while let Some(&length) = rest.first() {
            let run = rest.iter().take_while(|&&other| other == length).count();
            rest = &rest[run..];
            head.run(length, run);
        }
        head.code.fit(LONGEST_LENGTH_CODE);
        codes(&head.code.lengths, &mut head.code.bits);
        head.codes = LENGTH_CODE_ORDER
            .iter()
            .rposition(|&symbol| head.code.lengths[symbol] > 0)
            .map_or(4, |last| (last + 1).max(4));
        head
    }

    fn run(&mut self, length: u8, mut run: usize) {
        if length == 0 {
            while run >= 11 {
                let part = run.min(138);
                self.push(18, (part - 11) as u8);
                run -= part;
            }
            if run >= 3 {
                self.push(17, (run - 3) as u8);
                run = 0;
            }
        } else if run > 3 {
            self.push(length, 0);
            run -= 1;
            while run >= 3 {
                let part = run.min(6);
                self.push(16, (part - 3) as u8);
                run -= part;
            }
        }
        for _ in 0..run {
            self.push(length, 0);
        }
    }

    fn push(&mut self, symbol: u8, extra: u8) {
        self.symbols[self.count] = (symbol, extra);
        self.count += 1;
        self.code.frequencies[usize::from(symbol)] += 1;
    }

    fn cost(&self) -> u64 {
        let extra: u32 = self.symbols[..self.count].iter().map(|&(symbol, _)| length_code_extra(symbol)).sum();
        14 + 3 * self.codes as u64 + self.code.cost(|symbol| self.code.lengths[symbol]) + u64::from(extra)
    }

    fn write(&self, out: &mut Bits<'_>) {
        out.put(((self.literals - 257) as u64, 5));
        out.put(((self.distances - 1) as u64, 5));
        out.put(((self.codes - 4) as u64, 4));
        for &symbol in &LENGTH_CODE_ORDER[..self.codes] {
            out.put((u64::from(self.code.lengths[symbol]), 3));
        }
        for &(symbol, extra) in &self.symbols[..self.count] {
            out.put(self.code.symbol(usize::from(symbol)));
            out.put((u64::from(extra), length_code_extra(symbol)));
        }
    }
}

/// Bits laid into bytes, low ones first.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    /// Bytes of `out` that are written.
    end: usize,
    /// Bits that are not yet.
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { end: out.len(), out, held: 0, count: 0 }
    }

    /// Makes room for so many bits more.
    fn reserve(&mut self, bits: u64) {
        // A block's type and a flush come on top, and bits are written eight bytes at a time.
        self.out.resize(self.end + (bits / 8) as usize + 24, 0);
    }

    /// Adds bits; at most 56 between two spills.
    #[inline]
    fn add(&mut self, (bits, count): (u64, u32)) {
        self.held |= bits << self.count;
        self.count += count;
    }

    /// Writes all whole bytes.
    #[inline]
    fn spill(&mut self) {
        let place = self.out[self.end..].first_chunk_mut().expect("room was made for all bits");
        *place = self.held.to_le_bytes();
        let bytes = self.count / 8;
        self.end += bytes as usize;
        self.held >>= bytes * 8;
        self.count -= bytes * 8;
    }

    fn put(&mut self, bits: (u64, u32)) {
        self.add(bits);
        self.spill();
    }

    /// Ends in an empty stored block, at a byte border.
    fn flush(mut self) {
        self.put((0, 3));
        self.put((0, (8 - self.count) % 8));
        self.out.truncate(self.end);
        self.out.extend_from_slice(&FLUSH);
    }
}

//! Deflate (RFC 1951) in pieces that can be put in any order.
//!
//! A piece is a raw deflate stream that refers to nothing before it, ends in a sync flush and is not final. So pieces
//! laid end to end, closed by [`FINAL`], are one stream, and with a header and a checksum one gzip member (RFC 1952).

use libdeflater::Decompressor;
use zlib_rs::{Deflate, DeflateFlush, compress_bound};

/// Level 2 packs almost as small as 6 at three times the speed; level 1 makes half as much again.
const LEVEL: i32 = 2;

/// Largest distance, as a power of two, that deflate knows.
const WINDOW_BITS: u8 = 15;

/// What ends a stream of pieces: an empty final block.
pub const FINAL: [u8; 2] = [0x03, 0x00];

/// A gzip header: deflate, no name, no time, unknown system.
pub const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0xff];

/// What follows a gzip member's stream: CRC-32 and length modulo 2³² of the plain text.
pub fn gzip_trailer(crc: u32, length: u64) -> [u8; 8] {
    // The format keeps no more of the length than this.
    let length = (length & u64::from(u32::MAX)) as u32;
    let mut trailer = [0; 8];
    trailer[..4].copy_from_slice(&crc.to_le_bytes());
    trailer[4..].copy_from_slice(&length.to_le_bytes());
    trailer
}

/// CRC-32 of a text.
pub(crate) fn crc32(text: &[u8]) -> u32 {
    zlib_rs::crc32::crc32(0, text)
}

/// CRC-32 of two texts in a row, from that of each and the length of the second.
pub fn crc32_combine(first: u32, second: u32, length: u64) -> u32 {
    zlib_rs::crc32::crc32_combine(first, second, length)
}

/// Makes pieces. Holds about 300 KB, so it is made for a pass and dropped after it.
pub(crate) struct Deflater {
    state: Deflate,
    buffer: Vec<u8>,
}

impl Deflater {
    pub(crate) fn new() -> Self {
        Self { state: Deflate::new(LEVEL, false, WINDOW_BITS), buffer: Vec::new() }
    }

    /// Appends `text` as one piece; an empty text is an empty piece.
    pub(crate) fn append(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.state.reset();
        // The bound is for one stream without flush; a flush adds five bytes and what is left of a byte.
        let bound = compress_bound(text.len()) + 16;
        if self.buffer.len() < bound {
            self.buffer.resize(bound, 0);
        }
        let mut read = 0;
        loop {
            let (in_before, out_before) = (self.state.total_in(), self.state.total_out());
            self.state
                .compress(&text[read..], &mut self.buffer, DeflateFlush::SyncFlush)
                .expect("deflate does not fail on a stream that is in order");
            read += (self.state.total_in() - in_before) as usize;
            let written = (self.state.total_out() - out_before) as usize;
            out.extend_from_slice(&self.buffer[..written]);
            // A buffer that is full may have left something to flush.
            if read == text.len() && written < self.buffer.len() {
                return;
            }
        }
    }
}

/// Reads pieces. Holds about 12 KB.
///
/// Not zlib's way, which keeps state to stop and go on anywhere: a piece is there as a whole and so is the room for its
/// text, which makes reading it half as fast again.
pub(crate) struct Inflater(Decompressor);

impl Inflater {
    pub(crate) fn new() -> Self {
        Self(Decompressor::new())
    }

    /// Fills `out` with the text of a piece that is followed by [`FINAL`]; it is as long as the text.
    pub(crate) fn read(&mut self, closed_piece: &[u8], out: &mut [u8]) {
        let read = self.0.deflate_decompress(closed_piece, out);
        assert_eq!(read, Ok(out.len()), "a piece is what deflate made of a text");
    }
}

//! Deflate (RFC 1951) in pieces that can be put in any order.
//!
//! A piece is a raw deflate stream that refers to nothing before it, ends in a sync flush and is not final. So pieces
//! laid end to end, closed by [`FINAL`], are one stream, and with a header and a checksum one gzip member (RFC 1952).

mod encode;
mod huffman;
mod repeats;

use libdeflater::Decompressor;

use self::encode::Encoder;

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

/// Makes pieces. Holds about 30 KB, and six bytes for each repeat in up to 64 KB of text.
///
/// Our own encoder, as packing is most of what a change costs: it knows where in a sample line a repeat can start, so it
/// packs this text at two to three times the speed of zlib's, and a little smaller (`cargo bench -p ksm-core pack`).
pub(crate) struct Deflater(Encoder);

impl Deflater {
    pub(crate) fn new() -> Self {
        Self(Encoder::new())
    }

    /// Appends `text` as one piece; an empty text is an empty piece.
    pub(crate) fn append(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if !text.is_empty() {
            self.0.append(text, out);
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

#[cfg(test)]
mod tests;

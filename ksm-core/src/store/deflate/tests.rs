//! What is packed is read back the same, by two other programs' readers, whatever the text.

use proptest::prelude::*;

use super::huffman::{LONGEST_CODE, code_lengths};
use super::repeats::CHUNK;
use super::*;

/// The piece of a text, made by an encoder that made others before.
fn packed(deflater: &mut Deflater, text: &[u8]) -> Vec<u8> {
    let mut out = b"before".to_vec();
    deflater.append(text, &mut out);
    assert_eq!(&out[..6], b"before");
    out.split_off(6)
}

/// Reads pieces with zlib-rs and with libdeflate, twice in a row each, and compares.
fn check(deflater: &mut Deflater, text: &[u8]) -> usize {
    let piece = packed(deflater, text);
    if text.is_empty() {
        assert_eq!(piece, b"");
        return 0;
    }
    assert_eq!(&piece[piece.len() - 4..], [0, 0, 0xff, 0xff], "a piece ends in a sync flush");
    let closed = [&*piece, &FINAL].concat();
    let mut out = vec![0; text.len()];
    Inflater::new().read(&closed, &mut out);
    assert!(out == text, "libdeflate reads something else");
    let twice = [&*piece, &*closed].concat();
    let mut out = vec![0; 2 * text.len() + 1];
    let (out, code) = zlib_rs::decompress_slice(&mut out, &twice, zlib_rs::InflateConfig { window_bits: -15 });
    assert_eq!(code, zlib_rs::ReturnCode::Ok);
    assert!(*out == [text, text].concat(), "zlib reads something else");
    piece.len()
}

/// Sample lines as they are: much the same from one to the next.
fn lines(count: usize) -> String {
    (0..count)
        .map(|i| {
            let uid = (i as u64 / 5).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let phase = ["Pending", "Succeeded", "Failed", "Unknown", "Running"][i % 5];
            format!(
                "kube_pod_status_phase{{namespace=\"ns-{}\",pod=\"web-{:x}\",uid=\"{uid:016x}\",phase=\"{phase}\"}} {}\n",
                i / 300,
                uid >> 40,
                u8::from(i % 5 == 4)
            )
        })
        .collect()
}

#[test]
fn sample_lines_pack_to_a_tenth() {
    let text = lines(320);
    let packed = check(&mut Deflater::new(), text.as_bytes());
    assert!(packed * 10 < text.len(), "{packed} of {} bytes", text.len());
}

#[test]
fn a_piece_depends_on_nothing_but_its_text() {
    // Where the other text has a place to look for what this one has in the same place, but not where one looks.
    let (text, other) = (b"\"kkkkkQQQQabcdefgh\"kkkkkabcdefgh\"", b"\nabcd\nabcdabcdefgh\n");
    let mut used = Deflater::new();
    let first = packed(&mut used, text);
    packed(&mut used, other);
    assert_eq!(packed(&mut used, text), first);
}

#[test]
fn texts_around_the_size_of_a_chunk_are_read_back() {
    let mut deflater = Deflater::new();
    let line = "a".repeat(99) + "\n";
    for base in [CHUNK, 2 * CHUNK, 32 * 1024] {
        for length in base - 3..=base + 3 {
            check(&mut deflater, &vec![b'x'; length]);
            check(&mut deflater, &line.repeat(700 * (base / CHUNK + 1)).as_bytes()[..length]);
            check(&mut deflater, &lines(4000).as_bytes()[..length]);
        }
    }
}

#[test]
fn a_text_of_many_chunks_packs_as_well_as_one() {
    let mut deflater = Deflater::new();
    let one = lines(600);
    let (once, often) = (check(&mut deflater, one.as_bytes()), check(&mut deflater, one.repeat(40).as_bytes()));
    assert!(often < 41 * once, "{often} bytes for 40 times what takes {once}");
}

#[test]
fn bytes_without_order_grow_little() {
    let mut state = 1_u64;
    let noise: Vec<u8> = (0..200_000)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let packed = check(&mut Deflater::new(), &noise);
    assert!(packed < noise.len() + noise.len() / 100, "{packed} of {} bytes", noise.len());
}

#[test]
fn every_length_and_distance_is_read_back() {
    let mut deflater = Deflater::new();
    // A token, other bytes up to some distance, and the token again, of every length.
    let token: Vec<u8> = (0..300_usize).map(|i| (i * 7 % 251) as u8 + 1).collect();
    let gap = |length: usize| (0..length).map(|i| b"0123456789"[i * i % 97 % 10]).collect::<Vec<_>>();
    for length in 3..=300 {
        let text = [b"\n", &token[..length], &gap(40), b"\n", &token[..length], b"\n"].concat();
        check(&mut deflater, &text);
    }
    for distance in (1..300).chain((1..15).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1])) {
        let text = [b"\nabcdefghijkl", &*gap(distance), b"\nabcdefghijkl", &*gap(9), b"\n"].concat();
        check(&mut deflater, &text);
    }
    for distance in [32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1] {
        let mut text = vec![b'\n'; 1];
        text.extend_from_slice(b"abcdefghijkl");
        text.resize(distance, b'0');
        text.extend_from_slice(b"\nabcdefghijkl\n");
        check(&mut deflater, &text);
    }
}

/// Whether codes of these lengths are one code for each way of laying bits, no less and no more.
fn is_complete(lengths: &[u8]) -> bool {
    let space: u32 =
        lengths.iter().filter(|&&bits| bits > 0).map(|&bits| 1 << (LONGEST_CODE - usize::from(bits))).sum();
    space == 1 << LONGEST_CODE
}

#[test]
fn codes_never_get_longer_than_allowed() {
    // Frequencies for which the best code is as deep as it has symbols.
    let mut frequencies = [1_u32; 19];
    (2..19).for_each(|i| frequencies[i] = frequencies[i - 1] + frequencies[i - 2]);
    let mut lengths = [0; 19];
    code_lengths(&frequencies, LONGEST_CODE, &mut lengths);
    assert_eq!(lengths.iter().max(), Some(&15));
    assert!(is_complete(&lengths));
    code_lengths(&frequencies, 7, &mut lengths);
    assert_eq!(lengths.iter().max(), Some(&7));
    assert!(is_complete(&lengths));
    assert!(lengths.is_sorted_by(|a, b| a >= b), "what is more frequent is not longer");
}

#[test]
fn codes_of_few_symbols_have_two() {
    for only in [0, 1, 7] {
        let mut frequencies = [0_u32; 30];
        frequencies[only] = 9;
        let mut lengths = [0; 30];
        code_lengths(&frequencies, LONGEST_CODE, &mut lengths);
        assert!(lengths[only] == 1 && is_complete(&lengths), "{lengths:?}");
    }
    let mut lengths = [0; 30];
    code_lengths(&[0; 30], LONGEST_CODE, &mut lengths);
    assert!(is_complete(&lengths));
}

#[test]
fn codes_are_as_short_as_can_be() {
    let mut lengths = [0; 6];
    code_lengths(&[45, 13, 12, 16, 9, 5], LONGEST_CODE, &mut lengths);
    assert_eq!(lengths, [1, 3, 3, 3, 4, 4]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_read_back(texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 1..4)) {
        let mut deflater = Deflater::new();
        texts.iter().for_each(|text| { check(&mut deflater, text); });
    }

    #[test]
    fn any_lines_are_read_back(texts in prop::collection::vec("([ab\"]{0,6}[-.\n\"]|\\PC{0,3}){0,400}", 1..4)) {
        let mut deflater = Deflater::new();
        texts.iter().for_each(|text| { check(&mut deflater, text.as_bytes()); });
    }

    #[test]
    fn any_frequencies_give_a_complete_code(frequencies in prop::collection::vec(prop_oneof![Just(0), 0..9_u32, any::<u16>().prop_map(u32::from)], 2..286)) {
        let mut lengths = vec![0; frequencies.len()];
        code_lengths(&frequencies, LONGEST_CODE, &mut lengths);
        prop_assert!(is_complete(&lengths));
        prop_assert!(frequencies.iter().zip(&lengths).all(|(&times, &bits)| times == 0 || bits > 0));
    }
}

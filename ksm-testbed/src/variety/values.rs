//! Values by type: numbers, times, quantities, text.
//!
//! Invariant: every quantity is one that Kubernetes reads; a list of objects with one that it does not read would be
//! lost as a whole.

use fastrand::Rng;
use serde_json::{Value, json};

use super::pools;

/// A 32-bit number: small ones, and the ends of the range.
pub(super) fn int32(random: &mut Rng) -> i32 {
    match random.u8(..10) {
        0 => 0,
        1 => pick(random, &[-1, i32::MIN, i32::MAX, 65_536]),
        2 => random.i32(..),
        _ => random.i32(0..20),
    }
}

/// A 64-bit number: small ones, those past what a float64 holds exactly, and the ends of the range.
pub(super) fn int64(random: &mut Rng) -> i64 {
    match random.u8(..10) {
        0 => 0,
        1 => pick(random, &[-1, i64::MIN, i64::MAX, (1 << 53) + 1, 1 << 31]),
        2 => random.i64(..),
        _ => random.i64(0..600),
    }
}

/// A number, a percentage, or what is neither.
pub(super) fn int_or_string(random: &mut Rng) -> Value {
    match random.u8(..10) {
        0..3 => json!(random.i32(0..12)),
        3 => json!(pick(random, &[0, -1, i32::MAX, i32::MIN])),
        4..7 => json!(format!("{}%", random.u8(..=100))),
        _ => json!(pick(random, pools::PERCENTAGES)),
    }
}

/// Bytes in base64.
pub(super) fn bytes(random: &mut Rng) -> String {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let length = pick(random, &[0, 1, 2, 3, 17, 900]);
    let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
    BASE64_STANDARD.encode(bytes)
}

/// A moment in RFC 3339: ordinary ones, "not set" (year 1), before 1970, with a fraction, around clock changes.
pub(super) fn time(random: &mut Rng) -> String {
    if random.u8(..10) < 4 {
        return pick(random, pools::TIMES).to_owned();
    }
    let seconds = random.i64(1_400_000_000..2_000_000_000);
    let nanoseconds = pick(random, &[0, 0, 0, 1_000, 500_000_000, 999_999_999]);
    jiff::Timestamp::new(seconds, nanoseconds).expect("a moment of these years exists").to_string()
}

/// A quantity of the whole grammar: sign, digits, fraction, and a suffix or an exponent.
pub(super) fn quantity(random: &mut Rng) -> String {
    if random.bool() {
        return pick(random, pools::QUANTITIES).to_owned();
    }
    let mut text = pick(random, &["", "", "", "", "+", "-"]).to_owned();
    let digits = pick(random, &[1, 1, 2, 3, 3, 4, 7, 12, 19, 21]);
    text.extend(std::iter::repeat_with(|| random.digit(10)).take(digits));
    if random.u8(..4) == 0 {
        text.push('.');
        let digits = pick(random, &[0, 1, 1, 2, 3, 6, 10]);
        text.extend(std::iter::repeat_with(|| random.digit(10)).take(digits));
    }
    match random.u8(..6) {
        0 => {
            let (letter, exponent) = (pick(random, &['e', 'E']), random.i8(-12..=20));
            let sign = if exponent >= 0 && random.bool() { "+" } else { "" };
            text.push_str(&format!("{letter}{sign}{exponent}"));
        }
        _ => text.push_str(pick(random, pools::SUFFIXES)),
    }
    text
}

/// Text that could stand anywhere: mostly plain, often odd.
pub(super) fn text(random: &mut Rng) -> String {
    match random.u8(..10) {
        0..4 => pick(random, pools::PLAIN).to_owned(),
        4 => random.u32(..).to_string(),
        5 => "long ".repeat(random.usize(1..120)),
        _ => pick(random, pools::ODD).to_owned(),
    }
}

/// One of several.
pub(super) fn pick<T: Copy>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}

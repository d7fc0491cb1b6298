//! Sample values as text: the shortest digits that read back as the same float64, with an exponent below 1e-4 and from
//! 1e+06 upward (Go's `%g`, which the reference prints and users diff against).

use std::io::Write;

/// What may stand as a sample value: anything with an exact or nearest float64.
pub trait Number {
    /// The value as a float64.
    fn to_f64(self) -> f64;
}

impl Number for f64 {
    fn to_f64(self) -> f64 {
        self
    }
}

impl Number for bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
}

impl Number for i32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Number for u32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Number for i64 {
    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl Number for usize {
    fn to_f64(self) -> f64 {
        self as f64
    }
}

/// Integers below this magnitude are exact, so their decimal digits are the shortest ones.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Appends `value`.
pub fn write_number(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
        return;
    }
    if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"+Inf" } else { b"-Inf" });
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let magnitude = value.abs();
    if magnitude < EXACT && magnitude.trunc() == magnitude {
        write_integer(out, magnitude as u64);
    } else {
        write_fraction(out, magnitude);
    }
}

fn write_integer(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 16];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    let digits = &digits[start..];
    if digits.len() <= 6 {
        out.extend_from_slice(digits);
    } else {
        write_scientific(out, digits, digits.len() as i32 - 1);
    }
}

fn write_fraction(out: &mut Vec<u8>, magnitude: f64) {
    // Rust's `{:e}` gives the shortest round-trip digits as `d.ddde±x`: at most 17 digits, point and exponent.
    let mut text = [0_u8; 32];
    let mut cursor = &mut text[..];
    write!(cursor, "{magnitude:e}").expect("a float64 in scientific notation fits 32 bytes");
    let left = cursor.len();
    let text = &text[..32 - left];
    let split = text.iter().position(|&byte| byte == b'e').expect("scientific notation has an exponent");
    let exponent: i32 = std::str::from_utf8(&text[split + 1..])
        .ok()
        .and_then(|text| text.parse().ok())
        .expect("the exponent is a decimal integer");
    let mut digits = [0_u8; 20];
    let mut len = 0;
    for &byte in text[..split].iter().filter(|byte| byte.is_ascii_digit()) {
        digits[len] = byte;
        len += 1;
    }
    let digits = &digits[..len];
    match exponent {
        -4..=-1 => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
            out.extend_from_slice(digits);
        }
        0..=5 => {
            let point = exponent as usize + 1;
            if len <= point {
                out.extend_from_slice(digits);
                out.extend(std::iter::repeat_n(b'0', point - len));
            } else {
                out.extend_from_slice(&digits[..point]);
                out.push(b'.');
                out.extend_from_slice(&digits[point..]);
            }
        }
        _ => write_scientific(out, digits, exponent),
    }
}

fn write_scientific(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    let end = digits.iter().rposition(|&digit| digit != b'0').map_or(1, |last| last + 1);
    out.push(digits[0]);
    if end > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..end]);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "e{sign}{:02}", exponent.unsigned_abs()).expect("writing to a Vec cannot fail");
}

//! `resource.Quantity`: an exact decimal number with an SI, binary or exponent suffix.
//!
//! Source: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>. Values keep full
//! precision through `i128`; past that they are the nearest float64, never wrapped.

use serde::{Deserialize, Deserializer, de};

/// A quantity as the API carries it, in text.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Quantity {
    #[prost(string, tag = "1")]
    text: String,
}

impl Quantity {
    /// The value rounded up to a whole unit (bytes, pods …); `None` for text that is no quantity.
    pub fn whole(&self) -> Option<f64> {
        self.parse()?.rounded_up(0)
    }

    /// The value rounded up to a thousandth (cores of CPU); `None` for text that is no quantity.
    pub fn thousandths(&self) -> Option<f64> {
        self.parse()?.rounded_up(3)
    }

    /// The nearest float64; `None` for text that is no quantity.
    pub fn nearest(&self) -> Option<f64> {
        self.parse()?.nearest()
    }

    fn parse(&self) -> Option<Parsed<'_>> {
        Parsed::new(&self.text)
    }
}

/// `±digits[.fraction]` times `10^exponent` or `2^exponent`.
struct Parsed<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    scale: Scale,
}

#[derive(Clone, Copy)]
enum Scale {
    Decimal(i32),
    Binary(u32),
}

/// Exponents past this size say zero or infinity whatever the digits (the API itself caps them).
const MAX_EXPONENT: i32 = 4096;

impl<'a> Parsed<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let integer_end = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let (integer, mut rest) = rest.split_at(integer_end);
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(after.len());
            (fraction, rest) = after.split_at(end);
        }
        if integer.is_empty() && fraction.is_empty() {
            return None;
        }
        let scale = match rest {
            "" => Scale::Decimal(0),
            "n" => Scale::Decimal(-9),
            "u" => Scale::Decimal(-6),
            "m" => Scale::Decimal(-3),
            "k" => Scale::Decimal(3),
            "M" => Scale::Decimal(6),
            "G" => Scale::Decimal(9),
            "T" => Scale::Decimal(12),
            "P" => Scale::Decimal(15),
            "E" => Scale::Decimal(18),
            "Ki" => Scale::Binary(10),
            "Mi" => Scale::Binary(20),
            "Gi" => Scale::Binary(30),
            "Ti" => Scale::Binary(40),
            "Pi" => Scale::Binary(50),
            "Ei" => Scale::Binary(60),
            _ => Scale::Decimal(exponent(rest.strip_prefix(['e', 'E'])?)?),
        };
        Some(Self { negative, integer, fraction: fraction.trim_end_matches('0'), scale })
    }

    /// The value with `digits` decimal places, rounded up (away from zero, as the API rounds), as the nearest float64.
    fn rounded_up(&self, digits: u32) -> Option<f64> {
        let unit = 10_i128.pow(digits);
        Some(match self.scaled_up_exact(digits) {
            // Dividing whole values as integers rounds once; as floats it would round twice.
            Some(exact) if exact % unit == 0 => (exact / unit) as f64,
            Some(exact) => exact as f64 / unit as f64,
            // Too large (or too small) for exact arithmetic: rounding no longer matters, or gives the smallest step.
            None => {
                let (value, step) = (self.nearest()?, 1.0 / unit as f64);
                if value != 0.0 && value.abs() < step { step.copysign(value) } else { value }
            }
        })
    }

    /// The value times `10^digits`, rounded up to an integer; `None` past `i128`.
    fn scaled_up_exact(&self, digits: u32) -> Option<i128> {
        let mut mantissa: i128 = 0;
        for digit in self.integer.bytes().chain(self.fraction.bytes()) {
            mantissa = mantissa.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        let mut decimal = i32::try_from(digits).ok()? - i32::try_from(self.fraction.len()).ok()?;
        match self.scale {
            Scale::Decimal(exponent) => decimal += exponent,
            Scale::Binary(bits) => mantissa = mantissa.checked_mul(1_i128 << bits)?,
        }
        let magnitude = if decimal >= 0 {
            mantissa.checked_mul(10_i128.checked_pow(u32::try_from(decimal).ok()?)?)?
        } else {
            match 10_i128.checked_pow(decimal.unsigned_abs()) {
                Some(divisor) => mantissa / divisor + i128::from(mantissa % divisor != 0),
                None => i128::from(mantissa != 0),
            }
        };
        Some(if self.negative { -magnitude } else { magnitude })
    }

    fn nearest(&self) -> Option<f64> {
        let sign = if self.negative { "-" } else { "" };
        let (exponent, factor) = match self.scale {
            Scale::Decimal(exponent) => (exponent, 1.0),
            Scale::Binary(bits) => (0, 2_f64.powi(i32::try_from(bits).ok()?)),
        };
        let value: f64 = format!("{sign}{}.{}e{exponent}", zero_if_empty(self.integer), zero_if_empty(self.fraction))
            .parse()
            .ok()?;
        Some(value * factor)
    }
}

fn exponent(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse().unwrap_or(MAX_EXPONENT).min(MAX_EXPONENT);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

fn zero_if_empty(digits: &str) -> &str {
    if digits.is_empty() { "0" } else { digits }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self { text }),
            serde_json::Value::Number(number) => Ok(Self { text: number.to_string() }),
            _ => Err(de::Error::custom("a quantity must be a string or a number")),
        }
    }
}

#[cfg(test)]
impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

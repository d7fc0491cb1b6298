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

    /// The value as the API library converts it to float64 at once, often not the nearest: the digits, then times a power
    /// of ten. `None` for text that is no quantity.
    pub fn approximate(&self) -> Option<f64> {
        self.parse()?.approximate()
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
        Some(Self { negative, integer, fraction, scale })
    }

    /// The value with `digits` decimal places, rounded up (away from zero, as the API rounds), as the nearest float64.
    fn rounded_up(&self, digits: u32) -> Option<f64> {
        let unit = 10_i128.pow(digits);
        Some(match self.scaled_up_exact(i32::try_from(digits).ok()?) {
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
    fn scaled_up_exact(&self, digits: i32) -> Option<i128> {
        let fraction = self.fraction.trim_end_matches('0');
        let mut mantissa: i128 = 0;
        for digit in self.integer.bytes().chain(fraction.bytes()) {
            mantissa = mantissa.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        let mut decimal = digits - i32::try_from(fraction.len()).ok()?;
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

    /// Which digits and which power is what decides the last printed digit: those written where they are few enough,
    /// billionths, rounded up, of all others.
    /// Source: <https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity.AsApproximateFloat64>.
    fn approximate(&self) -> Option<f64> {
        const NANO: i32 = -9;
        let integer = self.integer.trim_start_matches('0');
        let (whole, places) = (integer.len().max(1), self.fraction.len());
        let as_written = match self.scale {
            Scale::Decimal(exponent) if whole + places <= 18 => {
                Some(exponent - i32::try_from(places).ok()?).filter(|exponent| *exponent >= NANO)
            }
            Scale::Binary(bits) if places == 0 && whole + (bits as usize) * 3 / 10 < 15 => Some(0),
            _ => None,
        };
        let exponent = as_written.unwrap_or(NANO);
        match self.scaled_up_exact(-exponent) {
            // Not even an infinite power makes it anything else.
            Some(0) => Some(0.0),
            Some(digits) => Some(digits as f64 * power_of_ten(exponent)),
            None => self.nearest(),
        }
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

/// Ten to that power, in the steps (of 32, and the rest) that Go's `math.Pow10` takes.
fn power_of_ten(exponent: i32) -> f64 {
    let exact = |exponent: i32| format!("1e{exponent}").parse().unwrap_or(f64::INFINITY);
    match exponent {
        309.. => f64::INFINITY,
        0..=308 => exact(exponent / 32 * 32) * exact(exponent % 32),
        _ => 1.0 / exact(-exponent),
    }
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

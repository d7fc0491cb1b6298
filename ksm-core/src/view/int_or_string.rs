//! `intstr.IntOrString`: a count or a percentage.

use serde::{Deserialize, Deserializer, de};

/// Which way a percentage of a count is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Toward negative infinity.
    Down,
    /// Toward positive infinity.
    Up,
}

/// 2^63, past the largest count.
const MAX: f64 = 9_223_372_036_854_775_808.0;

/// A number, or text such as `25%` or a port name.
#[derive(Clone, PartialEq, prost::Message)]
pub struct IntOrString {
    /// 0 for the number, 1 for the text.
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int32, tag = "2")]
    int: i32,
    #[prost(string, tag = "3")]
    text: String,
}

impl IntOrString {
    /// The number itself, or the percentage of `total`; `None` for text that is no percentage.
    pub fn scaled(&self, total: i32, rounding: Rounding) -> Option<i64> {
        if self.kind == 0 {
            return Some(i64::from(self.int));
        }
        // The API admits surges of any number of digits.
        let percent: i64 = self.text.strip_suffix('%')?.parse().ok()?;
        // In float64, as the API's own library does it: the last digits of absurd surges are those the controllers see.
        let exact = percent as f64 * f64::from(total) / 100.0;
        let scaled = match rounding {
            Rounding::Down => exact.floor(),
            Rounding::Up => exact.ceil(),
        };
        (scaled.abs() < MAX).then_some(scaled as i64)
    }
}

impl std::fmt::Display for IntOrString {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.kind == 0 { write!(f, "{}", self.int) } else { f.write_str(&self.text) }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self { kind: 1, int: 0, text }),
            serde_json::Value::Number(number) => number
                .as_i64()
                .and_then(|int| i32::try_from(int).ok())
                .map(|int| Self { kind: 0, int, text: String::new() })
                .ok_or_else(|| de::Error::custom("an int-or-string number must be a 32-bit integer")),
            _ => Err(de::Error::custom("an int-or-string must be a number or a string")),
        }
    }
}

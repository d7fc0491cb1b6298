//! `intstr.IntOrString`: a count or a percentage.

use serde::{Deserialize, Deserializer, de};

/// Which way a percentage of a count is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Toward zero.
    Down,
    /// Away from zero.
    Up,
}

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
        let product = i128::from(percent) * i128::from(total);
        let floor = product.div_euclid(100);
        let scaled = match rounding {
            Rounding::Down => floor,
            Rounding::Up => floor + i128::from(product.rem_euclid(100) != 0),
        };
        i64::try_from(scaled).ok()
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

//! Object views: one struct an API type, with only the fields that families read.
//!
//! A view derives `prost::Message` (field numbers as in the API's `generated.proto`) and `serde::Deserialize` (JSON
//! names), so the same type decodes what the API server sends in either encoding, manifests and tests.
//! Fields the API omits when zero are plain, fields it can leave unset are `Option`.

mod int_or_string;
mod meta;
mod quantity;
mod time;

use std::fmt;

use serde::de::DeserializeOwned;

pub use int_or_string::{IntOrString, Rounding};
pub use meta::{Meta, ObjectMeta, OwnerReference};
pub use quantity::Quantity;
pub use time::{MicroTime, Time};

/// A view with object metadata, decodable from both encodings.
pub trait Object: prost::Message + Default + DeserializeOwned + Send + Sync + 'static {
    /// The object's metadata.
    fn metadata(&self) -> &ObjectMeta;
}

/// How the bytes of one object are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// The object's protobuf message, without the `k8s\0` envelope.
    Protobuf,
    /// JSON text.
    Json,
}

/// An object that does not decode.
#[derive(Debug)]
pub struct DecodeError {
    reason: String,
}

impl DecodeError {
    /// An error with a reason that names types and positions, never object data.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for DecodeError {}

/// Decodes one object.
///
/// # Errors
/// Cut or malformed bytes, a JSON value of the wrong type, or text that is not UTF-8.
pub fn decode<V: Object>(encoding: Encoding, bytes: &[u8]) -> Result<V, DecodeError> {
    match encoding {
        Encoding::Protobuf => V::decode(bytes).map_err(|error| DecodeError::new(error.to_string())),
        Encoding::Json => {
            let value = serde_json::from_slice(bytes).map_err(|error| json_error(&error))?;
            decode_value(value)
        }
    }
}

/// Decodes one object from a parsed JSON value (or a YAML document read as one).
///
/// # Errors
/// A value of the wrong type.
pub fn decode_value<V: Object>(mut value: serde_json::Value) -> Result<V, DecodeError> {
    drop_nulls(&mut value);
    serde_json::from_value(value).map_err(|error| json_error(&error))
}

/// The API reads `null` as "not given" for every field.
fn drop_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Category and position only: serde's own message quotes the offending value, which may be secret.
fn json_error(error: &serde_json::Error) -> DecodeError {
    let what = match error.classify() {
        serde_json::error::Category::Data => "a JSON value of the wrong type",
        serde_json::error::Category::Eof => "JSON that ends too early",
        _ => "malformed JSON",
    };
    DecodeError::new(match error.line() {
        0 => what.to_owned(),
        line => format!("{what} at line {line} column {}", error.column()),
    })
}

#[cfg(test)]
mod tests;

//! JSON into protobuf. What is present in JSON is written, zeros too; what is absent or null is not.
//!
//! A key that the kind does not have, or a value of the wrong type, is an error naming its path: test data with a typo
//! must not pass for an object without the field.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::{
    schema::{Field, Form, Kind, Message, Shape},
    wire,
};

/// 0001-01-01T00:00:00Z in seconds since the epoch: what Go takes for "not set".
const ZERO_TIME: i64 = -62_135_596_800;

/// Why an object does not fit its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", if path.is_empty() { "object" } else { path.trim_start_matches('.') })]
pub(crate) struct Error {
    path: String,
    reason: String,
}

impl Error {
    fn new(reason: impl Into<String>) -> Self {
        Self { path: String::new(), reason: reason.into() }
    }

    fn expected(what: &str, value: &Value) -> Self {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Self::new(format!("expected {what}, found {found}"))
    }

    fn at(mut self, segment: &str) -> Self {
        self.path.insert_str(0, segment);
        self
    }
}

/// Encodes a top-level object; `kind` and `apiVersion` are left to the envelope.
pub(crate) fn to_protobuf(message: &Message, value: &Value) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(1024);
    encode_plain(message, value, true, &mut out)?;
    Ok(out)
}

fn encode(message: &Message, value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    match message.form {
        Form::Plain => encode_plain(message, value, message.is_object(), out)?,
        // An item of a list or map: fields that are null are not written at all.
        Form::Time | Form::MicroTime if value.is_null() => {}
        Form::Time | Form::MicroTime => {
            let text = value.as_str().ok_or_else(|| Error::expected("a time", value))?;
            let time: jiff::Timestamp = text.parse().map_err(|_| Error::new(format!("`{text}` is not a time")))?;
            let time = if time.subsec_nanosecond() < 0 {
                (time.as_second() - 1, time.subsec_nanosecond() + 1_000_000_000)
            } else {
                (time.as_second(), time.subsec_nanosecond())
            };
            // As Go does, its zero time is written as an empty message.
            if time != (ZERO_TIME, 0) {
                wire::put_uint(out, 1, time.0 as u64);
                wire::put_uint(out, 2, if message.form == Form::Time { 0 } else { time.1 as u64 });
            }
        }
        Form::Quantity => match value {
            Value::String(text) if is_quantity(text) => wire::put_bytes(out, 1, text.as_bytes()),
            Value::String(text) => return Err(Error::new(format!("`{text}` is not a quantity"))),
            Value::Number(number) => wire::put_bytes(out, 1, number.to_string().as_bytes()),
            _ => return Err(Error::expected("a quantity", value)),
        },
        Form::IntOrString => {
            // All three fields are written, as Go does.
            let (kind, number, text) = match value {
                Value::String(text) => (1, 0, text.as_str()),
                _ => (0, integer::<i32>(value)?, ""),
            };
            wire::put_uint(out, 1, kind);
            wire::put_uint(out, 2, number);
            wire::put_bytes(out, 3, text.as_bytes());
        }
        Form::Json => wire::put_bytes(out, 1, value.to_string().as_bytes()),
        Form::Items => encode_field(&message.fields[0], value, out)?,
        Form::SchemaOrBool => match value {
            Value::Bool(allows) => wire::put_uint(out, 1, u64::from(*allows)),
            _ => {
                wire::put_uint(out, 1, 1);
                encode_field(&message.fields[1], value, out)?;
            }
        },
        Form::SchemaOrList | Form::SchemaOrStrings => {
            encode_field(&message.fields[usize::from(value.is_array())], value, out)?;
        }
    }
    Ok(())
}

fn encode_plain(message: &Message, value: &Value, typed: bool, out: &mut Vec<u8>) -> Result<(), Error> {
    let object = value.as_object().ok_or_else(|| Error::expected("an object", value))?;
    encode_fields(message, object, Unknown::Refused { typed }, out)
}

/// What to do with keys that the message does not have.
#[derive(Clone, Copy)]
enum Unknown {
    /// `typed`: except for `kind` and `apiVersion`.
    Refused { typed: bool },
    /// The message is embedded, they are its parent's.
    Skipped,
}

fn encode_fields(
    message: &Message,
    object: &Map<String, Value>,
    unknown: Unknown,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut present = Vec::with_capacity(object.len());
    for (key, value) in object {
        match (message.by_json(key), unknown) {
            (Some((index, field)), _) => present.push((index, field, value)),
            (None, Unknown::Skipped) => {}
            (None, Unknown::Refused { typed: true }) if matches!(key.as_str(), "kind" | "apiVersion") => {}
            (None, Unknown::Refused { .. }) => return Err(Error::new("unknown field").at(&format!(".{key}"))),
        }
    }
    present.sort_unstable_by_key(|(index, ..)| *index);
    // Several keys of one embedded message stand for one field.
    present.dedup_by_key(|(index, ..)| *index);
    for (_, field, value) in present {
        if let (Shape::Embedded, Some(embedded)) = (field.shape, field.message()) {
            wire::put_nested(out, field.number, |out| encode_fields(embedded, object, Unknown::Skipped, out))?;
        } else if !value.is_null() {
            encode_field(field, value, out).map_err(|error| error.at(&format!(".{}", field.json)))?;
        }
    }
    Ok(())
}

fn encode_field(field: &Field, value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    match field.shape {
        Shape::One | Shape::Embedded => encode_value(field, field.number, value, out),
        Shape::List => {
            let items = value.as_array().ok_or_else(|| Error::expected("a list", value))?;
            items.iter().enumerate().try_for_each(|(index, item)| {
                encode_value(field, field.number, item, out).map_err(|error| error.at(&format!("[{index}]")))
            })
        }
        Shape::Map => {
            let entries = value.as_object().ok_or_else(|| Error::expected("an object", value))?;
            entries.iter().try_for_each(|(key, value)| {
                wire::put_nested(out, field.number, |out| {
                    wire::put_bytes(out, 1, key.as_bytes());
                    encode_value(field, 2, value, out)
                })
                .map_err(|error| error.at(&format!("[{key}]")))
            })
        }
    }
}

fn encode_value(field: &Field, number: u32, value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    match field.kind {
        Kind::Bool => {
            let flag = value.as_bool().ok_or_else(|| Error::expected("a boolean", value))?;
            wire::put_uint(out, number, u64::from(flag));
        }
        Kind::Int32 => wire::put_uint(out, number, integer::<i32>(value)?),
        Kind::Int64 => wire::put_uint(out, number, integer::<i64>(value)?),
        Kind::Double => {
            let double = value.as_f64().ok_or_else(|| Error::expected("a number", value))?;
            wire::put_tag(out, number, 1);
            out.extend_from_slice(&double.to_le_bytes());
        }
        Kind::String => {
            let text = value.as_str().ok_or_else(|| Error::expected("a string", value))?;
            wire::put_bytes(out, number, text.as_bytes());
        }
        Kind::Bytes => {
            let text = value.as_str().ok_or_else(|| Error::expected("base64", value))?;
            let bytes = BASE64_STANDARD.decode(text).map_err(|error| Error::new(format!("invalid base64: {error}")))?;
            wire::put_bytes(out, number, &bytes);
        }
        Kind::Message(_) => {
            let message = field.message().expect("the kind says it is a message");
            wire::put_nested(out, number, |out| encode(message, value, out))?;
        }
    }
    Ok(())
}

/// A JSON number as protobuf writes it: negative ones as their two's complement in 64 bits.
fn integer<T: TryFrom<i64>>(value: &Value) -> Result<u64, Error> {
    let number = value.as_i64().ok_or_else(|| Error::expected("an integer", value))?;
    T::try_from(number).map_err(|_| Error::new(format!("{number} is out of range")))?;
    Ok(number as u64)
}

/// Whether Kubernetes would read the text as a quantity: sign, digits, fraction, and an exponent or a known suffix.
fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let digits = &unsigned[..unsigned.len() - number.len()];
    if digits.matches('.').count() > 1 || !digits.contains(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let suffixes = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    suffixes.contains(&number)
        || number.strip_prefix(['e', 'E']).is_some_and(|exponent| exponent.parse::<i32>().is_ok())
}

//! Protobuf into JSON text, written straight into a buffer.
//!
//! Every field present on the wire is written, in order of field numbers; fields the schema does not know are skipped.

use std::io::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value as Json;

use super::{
    schema::{Field, Form, Kind, Message, Shape},
    wire::{self, Value},
};

/// The JSON value of a stored object, without `kind` and `apiVersion`.
pub(crate) fn to_json(message: &Message, bytes: &[u8]) -> Json {
    let mut out = Vec::with_capacity(bytes.len() * 3);
    write_json(message, bytes, &mut out);
    serde_json::from_slice(&out).expect("the writer writes JSON")
}

/// Writes one message in its JSON form.
pub(crate) fn write_json(message: &Message, bytes: &[u8], out: &mut Vec<u8>) {
    match message.form {
        Form::Plain => {
            out.push(b'{');
            write_fields(message, bytes, &mut true, out);
            out.push(b'}');
        }
        Form::Time => write_time(bytes, false, out),
        Form::MicroTime => write_time(bytes, true, out),
        Form::Quantity => write_text(wire::text_field(bytes, 1), out),
        Form::IntOrString => match number_field(bytes, 1) {
            0 => write_display(number_field(bytes, 2) as i32, out),
            _ => write_text(wire::text_field(bytes, 3), out),
        },
        Form::Json => {
            // Foreign bytes (an embedded object in protobuf) are no JSON and cannot stand in it.
            let raw = wire::bytes_field(bytes, 1).unwrap_or_default();
            let valid = serde_json::from_slice::<serde::de::IgnoredAny>(raw).is_ok();
            out.extend_from_slice(if valid { raw } else { b"null" });
        }
        Form::Items => write_list(&message.fields[0], wire::fields(bytes).map(|field| field.value), out),
        Form::SchemaOrBool => match wire::bytes_field(bytes, 2) {
            Some(schema) => write_value(&message.fields[1], Value::Bytes(schema), out),
            None => write_display(number_field(bytes, 1) != 0, out),
        },
        Form::SchemaOrList | Form::SchemaOrStrings => match wire::bytes_field(bytes, 1) {
            Some(schema) => write_value(&message.fields[0], Value::Bytes(schema), out),
            None => write_list(&message.fields[1], wire::fields(bytes).map(|field| field.value), out),
        },
    }
}

/// Writes the members of a message's JSON object without its braces; `first` is false when one stands before them.
pub(crate) fn write_fields(message: &Message, bytes: &[u8], first: &mut bool, out: &mut Vec<u8>) {
    let mut found: Vec<(u32, Value<'_>)> = wire::fields(bytes).map(|field| (field.number, field.value)).collect();
    // Stable: the order of list items is kept.
    found.sort_by_key(|(number, _)| *number);
    for group in found.chunk_by(|left, right| left.0 == right.0) {
        let Some(field) = message.by_number(group[0].0) else { continue };
        let last = group[group.len() - 1].1;
        if let (Shape::Embedded, Some(embedded), Value::Bytes(bytes)) = (field.shape, field.message(), last) {
            write_fields(embedded, bytes, first, out);
            continue;
        }
        if !std::mem::take(first) {
            out.push(b',');
        }
        write_text(&field.json, out);
        out.push(b':');
        match field.shape {
            Shape::One | Shape::Embedded => write_value(field, last, out),
            Shape::List => write_list(field, group.iter().map(|(_, value)| *value), out),
            Shape::Map => write_map(field, group.iter().map(|(_, value)| *value), out),
        }
    }
}

fn write_list<'bytes>(field: &Field, values: impl Iterator<Item = Value<'bytes>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(field, value, out);
    }
    out.push(b']');
}

fn write_map<'bytes>(field: &Field, values: impl Iterator<Item = Value<'bytes>>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let Value::Bytes(entry) = value else { continue };
        write_text(wire::text_field(entry, 1), out);
        out.push(b':');
        let value = wire::fields(entry).find(|field| field.number == 2).map(|field| field.value);
        write_value(field, value.unwrap_or(Value::Bytes(&[])), out);
    }
    out.push(b'}');
}

fn write_value(field: &Field, value: Value<'_>, out: &mut Vec<u8>) {
    match (field.kind, value) {
        (Kind::Bool, Value::Varint(number)) => write_display(number != 0, out),
        (Kind::Int32, Value::Varint(number)) => write_display(number as i32, out),
        (Kind::Int64, Value::Varint(number)) => write_display(number as i64, out),
        (Kind::Double, Value::Fixed64(bits)) => write_text_of(&f64::from_bits(bits), out),
        (Kind::String, Value::Bytes(bytes)) => write_text(str::from_utf8(bytes).unwrap_or_default(), out),
        (Kind::Bytes, Value::Bytes(bytes)) => write_text(&BASE64_STANDARD.encode(bytes), out),
        (Kind::Message(_), Value::Bytes(bytes)) => {
            write_json(field.message().expect("the kind says it is a message"), bytes, out);
        }
        // A wire type that does not fit the schema.
        _ => out.extend_from_slice(b"null"),
    }
}

fn number_field(message: &[u8], number: u32) -> u64 {
    wire::fields(message)
        .find_map(|field| match field.value {
            Value::Varint(value) if field.number == number => Some(value),
            _ => None,
        })
        .unwrap_or_default()
}

fn write_time(bytes: &[u8], micro: bool, out: &mut Vec<u8>) {
    // An empty message is Go's zero time.
    let seconds = number_field(bytes, 1) as i64;
    let nanoseconds = number_field(bytes, 2) as i32;
    let Some(time) = jiff::Timestamp::new(seconds, nanoseconds).ok().filter(|_| !bytes.is_empty()) else {
        out.extend_from_slice(b"null");
        return;
    };
    let format = if micro { "%Y-%m-%dT%H:%M:%S%.6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    write_text(&time.strftime(format).to_string(), out);
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_text_of(text, out);
}

fn write_text_of<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("writing to memory cannot fail");
}

fn write_display(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    write!(out, "{value}").expect("writing to memory cannot fail");
}

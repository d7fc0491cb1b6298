//! Objects that are bent, cut and broken in every way: an error or samples, never a panic, never a series twice.
//!
//! What comes in is random bytes, full objects with changes to their encoded bytes, and full objects with changes to
//! their JSON, of the right type and of wrong ones.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use super::fixture::{Full, NAME, everything, objects, render};
use super::parse;
use crate::resource::Rendered;
use crate::view::Encoding;

/// Checks the samples, if the object decodes, and that the next object is rendered as if nothing had been.
fn harmless(full: &Full, encoding: Encoding, bytes: &[u8]) -> Option<String> {
    let (resource, plan) = (full.resource, everything(full.resource));
    let mut out = Rendered::default();
    let text = match resource.render(encoding, bytes, &plan, &mut |_| true, &mut out) {
        Ok(admitted) => {
            assert!(admitted);
            parse::check(resource, &plan, &out);
            Some(String::from_utf8(out.text.clone()).unwrap())
        }
        Err(error) => {
            assert!(error.to_string().len() < 500, "{error}");
            None
        }
    };
    assert!(resource.render(Encoding::Protobuf, &full.protobuf, &plan, &mut |_| true, &mut out).unwrap());
    assert_eq!(out.text, render(resource, &plan, Encoding::Protobuf, &full.protobuf).unwrap().text);
    text
}

/// One change to the bytes of an object.
#[derive(Clone, Debug)]
enum Change {
    Cut(Index),
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    /// Another object's bytes in between.
    Graft(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        at().prop_map(Change::Cut),
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (at(), vec(any::<u8>(), 1..12)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (at(), 1..40_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (at(), 1..200_usize, 1..20_usize).prop_map(|(at, length, times)| Change::Repeat(at, length, times)),
        (at(), at()).prop_map(|(at, other)| Change::Graft(at, other)),
    ]
}

fn apply(change: &Change, bytes: &mut Vec<u8>) {
    let length = bytes.len();
    let range = |at: &Index, wanted: usize| {
        let start = at.index(length + 1);
        start..(start + wanted).min(length)
    };
    match change {
        Change::Cut(at) => bytes.truncate(range(at, 0).start),
        Change::Set(at, byte) => {
            if let Some(place) = bytes.get_mut(range(at, 0).start) {
                *place = *byte;
            }
        }
        Change::Insert(at, more) => drop(bytes.splice(range(at, 0), more.iter().copied())),
        Change::Remove(at, length) => drop(bytes.drain(range(at, *length))),
        Change::Repeat(at, length, times) => {
            let range = range(at, *length);
            let part = bytes[range.clone()].repeat(*times);
            drop(bytes.splice(range, part));
        }
        Change::Graft(at, other) => {
            let part = &other.get(objects()).protobuf;
            drop(bytes.splice(range(at, 0), part.iter().copied()));
        }
    }
}

/// Any JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        odd_number(),
        odd_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((odd_text(), inner), 0..4).prop_map(|entries| Value::from(Map::from_iter(entries))),
        ]
    })
}

fn odd_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(vec![json!(0), json!(-1), json!(i32::MAX), json!(i64::MIN), json!(u64::MAX), json!(1e300), json!(0.5)]),
    ]
}

fn odd_text() -> impl Strategy<Value = String> {
    let known = [
        "",
        " ",
        "\"",
        "\\",
        "\n",
        "\\n",
        "\r\n",
        "\0",
        "\t",
        "日本 🚀",
        "\u{feff}",
        "\u{2028}",
        "True",
        "False",
        "Unknown",
        "true",
        "0",
        "-1",
        "1e400",
        "NaN",
        "nan",
        "1Ei",
        "-9e18",
        "12345678901234567890",
        "100m",
        "1n",
        ".5",
        "1e",
        "25%",
        "abc%",
        "99999999999%",
        "0001-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-02-30T00:00:00Z",
        "2026-03-12T20:00:00.5+08:00",
        "-62135596800",
        "::ffff:10.0.0.8",
        "010.1.1.1",
        "fe80::1%eth0",
        "* * * * *",
        "0 0 30 2 *",
        "@every 1s",
        "TZ=UTC 0 0 * * *",
        "Europe/London",
        "Mars/Base",
        "cpu",
        "memory",
        "pods",
        "hugepages-2Mi",
        "example.test/gpu",
        "Resource",
        "External",
        "Ready",
        "PodScheduled",
        "Failed",
        "Complete",
    ];
    prop_oneof![
        3 => select(known.map(str::to_owned).to_vec()),
        1 => ".{0,20}",
        1 => "[a-zA-Z0-9./_-]{1,40}",
        1 => (1..5_000_usize).prop_map(|length| "x".repeat(length)),
    ]
}

/// One change to the JSON of an object.
#[derive(Clone, Debug)]
enum Edit {
    /// Whatever was there, this is.
    Put(Index, Value),
    /// A text where there was one, a number where there was one, the other truth value.
    Odd(Index, String, Value),
    Remove(Index),
    /// Every element of a list so many times; every entry of a map under another key as well.
    Repeat(Index, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        1 => (at(), any_json()).prop_map(|(at, value)| Edit::Put(at, value)),
        4 => (at(), odd_text(), odd_number()).prop_map(|(at, text, number)| Edit::Odd(at, text, number)),
        2 => at().prop_map(Edit::Remove),
        2 => (at(), 2..50_usize).prop_map(|(at, times)| Edit::Repeat(at, times)),
    ]
}

fn odd_edit() -> impl Strategy<Value = Edit> {
    edit().prop_filter("keeps types", |edit| !matches!(edit, Edit::Put(..)))
}

/// Pointers to every value below the root but what names the kind.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
        let mut step = |key: &str, value: &Value| {
            let below = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            walk(value, &below, found);
            found.push(below);
        };
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| step(key, value)),
            Value::Array(items) => items.iter().enumerate().for_each(|(i, value)| step(&i.to_string(), value)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found.retain(|pointer| !["/kind", "/apiVersion"].contains(&pointer.as_str()));
    found
}

/// Lists and maps of that length are not repeated: several repeats multiply.
const MANY: usize = 200;

fn bend(edit: &Edit, object: &mut Value) {
    let pointers = pointers(object);
    let (Edit::Put(at, _) | Edit::Odd(at, ..) | Edit::Remove(at) | Edit::Repeat(at, _)) = edit;
    if pointers.is_empty() {
        return;
    }
    let pointer = at.get(&pointers);
    let place = object.pointer_mut(pointer).unwrap();
    match (edit, place) {
        (Edit::Put(_, value), place) => *place = value.clone(),
        (Edit::Odd(_, text, _), Value::String(place)) => place.clone_from(text),
        (Edit::Odd(_, _, number), place @ Value::Number(_)) => *place = number.clone(),
        (Edit::Odd(..), Value::Bool(place)) => *place = !*place,
        (Edit::Odd(_, text, _), Value::Object(map)) => {
            if let Some((_, value)) = map.clone().into_iter().next() {
                map.insert(text.clone(), value);
            }
        }
        (Edit::Repeat(_, times), Value::Array(items)) if items.len() < MANY => {
            let all = items.iter().cycle().take(items.len() * times);
            *items = all.cloned().collect();
        }
        (Edit::Repeat(_, times), Value::Object(map)) if map.len() < MANY => {
            for (key, value) in map.clone() {
                map.extend((0..*times).map(|i| (format!("{key}.{i}"), value.clone())));
            }
        }
        (Edit::Remove(_), _) => {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match object.pointer_mut(parent).unwrap() {
                Value::Object(map) => drop(map.remove(&key.replace("~1", "/").replace("~0", "~"))),
                Value::Array(items) => drop(items.remove(key.parse().unwrap())),
                _ => {}
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..300)) {
        for full in objects() {
            harmless(full, Encoding::Protobuf, &bytes);
            harmless(full, Encoding::Json, &bytes);
        }
    }

    #[test]
    fn bent_protobuf_does_no_harm(changes in vec(change(), 1..6)) {
        for full in objects() {
            let mut bytes = full.protobuf.clone();
            changes.iter().for_each(|change| apply(change, &mut bytes));
            harmless(full, Encoding::Protobuf, &bytes);
        }
    }

    #[test]
    fn bent_json_text_does_no_harm(changes in vec(change(), 1..3)) {
        for full in objects() {
            let mut bytes = serde_json::to_vec(&full.json).unwrap();
            changes.iter().for_each(|change| apply(change, &mut bytes));
            harmless(full, Encoding::Json, &bytes);
        }
    }

    #[test]
    fn json_of_wrong_types_does_no_harm(edits in vec(edit(), 1..6)) {
        for full in objects() {
            let mut object = full.json.clone();
            edits.iter().for_each(|edit| bend(edit, &mut object));
            harmless(full, Encoding::Json, &serde_json::to_vec(&object).unwrap());
        }
    }

    #[test]
    fn odd_values_do_no_harm_and_read_the_same_in_both_encodings(edits in vec(odd_edit(), 1..10)) {
        for full in objects() {
            let mut object = full.json.clone();
            edits.iter().for_each(|edit| bend(edit, &mut object));
            let from_json = harmless(full, Encoding::Json, &serde_json::to_vec(&object).unwrap());
            // What the API's own types do not hold cannot be sent in protobuf.
            let Ok(bytes) = ksm_testbed::encode(&object) else { continue };
            let from_protobuf = harmless(full, Encoding::Protobuf, &bytes);
            if let (Some(from_json), Some(from_protobuf)) = (from_json, from_protobuf) {
                prop_assert_eq!(from_json, from_protobuf);
            }
        }
    }
}

#[test]
fn an_object_cut_anywhere_does_no_harm() {
    for full in objects() {
        let json = serde_json::to_vec(&full.json).unwrap();
        for end in 0..json.len() {
            assert_eq!(harmless(full, Encoding::Json, &json[..end]), None, "JSON cut at {end} decodes");
        }
        for end in 0..full.protobuf.len() {
            harmless(full, Encoding::Protobuf, &full.protobuf[..end]);
        }
    }
}

#[test]
fn text_that_is_not_utf8_is_an_error() {
    // R16, https://github.com/kubernetes/kube-state-metrics/issues/3067: it never gets as far as a label.
    let replace = |bytes: &[u8], length: usize| {
        let at = bytes.windows(NAME.len()).position(|window| window == NAME.as_bytes()).unwrap();
        let mut bytes = bytes.to_vec();
        bytes[at..at + length].fill(0xff);
        bytes
    };
    for full in objects() {
        assert_eq!(harmless(full, Encoding::Protobuf, &replace(&full.protobuf, 1)), None);
        assert_eq!(harmless(full, Encoding::Protobuf, &replace(&full.protobuf, NAME.len())), None);
        let json = serde_json::to_vec(&full.json).unwrap();
        assert_eq!(harmless(full, Encoding::Json, &replace(&json, 1)), None);
    }
}

#[test]
fn nesting_without_end_is_an_error() {
    const DEPTH: usize = 1_000_000;
    let mut json = br#"{"metadata":"#.to_vec();
    json.extend(b"[".repeat(DEPTH));
    // Field 200, start of group.
    let groups = [0xc3, 0x0c].repeat(DEPTH);
    for full in objects() {
        assert_eq!(harmless(full, Encoding::Json, &json), None);
        assert_eq!(harmless(full, Encoding::Protobuf, &groups), None);
    }
}

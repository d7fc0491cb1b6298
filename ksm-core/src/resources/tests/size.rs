//! Objects of absurd size: the work grows with the size, not with its square.
//!
//! Protobuf messages that are concatenated merge, so copies of a full object in a row are one with long lists.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fixture::{Full, NAME, PLACE, everything, objects, render};
use super::parse;
use crate::family::{FamilyInfo, KeyFilter, MAX_TEXT, Plan};
use crate::resources::{find, testing};
use crate::view::Encoding;

/// Far more than any API server admits, in bytes.
const SIZE: usize = 10 << 20;

/// A fraction of a second for an optimised build on an idle machine; the square of the size would take hours.
const DEADLINE: Duration = Duration::from_secs(20);

/// What is said of an object that has samples beyond measure.
const TOO_MUCH: &str = "samples of more than 64 MiB";

/// Copies in a row, each with digits of its own where elements differ.
fn copies(protobuf: &[u8], count: usize) -> Vec<u8> {
    let places: Vec<usize> = (0..protobuf.len()).filter(|&at| protobuf[at..].starts_with(PLACE.as_bytes())).collect();
    let mut bytes = Vec::with_capacity(count * protobuf.len());
    for i in 0..count {
        let start = bytes.len();
        bytes.extend_from_slice(protobuf);
        for at in &places {
            bytes[start + at..start + at + PLACE.len()].copy_from_slice(format!("{i:06}").as_bytes());
        }
    }
    bytes
}

/// Only what differs from element to element, so that as many as possible fit.
fn thin(full: &Full) -> Vec<u8> {
    fn keep(value: &mut Value) -> bool {
        match value {
            Value::Object(map) => {
                map.retain(|key, value| keep(value) || key.contains(PLACE));
                !map.is_empty()
            }
            Value::Array(items) => {
                items.retain_mut(keep);
                !items.is_empty()
            }
            Value::String(text) => text.contains(PLACE),
            _ => false,
        }
    }
    let mut json = full.json.clone();
    json["metadata"] = Value::Null;
    keep(&mut json);
    json["metadata"] = json!({"name": NAME});
    testing::protobuf(full.resource, json)
}

/// Renders the object, a few families at a time so that each gets its turn before the text is too long.
#[track_caller]
fn renders_in_time(full: &Full, protobuf: &[u8], size: usize) {
    let (resource, table) = (full.resource, full.resource.families());
    let count = size / protobuf.len();
    let lengths = |count| {
        let out = render(resource, &everything(resource), Encoding::Protobuf, &copies(protobuf, count)).unwrap();
        std::iter::once(0).chain(out.ends.clone()).zip(out.ends).map(|(start, end)| end - start).collect::<Vec<_>>()
    };
    // What one more copy adds to each family tells how much all will add.
    let growth = lengths(1).into_iter().zip(lengths(2)).map(|(one, two)| two.saturating_sub(one) as usize * count);
    let mut families: Vec<(&str, usize)> = table.iter().map(|family| family.name).zip(growth).collect();
    let bytes = copies(protobuf, count);
    while !families.is_empty() {
        let mut room = MAX_TEXT;
        let fitting = families.iter().take_while(|(_, length)| {
            room = room.saturating_sub(*length);
            room > 0
        });
        let count = fitting.count().max(1);
        let chosen: Vec<&str> = families.drain(..count).map(|(name, _)| name).collect();
        let enabled = |family: &FamilyInfo<'_>| chosen.contains(&family.name);
        let plan = Plan::new(&table, enabled, KeyFilter::All, KeyFilter::All);
        let started = Instant::now();
        let outcome = render(resource, &plan, Encoding::Protobuf, &bytes);
        let took = started.elapsed();
        assert!(took < DEADLINE, "{took:?} for {chosen:?}");
        if let Err(error) = outcome {
            assert_eq!(error.to_string(), TOO_MUCH, "{chosen:?}");
        }
    }
}

#[test]
fn long_lists_are_rendered_in_time() {
    for full in objects() {
        renders_in_time(full, &full.protobuf, SIZE / 8);
    }
}

#[test]
fn as_many_elements_as_fit_are_rendered_in_time() {
    for full in objects() {
        renders_in_time(full, &thin(full), SIZE);
    }
}

#[test]
fn repeated_elements_of_ten_megabytes_are_rendered_in_time() {
    for full in objects() {
        let bytes = full.protobuf.repeat(SIZE / full.protobuf.len());
        let plan = everything(full.resource);
        let started = Instant::now();
        let outcome = render(full.resource, &plan, Encoding::Protobuf, &bytes);
        assert!(started.elapsed() < DEADLINE, "{:?} for {}", started.elapsed(), full.resource.descriptor().plural);
        match outcome {
            Ok(out) => parse::check(full.resource, &plan, &out),
            Err(error) => assert_eq!(error.to_string(), TOO_MUCH),
        }
    }
}

#[test]
fn lists_that_multiply_are_given_up_in_time() {
    let names = |same: bool| (0..200_000).map(move |i| json!({"name": if same { 0 } else { i }.to_string()}));
    for same in [true, false] {
        let ips: Vec<Value> = names(same).map(|name| json!({"ip": name["name"]})).collect();
        let endpoints =
            json!({"metadata": {"name": NAME}, "subsets": [{"addresses": ips, "ports": list(names(same))}]});
        gives_up("endpoints", endpoints);
    }
    // Containers of one name, each of which goes with each status of that name.
    let containers = list(names(true));
    gives_up(
        "pods",
        json!({
            "metadata": {"name": NAME},
            "spec": {"containers": containers, "initContainers": containers},
            "status": {"containerStatuses": containers, "initContainerStatuses": containers},
        }),
    );
}

fn list(items: impl Iterator<Item = Value>) -> Value {
    Value::Array(items.collect())
}

#[track_caller]
fn gives_up(plural: &str, object: Value) {
    let resource = find(plural).unwrap();
    let bytes = testing::protobuf(resource, object);
    let started = Instant::now();
    let error = render(resource, &everything(resource), Encoding::Protobuf, &bytes).unwrap_err();
    assert!(started.elapsed() < DEADLINE, "{:?} for {plural}", started.elapsed());
    assert_eq!(error.to_string(), TOO_MUCH);
}

#[test]
fn a_text_of_ten_megabytes_is_rendered_in_time() {
    let quotes = "\"".repeat(SIZE);
    let long = ksm_testbed::encode(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "9".repeat(SIZE), "resourceVersion": "9".repeat(SIZE), "labels": {"long": quotes}},
    }))
    .unwrap();
    for full in objects() {
        let bytes = [full.protobuf.as_slice(), &long].concat();
        let started = Instant::now();
        let outcome = render(full.resource, &everything(full.resource), Encoding::Protobuf, &bytes);
        assert!(started.elapsed() < DEADLINE, "{:?} for {}", started.elapsed(), full.resource.descriptor().plural);
        if let Err(error) = outcome {
            assert_eq!(error.to_string(), TOO_MUCH);
        }
    }
}

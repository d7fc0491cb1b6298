//! The generator: the same for a seed, every word and key used, every field present and absent, nothing lost in protobuf.

use std::collections::BTreeSet;

use super::*;
use crate::codec::{to_json, to_protobuf};

/// Objects of a resource over some seeds.
fn objects(resource: &'static Resource, seeds: u64) -> Vec<Value> {
    (0..seeds).flat_map(|seed| (0..12).map(move |index| object(resource, seed, index))).collect()
}

/// Calls `visit` with the keys to each text and number in a value, keys of maps included as text.
fn walk(value: &Value, path: &mut Vec<String>, visit: &mut dyn FnMut(&[String], &Value)) {
    visit(path, value);
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                path.push(key.clone());
                walk(value, path, visit);
                path.pop();
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, path, visit)),
        _ => {}
    }
}

fn cluster(seed: u64, seeds: u64) -> Cluster {
    let cluster = Cluster::default();
    let marker = Some("marker".to_owned());
    cluster.vary(&Variety { seed, seeds, objects: 4, resources: Vec::new(), marker, keep: false });
    cluster
}

fn bytes(cluster: &Cluster) -> Vec<bytes::Bytes> {
    let snapshot = |resource| cluster.collection(resource).snapshot(None).objects;
    RESOURCES.iter().flat_map(snapshot).map(|object| object.bytes.clone()).collect()
}

#[test]
fn a_seed_makes_the_same_bytes_whatever_else_is_made() {
    assert!(bytes(&cluster(3, 1)) == bytes(&cluster(3, 1)));
    assert!(bytes(&cluster(3, 1)) != bytes(&cluster(4, 1)));
    let all = cluster(3, 2);
    let pods = Cluster::default();
    let resources = vec!["pods".to_owned()];
    pods.vary(&Variety { seed: 4, seeds: 1, objects: 4, resources, marker: None, keep: false });
    for object in pods.list("pods").unwrap() {
        let metadata = &object["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap().to_owned();
        let mut other = all.get("pods", &text("namespace"), &text("name")).unwrap().unwrap();
        other["metadata"]["resourceVersion"] = metadata["resourceVersion"].clone();
        assert_eq!(other, object);
    }
}

#[test]
fn varying_replaces_everything_and_ends_with_the_markers() {
    let cluster = cluster(1, 1);
    let variety = Variety {
        seed: 9,
        seeds: 2,
        objects: 3,
        resources: vec!["nodes".to_owned(), "leases".to_owned()],
        marker: Some("m".to_owned()),
        keep: false,
    };
    assert_eq!(cluster.vary(&variety), 14);
    assert_eq!(cluster.counts().into_iter().collect::<Vec<_>>(), [("leases", 7), ("nodes", 7)]);
    let versions: Vec<u64> = cluster
        .list("nodes")
        .unwrap()
        .iter()
        .map(|node| node["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap())
        .collect();
    let marker = cluster.get("nodes", "", "m").unwrap().unwrap();
    assert_eq!(marker["metadata"]["resourceVersion"], versions.iter().max().unwrap().to_string());

    let more = Variety { objects: 0, marker: Some("m2".to_owned()), keep: true, ..variety };
    assert_eq!(cluster.vary(&more), 2);
    assert_eq!(cluster.counts().into_iter().collect::<Vec<_>>(), [("leases", 8), ("nodes", 8)]);
}

/// Deep and rare fields decide how many objects it takes until every word has come up.
const MOST_SEEDS: u64 = 200;

#[test]
fn every_word_of_every_row_is_used() {
    for resource in RESOURCES {
        let rows = pools::WORDS.iter().filter(|row| row.kind == resource.kind);
        let mut unused: BTreeSet<(&str, &str)> =
            rows.clone().flat_map(|row| row.words.iter().map(|word| (row.path, *word))).collect();
        let mut seeds = 0..MOST_SEEDS;
        while let Some(seed) = seeds.next().filter(|_| !unused.is_empty()) {
            for index in 0..12 {
                walk(&object(resource, seed, index), &mut Vec::new(), &mut |path, value| {
                    let path: Vec<&str> = path.iter().map(String::as_str).collect();
                    let row = pools::row(resource.kind, &path);
                    let word = row.and_then(|row| Some((row.path, *row.words.iter().find(|word| **word == *value)?)));
                    unused.retain(|unused| Some(*unused) != word);
                });
            }
        }
        assert_eq!(unused, BTreeSet::new(), "{}", resource.kind);
    }
}

#[test]
fn every_value_that_is_not_bound_to_a_path_is_used() {
    let mut used = BTreeSet::new();
    for plural in ["pods", "deployments", "resourcequotas", "limitranges"] {
        let resource = RESOURCES.iter().find(|resource| resource.plural == plural).unwrap();
        for object in objects(resource, 60) {
            walk(&object, &mut Vec::new(), &mut |_, value| used.extend(value.as_str().map(str::to_owned)));
        }
    }
    for values in [pools::PLAIN, pools::ODD, pools::QUANTITIES, pools::TIMES, pools::PERCENTAGES] {
        assert_eq!(values.iter().filter(|value| !used.contains(**value)).collect::<Vec<_>>(), [&""; 0]);
    }
}

#[test]
fn every_key_is_used() {
    for (kind, map, keys) in pools::KEYS {
        let resource = RESOURCES.iter().find(|resource| resource.kind == kind).unwrap();
        let mut used = BTreeSet::new();
        for object in objects(resource, 100) {
            let map = object.pointer(&format!("/{}", map.replace('.', "/"))).and_then(Value::as_object);
            used.extend(map.into_iter().flat_map(|map| map.keys().cloned()));
        }
        let unused = keys.iter().filter(|key| !used.contains(**key));
        assert_eq!(unused.collect::<Vec<_>>(), [&""; 0], "{kind} {map}");
    }
}

#[test]
fn every_row_that_is_for_all_kinds_is_used_by_some() {
    let mut used = BTreeSet::new();
    for resource in RESOURCES {
        for object in objects(resource, 10) {
            walk(&object, &mut Vec::new(), &mut |path, _| {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                used.extend(pools::row(resource.kind, &path).map(|row| (row.kind, row.path)));
            });
        }
    }
    let unused = pools::WORDS.iter().filter(|row| !used.contains(&(row.kind, row.path)));
    assert_eq!(unused.map(|row| row.path).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_is_read_is_present_and_absent() {
    for resource in RESOURCES {
        let objects = objects(resource, 30);
        for (kind, path) in pools::read(resource.kind) {
            let has = |object: &&Value| {
                let mut found = false;
                let wanted: Vec<&str> = path.split('.').collect();
                walk(object, &mut Vec::new(), &mut |path, _| found |= path.iter().eq(wanted.iter().copied()));
                found
            };
            let count = objects.iter().filter(has).count();
            let is_lacking = kind == "*" && count == 0;
            let is_both = count > 5 && count < objects.len();
            assert!(is_lacking || is_both, "{} {path}: {count} of {}", resource.kind, objects.len());
        }
    }
}

#[test]
fn objects_survive_protobuf() {
    // Sub-second times are cut as the API cuts them, and year 1 comes back as null, as in the API's own JSON.
    for resource in RESOURCES {
        for object in objects(resource, 3) {
            let encode = |object: &Value| to_protobuf(resource.message(), object).unwrap();
            let first = encode(&object);
            let decoded = to_json(resource.message(), &first);
            let name = &object["metadata"]["name"];
            lossless(&object, &decoded, &format!("{name}"));
            let again = to_json(resource.message(), &encode(&decoded));
            assert_eq!(without_nulls(again), without_nulls(decoded), "{name}");
        }
    }
}

/// Checks that `decoded` has everything that `original` has.
#[track_caller]
fn lossless(original: &Value, decoded: &Value, at: &str) {
    match (original, decoded) {
        (Value::Object(original), Value::Object(decoded)) => {
            for (key, value) in original.iter().filter(|(key, _)| !matches!(key.as_str(), "kind" | "apiVersion")) {
                // A list or map without entries is not on the wire.
                let is_empty = value.as_array().is_some_and(Vec::is_empty) || value == &json!({});
                match decoded.get(key) {
                    Some(decoded) => lossless(value, decoded, &format!("{at}.{key}")),
                    None => assert!(is_empty, "{at}.{key} is lost: {value}"),
                }
            }
        }
        (Value::Array(original), Value::Array(decoded)) => {
            assert_eq!(original.len(), decoded.len(), "{at}");
            original.iter().zip(decoded).for_each(|(value, decoded)| lossless(value, decoded, at));
        }
        (Value::String(time), Value::Null) => assert_eq!(time, "0001-01-01T00:00:00Z", "{at}"),
        (Value::String(text), Value::String(found)) if text != found => {
            let second =
                |text: &str| text.parse::<jiff::Timestamp>().map(|time| time.as_millisecond().div_euclid(1000));
            assert_eq!(second(text).ok(), second(found).ok(), "{at}: {text} and {found}");
            assert!(second(text).is_ok(), "{at}: {text} and {found}");
        }
        _ => assert_eq!(original, decoded, "{at}"),
    }
}

fn without_nulls(mut value: Value) -> Value {
    match &mut value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(|value| *value = without_nulls(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| *value = without_nulls(value.take())),
        _ => {}
    }
    value
}

#[test]
fn nothing_crashes_the_other_exporter() {
    let find = |plural: &str| RESOURCES.iter().find(|resource| resource.plural == plural).unwrap();
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut seen = (0, 0);
    for ingress in objects(find("ingresses"), 20) {
        for rule in items(&ingress["spec"]["rules"]) {
            for path in items(&rule["http"]["paths"]) {
                let backend = &path["backend"];
                assert!(backend["service"].is_object() || backend["resource"].is_object(), "{ingress}");
                seen.0 += 1;
            }
        }
    }
    for autoscaler in objects(find("horizontalpodautoscalers"), 20) {
        for metric in items(&autoscaler["spec"]["metrics"]) {
            let kind = metric["type"].as_str().unwrap_or_default();
            let source = kind[..1.min(kind.len())].to_lowercase() + &kind[1.min(kind.len())..];
            let is_known = ["object", "pods", "resource", "containerResource", "external"].contains(&source.as_str());
            assert!(!is_known || metric[&source].is_object(), "{autoscaler}");
            seen.1 += 1;
        }
    }
    assert!(seen.0 > 100 && seen.1 > 100, "{seen:?}");
}

#[test]
fn objects_stay_small_enough_to_look_at() {
    for resource in RESOURCES {
        let objects = objects(resource, 5);
        let bytes: usize = objects.iter().map(|object| object.to_string().len()).sum();
        assert!(bytes / objects.len() < 30_000, "{}: {} on average", resource.kind, bytes / objects.len());
    }
}

//! One full object of every resource, in both encodings, and how to render it.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::family::{KeyFilter, Plan};
use crate::resource::{AnyResource, Rendered, Scope};
use crate::resources::{all, testing};
use crate::view::{DecodeError, Encoding};

/// Digits that stand where elements of lists and maps differ.
pub(super) const PLACE: &str = "000000";

/// Name of every object.
pub(super) const NAME: &str = "subject";

/// An object that gives every family of its resource a sample.
pub(super) struct Full {
    pub(super) resource: &'static dyn AnyResource,
    pub(super) json: Value,
    pub(super) protobuf: Vec<u8>,
}

/// The full object of every resource, in the order of the registry.
pub(super) fn objects() -> &'static [Full] {
    static OBJECTS: LazyLock<Vec<Full>> = LazyLock::new(|| {
        let documents = serde_norway::Deserializer::from_str(include_str!("objects.yaml"));
        let bodies: Vec<Value> = documents.map(|document| Value::deserialize(document).unwrap()).collect();
        all().iter().map(|resource| full(*resource, &bodies)).collect()
    });
    &OBJECTS
}

fn full(resource: &'static dyn AnyResource, bodies: &[Value]) -> Full {
    let descriptor = resource.descriptor();
    let body = bodies.iter().find(|body| body["kind"] == descriptor.kind);
    let mut json = body.unwrap_or_else(|| panic!("objects.yaml has no {}", descriptor.kind)).clone();
    let metadata = json!({
        "name": NAME,
        "uid": "11111111-2222-3333-4444-555555555555",
        "resourceVersion": "10596",
        "generation": 7,
        "creationTimestamp": "2026-03-12T20:00:00Z",
        "deletionTimestamp": "2026-03-12T21:00:00Z",
        "labels": {"app.kubernetes.io/name": "a", "k000000": "v"},
        "annotations": {"example.test/note": "one \"two\"\nthree\\", "k000000": "v"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner-000000", "uid": "o", "controller": true},
        ],
    });
    merge(&mut json["metadata"], metadata);
    if descriptor.scope == Scope::Namespaced {
        json["metadata"]["namespace"] = "ns".into();
    }
    let protobuf = testing::protobuf(resource, json.clone());
    Full { resource, json, protobuf }
}

/// Adds what `from` has and `into` lacks.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            from.into_iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (into @ Value::Null, from) => *into = from,
        _ => {}
    }
}

/// A plan with every family and all labels and annotations.
pub(super) fn everything(resource: &dyn AnyResource) -> Plan {
    Plan::new(&resource.families(), |_| true, KeyFilter::All, KeyFilter::All)
}

/// Renders one object.
pub(super) fn render(
    resource: &dyn AnyResource,
    plan: &Plan,
    encoding: Encoding,
    bytes: &[u8],
) -> Result<Rendered, DecodeError> {
    let mut out = Rendered::default();
    resource.render(encoding, bytes, plan, &mut |_| true, &mut out).map(|_| out)
}

/// Families that an object cannot have beside all others: a schedule has a next time or is invalid.
const APART: [&str; 1] = ["kube_cronjob_schedule_invalid"];

#[test]
fn every_family_of_every_resource_has_a_sample() {
    for Full { resource, json, protobuf } in objects() {
        let (plan, table) = (everything(*resource), resource.families());
        let json = serde_json::to_vec(json).unwrap();
        for (encoding, bytes) in [(Encoding::Json, &json), (Encoding::Protobuf, protobuf)] {
            let out = render(*resource, &plan, encoding, bytes).unwrap();
            super::parse::check(*resource, &plan, &out);
            for (family, samples) in table.iter().zip(&out.samples) {
                assert!(*samples > 0 || APART.contains(&family.name), "{} has no sample ({encoding:?})", family.name);
            }
        }
    }
}

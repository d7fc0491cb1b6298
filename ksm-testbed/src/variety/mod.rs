//! Objects of every kind in every variety, for comparing two exporters: fields present and absent, odd and ordinary
//! values, every word of an enumeration and words that are none.
//!
//! Invariant: an object follows from seed, kind and index alone, whatever else is generated. It is complete: the store
//! adds nothing but a resource version. Nothing here is validated as an API server would, but everything decodes, and
//! nothing crashes the exporter that ours is compared with (see [`sense`]).

mod pools;
mod sense;
mod values;
mod walk;

use serde_json::{Value, json};

use crate::{
    Cluster, codec,
    resources::{RESOURCES, Resource},
    store::Key,
};

/// Which objects [`Cluster::vary`] makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variety {
    /// The first seed.
    pub seed: u64,
    /// How many seeds, counted upwards.
    pub seeds: u64,
    /// Objects of each resource and seed.
    pub objects: usize,
    /// Plural names; empty for every resource.
    pub resources: Vec<String>,
    /// Name of one more, plain object of each resource, stored after the others.
    pub marker: Option<String>,
    /// Whether the objects that are there stay.
    pub keep: bool,
}

impl Variety {
    fn resources(&self) -> impl Iterator<Item = &'static Resource> {
        let wanted = |resource: &&Resource| {
            self.resources.is_empty() || self.resources.iter().any(|plural| plural == resource.plural)
        };
        RESOURCES.iter().filter(wanted)
    }

    fn of(&self, resource: &'static Resource) -> Vec<Value> {
        let seeds = self.seed..self.seed.saturating_add(self.seeds);
        let numbers = seeds.flat_map(|seed| (0..self.objects).map(move |index| (seed, index)));
        let mut objects: Vec<Value> = numbers.map(|(seed, index)| object(resource, seed, index)).collect();
        objects.extend(self.marker.as_deref().map(|name| marker(resource, name)));
        objects
    }
}

impl Cluster {
    /// Removes every object of every resource, unless they are to be kept, and makes those of `variety`; returns how
    /// many it made.
    ///
    /// Watchers see each deletion and addition; the marker of a resource comes last.
    pub fn vary(&self, variety: &Variety) -> usize {
        for resource in RESOURCES.iter().filter(|_| !variety.keep) {
            let collection = self.collection(resource);
            for object in collection.snapshot(None).objects {
                let Key { namespace, name } = &object.key;
                collection.write().remove(&Key::new(namespace, name));
            }
        }
        let mut count = 0;
        for resource in variety.resources() {
            for object in variety.of(resource) {
                let bytes = codec::to_protobuf(resource.message(), &object)
                    .unwrap_or_else(|error| panic!("{} {}: {error}", resource.kind, object["metadata"]["name"]));
                self.collection(resource).write().put(&bytes);
                count += 1;
            }
        }
        count
    }
}

/// Share of optional fields that objects have, in turn by index; the first has only what it must.
const DENSITIES: [f64; 6] = [0.0, 0.6, 0.35, 0.85, 0.15, 0.97];

/// One object.
fn object(resource: &'static Resource, seed: u64, index: usize) -> Value {
    let purpose = format!("variety/{}/{index}", resource.plural);
    let random = crate::cluster::random(&purpose, seed);
    let mut walk = walk::Walk::new(resource, DENSITIES[index % DENSITIES.len()], random);
    let mut object = walk.object();
    identify(&mut object, resource, &format!("{}-s{seed}-{index}", resource.plural), &mut walk);
    sense::make(resource.kind, &mut object, &mut walk);
    object
}

/// Namespaces that objects are in.
const NAMESPACES: [&str; 3] = ["team-a", "team-b", "kube-system"];

fn identify(object: &mut Value, resource: &Resource, name: &str, walk: &mut walk::Walk) {
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.into();
    let uid = crate::cluster::uuid(walk.random());
    let namespace = NAMESPACES[walk.random().usize(..NAMESPACES.len())];
    let metadata = &mut object["metadata"];
    metadata["name"] = name.into();
    metadata["uid"] = uid.into();
    if resource.namespaced {
        metadata["namespace"] = namespace.into();
    } else if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("namespace");
    }
}

/// A plain object of which every exporter of its resource shows something.
fn marker(resource: &Resource, name: &str) -> Value {
    let mut object = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind,
        "metadata": {"name": name, "uid": format!("{}-{name}", resource.plural), "creationTimestamp": "2026-01-01T00:00:00Z"},
    });
    if resource.namespaced {
        object["metadata"]["namespace"] = "marker".into();
    }
    object
}

#[cfg(test)]
mod tests;

//! The generated objects of a round, for finding the one that a series is about.
//!
//! Invariant: generated names are unique over all resources, so that a label value alone leads to its object.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::http::Client;

/// Objects by name.
pub struct Objects(HashMap<String, Value>);

impl Objects {
    /// Lists the objects of `resources` as JSON.
    pub fn read(client: &Client, resources: &[&str]) -> Result<Self> {
        let mut objects = HashMap::new();
        for resource in ksm_core::resources::all() {
            let descriptor = resource.descriptor();
            if !resources.contains(&descriptor.plural) {
                continue;
            }
            let (group, version, plural) = (descriptor.group, descriptor.version, descriptor.plural);
            let api = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
            let mut list = client.get_json(&format!("/{api}/{plural}"))?;
            let items = list["items"].as_array_mut().with_context(|| format!("a list of {plural} has items"))?;
            for mut object in std::mem::take(items) {
                object["kind"] = descriptor.kind.into();
                object["apiVersion"] = api.split_once('/').map_or("", |(_, version)| version).into();
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                objects.insert(name, object);
            }
        }
        Ok(Self(objects))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The object that a series with these labels is about.
    pub fn about(&self, labels: &[(String, String)]) -> Option<&Value> {
        labels.iter().find_map(|(_, value)| self.0.get(value))
    }

    #[cfg(test)]
    pub fn of(objects: Vec<Value>) -> Self {
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Self(objects.into_iter().map(|object| (name(&object), object)).collect())
    }
}

//! Objects of any kind, created or only tried out.
//!
//! Invariant: the API server checks every field (`fieldValidation=Strict`), so a misspelt one is an error.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::http::Client;
use crate::wait;

/// Time for a new kind to be served.
const SERVED_LIMIT: Duration = Duration::from_secs(30);

/// An API server, and where it keeps each kind.
pub struct Api {
    client: Client,
    /// Plural name and whether it is namespaced, by `apiVersion` and kind.
    kinds: BTreeMap<(String, String), (String, bool)>,
}

impl Api {
    /// With the rights of `client`.
    pub fn new(client: Client) -> Self {
        Self { client, kinds: BTreeMap::new() }
    }

    /// Has the API server check an object as if to create it.
    pub fn try_out(&mut self, object: &Value) -> Result<()> {
        self.post(object, "?dryRun=All&fieldValidation=Strict").map(|_| ())
    }

    /// Creates an object; returns it as the API server has it.
    pub fn create(&mut self, object: &Value) -> Result<Value> {
        self.post(object, "?fieldValidation=Strict")
    }

    /// Deletes an object at once.
    pub fn delete(&mut self, object: &Value) -> Result<()> {
        let path = format!("{}/{}", self.collection(object)?, text(object, "/metadata/name")?);
        self.client.send_json("DELETE", &path, &json!({"gracePeriodSeconds": 0}))?;
        Ok(())
    }

    /// The client that it asks with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The object of this kind and name as it is now.
    pub fn get(&mut self, object: &Value) -> Result<Value> {
        let path = format!("{}/{}", self.collection(object)?, text(object, "/metadata/name")?);
        self.client.get_json(&path)
    }

    /// A token for a service account, good as long as the pod lives if one is given.
    pub fn token(&self, namespace: &str, account: &str, pod: Option<&Value>) -> Result<String> {
        let bound = pod.map(|pod| {
            json!({"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]})
        });
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3607, "boundObjectRef": bound},
        });
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let answer = self.client.send_json("POST", &path, &request)?;
        Ok(text(&answer, "/status/token")?.to_owned())
    }

    /// Waits until a kind is served.
    pub fn wait_for_kind(&self, version: &str, kind: &str) -> Result<()> {
        wait::until(&format!("{kind} is served"), SERVED_LIMIT, || {
            let Ok(listing) = self.client.get_json(&root(version)) else { return Ok(None) };
            let kinds = listing["resources"].as_array().into_iter().flatten();
            Ok(kinds.filter(|resource| resource["kind"] == kind).map(|_| ()).next())
        })
    }

    fn post(&mut self, object: &Value, query: &str) -> Result<Value> {
        let what = || format!("{} {}", object["kind"], object["metadata"]["name"]);
        let path = format!("{}{query}", self.collection(object).with_context(what)?);
        self.client.send_json("POST", &path, object).with_context(what)
    }

    /// The path that objects like this one are created at.
    fn collection(&mut self, object: &Value) -> Result<String> {
        let (version, kind) = (text(object, "/apiVersion")?, text(object, "/kind")?);
        let key = (version.to_owned(), kind.to_owned());
        if !self.kinds.contains_key(&key) {
            let listing = self.client.get_json(&root(version))?;
            for resource in listing["resources"].as_array().context("discovery lists resources")? {
                let (name, kind) = (text(resource, "/name")?, text(resource, "/kind")?);
                // With a slash it is a subresource.
                if !name.contains('/') {
                    let place = (name.to_owned(), resource["namespaced"] == true);
                    self.kinds.insert((version.to_owned(), kind.to_owned()), place);
                }
            }
        }
        let (plural, namespaced) =
            self.kinds.get(&key).with_context(|| format!("the API server has no {kind} in {version}"))?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let folder = if *namespaced { format!("/namespaces/{namespace}") } else { String::new() };
        Ok(format!("{}{folder}/{plural}", root(version)))
    }
}

/// The path of a group and version.
fn root(api_version: &str) -> String {
    let prefix = if api_version.contains('/') { "apis" } else { "api" };
    format!("/{prefix}/{api_version}")
}

/// A string in an object.
pub fn text<'a>(object: &'a Value, pointer: &str) -> Result<&'a str> {
    object.pointer(pointer).and_then(Value::as_str).with_context(|| format!("no {pointer} in {object}"))
}

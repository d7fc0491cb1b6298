//! The objects of the test cluster, as a user with an eye for trouble would write them.
//!
//! Invariant: every object is valid to the API server, and none hits a difference on purpose that `docs/migrating.md`
//! lists (quantities past int64, names equal after sanitising, repeated entries, states without a time): whatever
//! differs is a fault.

mod access;
mod bulk;
mod jobs;
mod nodes;
mod plain;
mod pods;
mod pods_status;
mod workloads;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::http::Client;
use crate::interrupt;
use crate::progress::Progress;

pub use self::bulk::NODES as BULK_NODES;

/// The resources that the run is about, by plural name.
pub const RESOURCES: [&str; 11] = [
    "configmaps",
    "daemonsets",
    "deployments",
    "jobs",
    "namespaces",
    "nodes",
    "pods",
    "replicasets",
    "secrets",
    "services",
    "statefulsets",
];

/// Requests in flight; more do not help on two cores.
const WORKERS: usize = 6;

/// What is done to one object, in this order: created, patched below its subresources, deleted.
pub struct Object {
    /// The path of its collection, such as `/api/v1/namespaces/team-a/pods`.
    collection: String,
    body: Value,
    /// Subresource and merge patch.
    patches: Vec<(&'static str, Value)>,
    delete: bool,
}

impl Object {
    /// An object of a namespaced resource; `api` is `api/v1` or `apis/<group>/<version>`.
    fn namespaced(api: &str, resource: &str, namespace: &str, body: Value) -> Self {
        Self::at(format!("/{api}/namespaces/{namespace}/{resource}"), body)
    }

    /// An object of a cluster-scoped resource.
    fn cluster(api: &str, resource: &str, body: Value) -> Self {
        Self::at(format!("/{api}/{resource}"), body)
    }

    fn at(collection: String, body: Value) -> Self {
        Self { collection, body, patches: Vec::new(), delete: false }
    }

    /// Sets its status.
    fn status(self, status: Value) -> Self {
        self.patch("status", json!({"status": status}))
    }

    /// Changes a subresource.
    fn patch(mut self, subresource: &'static str, patch: Value) -> Self {
        self.patches.push((subresource, patch));
        self
    }

    /// Merges fields into its metadata.
    fn metadata(mut self, fields: Value) -> Self {
        merge(&mut self.body["metadata"], fields);
        self
    }

    /// Merges fields into its spec before it is created.
    fn patch_spec(mut self, fields: Value) -> Self {
        merge(&mut self.body["spec"], fields);
        self
    }

    /// Asks for its deletion; a finalizer keeps it in view.
    fn deleted(mut self) -> Self {
        self.delete = true;
        self.metadata(json!({"finalizers": ["example.com/keep"]}))
    }

    /// Does it.
    pub fn create(&self, client: &Client) -> Result<()> {
        let name = self.body["metadata"]["name"].as_str().context("an object has a name")?;
        client.send_json("POST", &self.collection, &self.body).with_context(|| format!("creating {name}"))?;
        let path = format!("{}/{name}", self.collection);
        for (subresource, patch) in &self.patches {
            client.send_json("PATCH", &format!("{path}/{subresource}"), patch)?;
        }
        if self.delete {
            client.send_json("DELETE", &path, &json!({}))?;
        }
        Ok(())
    }
}

/// Merges the fields of `with` into an object, replacing what is there.
fn merge(target: &mut Value, with: Value) {
    match (target, with) {
        (Value::Object(target), Value::Object(with)) => {
            for (key, value) in with {
                merge(target.entry(key).or_insert(Value::Null), value);
            }
        }
        (target, with) => *target = with,
    }
}

/// Label keys that need sanitising, and keys that are equal after it.
fn odd_labels() -> Value {
    json!({
        "app.kubernetes.io/name": "shop",
        "app.kubernetes.io/part-of": "",
        "camelCase": "v1",
        "Camel-Case": "v2",
        "UPPER": "v3",
        "HTTPServer2Go": "v4",
        "a.b": "dot",
        "a-b": "dash",
        "a_b": "underscore",
        "example.com/9nine": "digit",
        "0": "zero",
        "x--y..z__w": "runs",
        "Team.id.conflict1": "v0",
        "team-id": "v1",
        "team.id": "v2",
    })
}

/// Annotations whose values need escaping, and keys that are equal after sanitising.
fn odd_annotations() -> Value {
    json!({
        "example.com/quotes": "say \"hi\" and 'hi'",
        "example.com/backslash": "C:\\new\\table\\",
        "example.com/lines": "one\ntwo\r\nthree\n",
        "example.com/blanks": " \t  ",
        "example.com/unicode": "日本 – ünïcödé 🦀 \u{2028} \u{00a0}",
        "example.com/braces": "{a=\"b\",c=\"d\"} 1 # EOF",
        "example.com/empty": "",
        "example.com/json": "{\"a\":[1,2,{\"b\":\"\\\"\"}]}",
        "example.com/long": "0123456789".repeat(400),
        "note.one": "dot",
        "note-one": "dash",
        "Note_One": "underscore",
    })
}

/// `{name, labels, annotations}`.
fn metadata(name: &str, labels: Value, annotations: Value) -> Value {
    json!({"name": name, "labels": labels, "annotations": annotations})
}

/// An owner reference. The garbage collector does not run, so the owner need not exist.
fn owner(kind: &str, name: &str, controller: Option<bool>) -> Value {
    let api = match kind {
        "Node" => "v1",
        "CronJob" | "Job" => "batch/v1",
        "Widget" => "example.com/v1",
        _ => "apps/v1",
    };
    let mut reference = Map::new();
    reference.insert("apiVersion".to_owned(), api.into());
    reference.insert("kind".to_owned(), kind.into());
    reference.insert("name".to_owned(), name.into());
    reference.insert("uid".to_owned(), format!("owner-{name}").into());
    if let Some(controller) = controller {
        reference.insert("controller".to_owned(), controller.into());
    }
    reference.into()
}

/// A condition with every field; times count seconds from a fixed moment.
fn condition(kind: &str, status: &str, reason: &str, seconds: u32) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": time(seconds)})
}

/// A moment on 2026-03-04, so many seconds after noon (UTC); below 43 200.
fn time(seconds: u32) -> String {
    let (hours, minutes) = (12 + seconds / 3600, seconds / 60 % 60);
    format!("2026-03-04T{hours:02}:{minutes:02}:{:02}Z", seconds % 60)
}

/// A namespaced object to be made during the run, in namespace `team-a`.
pub fn late_config_map(name: &str) -> Object {
    plain::config_map("team-a", name)
}

/// A pod to be made during the run, in namespace `team-a`, bound to `node` if given.
pub fn late_pod(name: &str, node: Option<&str>) -> Object {
    bulk::simple_pod("team-a", name, node)
}

/// Makes the whole cluster with `pods` bulk pods; returns how many objects it made.
pub fn create_all(client: &Client, pods: u32) -> Result<usize> {
    let first: Vec<Object> =
        [access::objects(), plain::namespaces(), nodes::objects(), bulk::nodes()].into_iter().flatten().collect();
    let then: Vec<Object> = [
        plain::objects(),
        workloads::objects(),
        jobs::objects(),
        pods::objects(),
        pods_status::objects(),
        bulk::objects(pods),
    ]
    .into_iter()
    .flatten()
    .collect();
    let last = plain::namespaces_to_delete();
    let count = first.len() + then.len() + last.len();
    let progress = Progress::start(format!("creating {count} objects"));
    for (step, objects) in [("namespaces and nodes", first), ("the rest", then), ("deleted namespaces", last)] {
        progress.note(step);
        create(client, &objects)?;
    }
    progress.done("");
    Ok(count)
}

/// Makes only `pods` similar pods, and the namespace and the nodes they need.
pub fn create_bulk(client: &Client, pods: u32) -> Result<()> {
    let progress = Progress::start(format!("creating {pods} pods"));
    create(client, &bulk::nodes())?;
    create(client, &[Object::cluster("api/v1", "namespaces", json!({"metadata": {"name": bulk::NAMESPACE}}))])?;
    create(client, &bulk::objects(pods))?;
    progress.done("");
    Ok(())
}

/// Makes objects side by side; the first error ends it.
fn create(client: &Client, objects: &[Object]) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(object) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = interrupt::check().and_then(|()| object.create(client)) {
                        next.store(objects.len(), Ordering::Relaxed);
                        failure.lock().expect("no thread panics with the lock").get_or_insert(error);
                        return;
                    }
                }
            });
        }
    });
    failure.into_inner().expect("no thread panics with the lock").map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_merge_deeply() {
        let mut value = json!({"a": {"b": 1}, "c": [1]});
        merge(&mut value, json!({"a": {"d": 2}, "c": [2]}));
        assert_eq!(value, json!({"a": {"b": 1, "d": 2}, "c": [2]}));
    }

    #[test]
    fn moments_are_valid() {
        assert_eq!([time(0), time(3_725)], ["2026-03-04T12:00:00Z", "2026-03-04T13:02:05Z"]);
    }
}

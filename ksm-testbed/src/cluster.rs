//! The simulated cluster: objects of every resource, changed from Rust or over HTTP.
//!
//! A cluster is a handle; clones share the objects.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};

use crate::{
    codec,
    resources::{self, RESOURCES, Resource},
    status::Status,
    store::{Collection, Key, MetadataPatch, Object, object::patch_metadata},
};

/// Events kept for each resource unless set otherwise.
pub const DEFAULT_HISTORY: usize = 10_000;

/// A handle to the objects of a simulated cluster.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    revision: Arc<AtomicU64>,
    collections: Vec<Arc<Collection>>,
    random: Mutex<fastrand::Rng>,
}

/// Why a call from Rust failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object has no `kind` and `apiVersion` of a served resource.
    #[error("no resource serves kind `{kind}` of `{api_version}`")]
    UnknownKind {
        /// `kind` of the object.
        kind: String,
        /// `apiVersion` of the object.
        api_version: String,
    },
    /// No resource has this plural.
    #[error("no resource is called `{0}`")]
    UnknownResource(String),
    /// The object does not fit its kind: an unknown field, a wrong type or no name.
    #[error("{kind} `{name}`: {reason}")]
    Invalid {
        /// `kind` of the object.
        kind: String,
        /// `metadata.name` of the object.
        name: String,
        /// What is wrong, with the path of the field.
        reason: String,
    },
}

/// Encodes an object as the API server would: its protobuf message, without the envelope.
///
/// # Errors
/// Its kind is not served, or it has a field that the API does not know or of the wrong type.
pub fn encode(object: &Value) -> Result<Vec<u8>, Error> {
    encode_as(object).map(|(_, bytes)| bytes)
}

fn encode_as(object: &Value) -> Result<(&'static Resource, Vec<u8>), Error> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let resource = resources::by_kind(api_version, kind)
        .ok_or_else(|| Error::UnknownKind { kind: kind.to_owned(), api_version: api_version.to_owned() })?;
    let bytes = codec::to_protobuf(resource.message(), object).map_err(|error| invalid(object, error.to_string()))?;
    Ok((resource, bytes))
}

fn invalid(object: &Value, reason: String) -> Error {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Error::Invalid { kind: text(&object["kind"]), name: text(&object["metadata"]["name"]), reason }
}

impl Default for Cluster {
    fn default() -> Self {
        Self::new(DEFAULT_HISTORY, 0)
    }
}

impl Cluster {
    /// An empty cluster that remembers this many events for each resource and draws UIDs from a seed.
    pub fn new(history: usize, seed: u64) -> Self {
        let revision = Arc::new(AtomicU64::new(1));
        let collection = |_| Arc::new(Collection::new(Arc::clone(&revision), history));
        let collections = RESOURCES.iter().map(collection).collect();
        Self { inner: Arc::new(Inner { revision, collections, random: Mutex::new(random("cluster", seed)) }) }
    }

    /// Creates the object, or replaces the one with its kind, namespace and name.
    ///
    /// Sets the resource version, and where absent the namespace (`default`), UID and creation time. Returns the stored
    /// object.
    pub fn apply(&self, object: Value) -> Result<Value, Error> {
        let (resource, bytes) = encode_as(&object)?;
        let stored =
            self.store(resource, None, &bytes, Condition::Upsert).map_err(|status| invalid(&object, status.message))?;
        Ok(self.value(resource, &stored))
    }

    /// Removes an object; `false` if there was none. `namespace` is empty for cluster-scoped resources.
    pub fn delete(&self, resource: &str, namespace: &str, name: &str) -> Result<bool, Error> {
        let collection = self.collection(find(resource)?);
        Ok(collection.write().remove(&Key::new(namespace, name)).is_some())
    }

    /// An object as JSON.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Result<Option<Value>, Error> {
        let resource = find(resource)?;
        let object = self.collection(resource).get(&Key::new(namespace, name));
        Ok(object.map(|object| self.value(resource, &object)))
    }

    /// All objects of a resource as JSON.
    pub fn list(&self, resource: &str) -> Result<Vec<Value>, Error> {
        let resource = find(resource)?;
        let snapshot = self.collection(resource).snapshot(None);
        Ok(snapshot.objects.iter().map(|object| self.value(resource, object)).collect())
    }

    /// How many objects a resource has.
    pub fn count(&self, resource: &str) -> Result<usize, Error> {
        Ok(self.collection(find(resource)?).len())
    }

    /// How many objects each resource has that has any, by plural.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let counts = RESOURCES.iter().map(|resource| (resource.plural, self.collection(resource).len()));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// The latest resource version.
    pub fn resource_version(&self) -> u64 {
        self.inner.revision.load(Ordering::SeqCst)
    }

    /// Forgets the history: watches and continue tokens from before are answered with 410.
    pub fn compact(&self) {
        for collection in &self.inner.collections {
            collection.compact();
        }
    }

    /// Ends the open watches of a resource with a 410, however far they have got.
    pub fn expire_watches(&self, resource: &str) -> Result<(), Error> {
        self.collection(find(resource)?).expire();
        Ok(())
    }

    pub(crate) fn collection(&self, resource: &Resource) -> &Arc<Collection> {
        &self.inner.collections[resource.index()]
    }

    /// A stored object as JSON with its kind.
    pub(crate) fn value(&self, resource: &Resource, object: &Object) -> Value {
        let mut value = codec::to_json(resource.message(), &object.bytes);
        value["kind"] = resource.kind.into();
        value["apiVersion"] = resource.api_version().into();
        value
    }

    /// Stores an encoded object; the namespace of the request, if any, must be its own.
    pub(crate) fn store(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        bytes: &[u8],
        condition: Condition<'_>,
    ) -> Result<Arc<Object>, Status> {
        // A message without metadata gets one, so that metadata is always the first field.
        let given = Object::new(patch_metadata(bytes, &MetadataPatch::default()).into());
        let namespace = match (resource.namespaced, namespace, &*given.key.namespace) {
            (false, _, "") => "",
            (false, ..) => return Err(Status::bad_request("namespace is not allowed on this type")),
            (true, None, "") => "default",
            (true, None, own) | (true, Some(own), "") => own,
            (true, Some(asked), own) if asked == own => own,
            _ => {
                let message = "the namespace of the provided object does not match the namespace sent on the request";
                return Err(Status::bad_request(message));
            }
        };
        let name = match (&*given.key.name, given.generate_name()) {
            ("", "") => {
                return Err(Status::invalid(
                    (resource.group, resource.kind),
                    "metadata.name",
                    "Required value: name or generateName is required",
                ));
            }
            ("", prefix) => format!("{prefix}{}", self.suffix()),
            (name, _) => name.to_owned(),
        };
        let key = Key::new(namespace, &name);
        let writer = self.collection(resource).write();
        let previous = writer.get(&key).cloned();
        condition.check(resource, &name, &given, previous.as_deref())?;
        let uid = match (&previous, &*given.uid) {
            (Some(previous), "") => previous.uid.to_string(),
            (None, "") => self.uid(),
            (_, uid) => uid.to_owned(),
        };
        let created = given.created().or(previous.as_ref().and_then(|previous| previous.created()));
        let patch = MetadataPatch {
            name: Some(&name),
            namespace: resource.namespaced.then_some(namespace),
            uid: Some(&uid),
            resource_version: previous.as_ref().map(|previous| previous.resource_version),
            creation_timestamp: Some(created.unwrap_or_else(|| jiff::Timestamp::now().as_second())),
            deletion_timestamp: None,
        };
        let bytes = patch_metadata(&given.bytes, &patch);
        match previous {
            // As in etcd, a write that changes nothing makes no event.
            Some(previous) if previous.bytes == bytes => Ok(previous),
            _ => Ok(writer.put(&bytes)),
        }
    }

    /// A UID in the form of a random UUID, from the cluster's seed.
    pub(crate) fn uid(&self) -> String {
        uuid(&mut self.inner.random.lock().expect("drawing numbers cannot panic"))
    }

    fn suffix(&self) -> String {
        let mut random = self.inner.random.lock().expect("drawing numbers cannot panic");
        (0..5).map(|_| char::from(SUFFIX_ALPHABET[random.usize(..SUFFIX_ALPHABET.len())])).collect()
    }
}

/// What Kubernetes makes generated names of: no vowels, no look-alikes.
pub(crate) const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Random numbers for a purpose. Purposes must not share a sequence: their UIDs would be the same ones.
pub(crate) fn random(purpose: &str, seed: u64) -> fastrand::Rng {
    fastrand::Rng::with_seed(crate::uid_hash(&format!("{purpose}/{seed}")))
}

/// A random (version 4) UUID.
pub(crate) fn uuid(random: &mut fastrand::Rng) -> String {
    let bits = random.u128(..) & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn find(plural: &str) -> Result<&'static Resource, Error> {
    resources::by_plural(plural).ok_or_else(|| Error::UnknownResource(plural.to_owned()))
}

/// What must hold for a write to happen.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Condition<'a> {
    Upsert,
    Absent,
    /// The object exists, under this name, at the version it was read at if it names one.
    Present(&'a str),
}

impl Condition<'_> {
    fn check(self, resource: &Resource, name: &str, given: &Object, previous: Option<&Object>) -> Result<(), Status> {
        match (self, previous) {
            (Self::Absent, Some(_)) => Err(Status::already_exists(resource, name)),
            (Self::Present(asked), _) if asked != name => {
                Err(Status::bad_request("the name of the object does not match the name on the URL"))
            }
            (Self::Present(_), None) => Err(Status::not_found(resource, name)),
            (Self::Present(_), Some(previous))
                if given.resource_version != 0 && given.resource_version != previous.resource_version =>
            {
                Err(Status::conflict(resource, name))
            }
            _ => Ok(()),
        }
    }
}

/// The status object that answers a deletion.
pub(crate) fn deleted(resource: &Resource, object: &Object) -> Value {
    let mut details = json!({"name": &*object.key.name, "kind": resource.plural, "uid": &*object.uid});
    if !resource.group.is_empty() {
        details["group"] = resource.group.into();
    }
    json!({"metadata": {}, "status": "Success", "details": details})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeName": "x"}})
    }

    #[test]
    fn applied_objects_get_what_the_server_sets() {
        let cluster = Cluster::default();
        let pod = cluster.apply(pod()).unwrap();
        let metadata = &pod["metadata"];
        assert_eq!((&metadata["namespace"], &metadata["resourceVersion"]), (&json!("default"), &json!("2")));
        assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
        assert!(metadata["creationTimestamp"].is_string());
        assert_eq!(cluster.get("pods", "default", "a").unwrap().unwrap(), pod);
    }

    #[test]
    fn applying_again_keeps_identity_and_skips_no_ops() {
        let cluster = Cluster::default();
        let first = cluster.apply(pod()).unwrap();
        assert_eq!(cluster.apply(pod()).unwrap(), first);
        let mut changed = pod();
        changed["spec"]["nodeName"] = "y".into();
        let second = cluster.apply(changed).unwrap();
        assert_eq!(second["metadata"]["uid"], first["metadata"]["uid"]);
        assert_eq!(second["metadata"]["resourceVersion"], "3");
    }

    #[test]
    fn mistakes_are_named() {
        let cluster = Cluster::default();
        let error = |change: fn(&mut Value)| {
            let mut pod = pod();
            change(&mut pod);
            cluster.apply(pod).unwrap_err().to_string()
        };
        assert_eq!(error(|pod| pod["kind"] = "Pot".into()), "no resource serves kind `Pot` of `v1`");
        assert_eq!(error(|pod| pod["spec"]["nodename"] = "".into()), "Pod `a`: spec.nodename: unknown field");
        let wrong = error(|pod| pod["spec"]["containers"] = json!([{"name": "c", "ports": [{"containerPort": "x"}]}]));
        assert_eq!(wrong, "Pod `a`: spec.containers[0].ports[0].containerPort: expected an integer, found a string");
        assert!(error(|pod| pod["metadata"] = json!({})).contains("metadata.name: Required value"));
    }

    #[test]
    fn uuids_are_of_version_four() {
        let uid = uuid(&mut fastrand::Rng::with_seed(1));
        assert_eq!((uid.as_bytes()[14], b"89ab".contains(&uid.as_bytes()[19])), (b'4', true), "{uid}");
    }
}

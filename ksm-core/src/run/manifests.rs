//! Manifests as the cluster: YAML or JSON of objects, lists included, into stores, without any server.
//!
//! Objects pass the same filters as those of an API server would: resources, namespaces, node, shard, limit. One that
//! cannot be used is named on stderr and costs only itself. JSON is not copied: a dump of a whole cluster is long.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Failure;
use crate::catalogue::{Catalogue, ServedResource};
use crate::options::{Enabled, Part, Settings, yaml_error};
use crate::resource::{Descriptor, Rendered, Scope};
use crate::store::{ObjectKey, Store};
use crate::view::{Encoding, ObjectMeta};
use crate::watch::Progress;

/// What is read of any object to know where it belongs.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Head<'a> {
    api_version: Option<String>,
    kind: Option<String>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// What is read of an object that does not decode, to name it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    metadata: NamedMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedMetadata {
    namespace: String,
    name: String,
}

/// What is read of a pod to know its node.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Placement {
    spec: Option<PlacementSpec>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PlacementSpec {
    node_name: Option<String>,
}

/// The text of each input with its name; stdin if there is none.
pub(super) fn read(files: &[OsString]) -> Result<Vec<(String, String)>, Failure> {
    let stdin = [OsString::from("-")];
    let files = if files.is_empty() { &stdin } else { files };
    let read = |file: &OsString| {
        let (name, text) = match file.to_str() {
            Some("-") => {
                let mut text = String::new();
                ("stdin".to_owned(), std::io::stdin().lock().read_to_string(&mut text).map(|_| text))
            }
            _ => (file.to_string_lossy().into_owned(), std::fs::read_to_string(file)),
        };
        match text {
            Ok(text) => Ok((name, text)),
            Err(source) => Err(Failure::Input { name, source }),
        }
    };
    files.iter().map(read).collect()
}

/// Everything in `inputs` that the settings admit.
pub(super) fn catalogue(settings: &Settings, inputs: &[(String, String)]) -> Result<Arc<Catalogue>, Failure> {
    let mut cluster = Cluster::new(settings);
    for (name, text) in inputs {
        let content = |reason| Failure::Content { name: name.clone(), reason };
        if text.trim_start().starts_with('{') {
            for object in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
                cluster.add(object.map_err(|error| content(error.to_string()))?, None);
            }
        } else {
            let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple_with_options(text, yaml_options())
                .map_err(|error| content(yaml_error(&error)))?;
            for document in documents.iter().filter(|document| !document.is_null()) {
                let text = document.to_string();
                let raw: &RawValue = serde_json::from_str(&text).map_err(|error| content(error.to_string()))?;
                cluster.add(raw, None);
            }
        }
    }
    Ok(cluster.finish())
}

/// Files come from whoever runs the program, so their size is no attack.
fn yaml_options() -> serde_saphyr::Options {
    serde_saphyr::options! { budget: None }
}

/// Stores under construction.
struct Cluster<'a> {
    settings: &'a Settings,
    stores: Vec<Store>,
    rendered: Rendered,
    /// How many objects there are of what is not served, by version and kind.
    skipped: BTreeMap<(String, String), usize>,
}

impl<'a> Cluster<'a> {
    fn new(settings: &'a Settings) -> Self {
        let store = |enabled: &Enabled| Store::new(enabled.plan.families().len());
        let stores = settings.resources.iter().map(store).collect();
        Self { settings, stores, rendered: Rendered::default(), skipped: BTreeMap::new() }
    }

    /// Adds an object, or those of a list. Members of a typed list need not say what they are: `of` does.
    fn add(&mut self, object: &RawValue, of: Option<(&str, &str)>) {
        let head: Head<'_> = match serde_json::from_str(object.get()) {
            Ok(head) => head,
            Err(_) => return eprintln!("warning: skipped something that is no object"),
        };
        let version = head.api_version.as_deref().or(of.map(|(version, _)| version)).unwrap_or_default();
        let kind = head.kind.as_deref().or(of.map(|(_, kind)| kind)).unwrap_or_default();
        if let (Some(items), Some(member)) = (&head.items, kind.strip_suffix("List")) {
            let of = (!member.is_empty()).then_some((version, member));
            return items.iter().for_each(|item| self.add(item, of));
        }
        let place = self.settings.resources.iter().position(|enabled| {
            let descriptor = enabled.resource.descriptor();
            let (group, number) = group(version);
            (descriptor.group, descriptor.version, descriptor.kind) == (group, number, kind)
        });
        match place {
            Some(place) => self.add_to(place, object),
            None => *self.skipped.entry((version.to_owned(), kind.to_owned())).or_default() += 1,
        }
    }

    fn add_to(&mut self, place: usize, object: &RawValue) {
        let Self { settings, stores, rendered, .. } = self;
        let Enabled { resource, plan } = &settings.resources[place];
        let (store, scope) = (&mut stores[place], resource.descriptor().scope);
        if settings.object_limit.is_some_and(|limit| store.len() >= limit) || !is_placed(&settings.part, object) {
            return;
        }
        let mut key = None;
        let mut admit = |meta: &ObjectMeta| {
            let in_scope = scope == Scope::Cluster
                || (settings.namespaces.is_empty() || settings.namespaces.contains(&meta.namespace))
                    && !settings.excluded_namespaces.contains(&meta.namespace);
            key = Some(ObjectKey::new(meta));
            in_scope && settings.shard.owns(&meta.uid)
        };
        match (resource.render(Encoding::Json, object.get().as_bytes(), plan, &mut admit, rendered), key) {
            (Ok(true), Some(key)) => {
                store.apply(key, rendered);
            }
            (Ok(_), _) => {}
            (Err(error), _) => {
                let Named { metadata: NamedMetadata { namespace, name } } =
                    serde_json::from_str(object.get()).unwrap_or_default();
                let kind = resource.descriptor().kind;
                eprintln!("warning: skipped {kind} {namespace}/{name}: {error}");
            }
        }
    }

    fn finish(mut self) -> Arc<Catalogue> {
        for ((version, kind), count) in &self.skipped {
            let what = format!("{version} {kind}");
            let other = self.settings.resources.iter().map(|enabled| enabled.resource.descriptor());
            let hint = match other.filter(|descriptor| descriptor.kind == kind).find(|d| d.group == group(version).0) {
                Some(Descriptor { plural, group, version, .. }) => {
                    let name = [plural, version, group].join(".");
                    format!(" in this version; kubectl get {} gives the one that is", name.trim_end_matches('.'))
                }
                None => String::new(),
            };
            eprintln!("note: skipped {count} of {}, which is not served{hint}", what.trim());
        }
        let mut served = Vec::new();
        for (enabled, store) in self.settings.resources.iter().zip(&mut self.stores) {
            store.publish();
            let progress = vec![Arc::new(Progress::default())];
            served.push(ServedResource::new(
                Arc::clone(&enabled.resource),
                &enabled.plan,
                vec![store.reader()],
                progress,
            ));
        }
        Arc::new(Catalogue::new(served))
    }
}

/// Group and version of an `apiVersion`.
fn group(version: &str) -> (&str, &str) {
    version.split_once('/').unwrap_or(("", version))
}

/// Whether the object is of the part, as a field selector would find.
fn is_placed(part: &Part, object: &RawValue) -> bool {
    let node = || {
        let placement: Placement = serde_json::from_str(object.get()).unwrap_or_default();
        placement.spec.unwrap_or_default().node_name.unwrap_or_default()
    };
    match part {
        Part::Everything | Part::Rest => true,
        Part::Node(name) => node() == *name,
        Part::Unscheduled => node().is_empty(),
    }
}

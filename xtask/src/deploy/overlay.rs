//! An overlay: where it is, and the objects it renders to.
//!
//! Invariant: only images are changed, and only those of our own binaries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::cargo::{self, SHIPPED};
use crate::manifests::render;

/// The end of names that no registry has (RFC 2606); that of the placeholder of the bases is one.
const NOWHERE: &str = ".invalid";

/// What `build-images --push` writes: tag and digest by the name of an image, of the last push each.
const PUSHED: &str = "target/images/pushed.json";

/// What `--create-namespace` makes, by another name.
const NAMESPACE: &str = "deploy/namespace/namespace.yaml";

/// Lists of containers in a workload.
const CONTAINERS: [&str; 2] = ["/spec/template/spec/containers", "/spec/template/spec/initContainers"];

/// The folder of an overlay, given by its name in `deploy/overlays` or as a path.
pub fn find(given: &str) -> Result<PathBuf> {
    let root = cargo::workspace_root().join("deploy/overlays");
    let named = root.join(given);
    let is_overlay = |path: &Path| path.join("kustomization.yaml").is_file();
    if !given.contains('/') && is_overlay(&named) {
        return Ok(named);
    }
    if given.contains('/') {
        let path = PathBuf::from(given);
        ensure!(is_overlay(&path), "--overlay {given}: there is no kustomization.yaml in that folder");
        return Ok(path);
    }
    let entries = std::fs::read_dir(&root).with_context(|| format!("cannot list {}", root.display()))?;
    let folders = entries.flatten().filter(|entry| is_overlay(&entry.path()));
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    bail!("there is no overlay `{given}`: there are {}; a path names one that lies elsewhere", names.join(", "))
}

/// What an overlay renders to, in the order in which it is to be applied.
pub struct Objects(Vec<Value>);

/// A workload whose rollout can be waited for.
pub struct Workload {
    kind: String,
    name: String,
    /// Where it is.
    pub namespace: String,
}

impl Workload {
    /// As kubectl names it.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.kind.to_lowercase(), self.name)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

impl Objects {
    /// Reads rendered YAML.
    pub fn parse(text: &str) -> Result<Self> {
        let objects = render::parse(text).context("what kubectl renders is no YAML")?;
        ensure!(!objects.is_empty(), "the overlay renders nothing");
        Ok(Self(objects))
    }

    /// Takes the images of our binaries from `REGISTRY/REPO:TAG`, or from `REGISTRY/REPO` as they were pushed last.
    pub fn set_images(&mut self, to: &str) -> Result<()> {
        let path = cargo::workspace_root().join(PUSHED);
        let pushed = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).with_context(|| path.display().to_string())?,
            Err(_) => BTreeMap::new(),
        };
        self.set_images_of(to, &pushed)
    }

    fn set_images_of(&mut self, to: &str, pushed: &BTreeMap<String, String>) -> Result<()> {
        // A colon before the last slash belongs to a port.
        let (repository, tag) = match to.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (to, None),
        };
        let repository = repository.trim_end_matches('/');
        ensure!(!repository.is_empty() && tag != Some(""), "--images {to}: want REGISTRY/REPO or REGISTRY/REPO:TAG");
        for object in &mut self.0 {
            for image in images(object) {
                let Some(binary) = image.as_str().and_then(binary_of) else { continue };
                let name = format!("{repository}/{binary}");
                let tag = tag.or_else(|| pushed.get(&name).map(String::as_str)).with_context(|| {
                    format!(
                        "--images {to}: no {name} was pushed from this checkout: name its tag, as in {repository}:TAG"
                    )
                })?;
                *image = json!(format!("{name}:{tag}"));
            }
        }
        Ok(())
    }

    /// Fails if an image is nowhere, as the placeholders of the bases are.
    pub fn check_images(&self, overlay: &str) -> Result<()> {
        let mut objects = self.0.clone();
        for image in objects.iter_mut().flat_map(images) {
            let name = image.as_str().unwrap_or_default();
            let host = name.split(['/', ':']).next().unwrap_or_default();
            ensure!(
                !host.ends_with(NOWHERE),
                "{overlay}: the image {name} is a placeholder: say where it is with --images REGISTRY/REPO:TAG, or in `images:` of \
                 the overlay"
            );
        }
        Ok(())
    }

    /// Adds a namespace, before everything else.
    pub fn add_namespace(&mut self, name: &str) -> Result<()> {
        let path = cargo::workspace_root().join(NAMESPACE);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut namespace = render::parse(&text)?.pop().with_context(|| format!("{NAMESPACE} is empty"))?;
        namespace["metadata"]["name"] = json!(name);
        self.0.insert(0, namespace);
        Ok(())
    }

    /// The namespaces that objects are in.
    pub fn namespaces(&self) -> BTreeSet<String> {
        let names = self.0.iter().filter_map(|object| object["metadata"]["namespace"].as_str());
        names.map(str::to_owned).collect()
    }

    /// Whether it has the object of that kind, namespace and name, in any version.
    pub fn has(&self, object: &Value) -> bool {
        self.0.iter().any(|own| {
            let (metadata, theirs) = (&own["metadata"], &object["metadata"]);
            own["kind"] == object["kind"]
                && metadata["name"] == theirs["name"]
                && metadata["namespace"] == theirs["namespace"]
        })
    }

    /// Bindings of rights in the whole cluster to accounts of its own: their names, and where the accounts are.
    pub fn bindings(&self) -> Vec<(String, BTreeSet<String>)> {
        let is_own = |subject: &&Value| {
            self.0.iter().any(|own| {
                own["kind"] == "ServiceAccount"
                    && own["metadata"]["name"] == subject["name"]
                    && own["metadata"]["namespace"] == subject["namespace"]
            })
        };
        let mut found = Vec::new();
        for binding in self.0.iter().filter(|object| object["kind"] == "ClusterRoleBinding") {
            let subjects = binding["subjects"].as_array().into_iter().flatten().filter(is_own);
            let places: BTreeSet<String> =
                subjects.filter_map(|subject| subject["namespace"].as_str().map(str::to_owned)).collect();
            let name = binding["metadata"]["name"].as_str().unwrap_or_default();
            if !places.is_empty() {
                found.push((name.to_owned(), places));
            }
        }
        found
    }

    /// Whether it has a Namespace of that name.
    pub fn makes_namespace(&self, name: &str) -> bool {
        self.0.iter().any(|object| object["kind"] == "Namespace" && object["metadata"]["name"] == name)
    }

    /// Those that can be compared with what the cluster has, and those in namespaces that it has not.
    pub fn split(&self, missing: &[String]) -> (Vec<Value>, Vec<Value>) {
        let is_new = |object: &Value| missing.iter().any(|name| object["metadata"]["namespace"] == name.as_str());
        let (new, present) = self.0.iter().cloned().partition(is_new);
        (present, new)
    }

    /// The workloads to wait for.
    pub fn workloads(&self) -> Vec<Workload> {
        let of = |object: &Value| {
            object.pointer("/spec/template")?;
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let metadata = &object["metadata"];
            Some(Workload {
                kind: text(&object["kind"])?,
                name: text(&metadata["name"])?,
                namespace: text(&metadata["namespace"]).unwrap_or_else(|| "default".to_owned()),
            })
        };
        self.0.iter().filter_map(of).collect()
    }
}

/// The same objects as the API server can try them before their namespace is there.
pub fn in_stand_in_namespace(objects: &[Value]) -> Vec<Value> {
    let mut objects = objects.to_vec();
    for object in &mut objects {
        object["metadata"]["namespace"] = json!("default");
    }
    objects
}

/// A new object as a diff.
pub fn as_new(object: &Value) -> Result<String> {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let text = [text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"])];
    let yaml = serde_norway::to_string(object)?;
    let lines: String = yaml.lines().map(|line| format!("+{line}\n")).collect();
    Ok(format!("--- /dev/null\n+++ {}\n{lines}", text.join("/")))
}

/// The image fields of a workload.
fn images(object: &mut Value) -> Vec<&mut Value> {
    let mut found = Vec::new();
    let Some(spec) = object.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) else { return found };
    for (name, containers) in spec {
        if CONTAINERS.iter().any(|path| path.ends_with(&format!("/{name}"))) {
            let containers = containers.as_array_mut().into_iter().flatten();
            found.extend(containers.filter_map(|container| container.get_mut("image")));
        }
    }
    found
}

/// The binary that an image has, if it is one of ours.
fn binary_of(image: &str) -> Option<&'static str> {
    let name = image.rsplit('/').next()?.split([':', '@']).next()?;
    SHIPPED.into_iter().find(|binary| *binary == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(image: &str) -> Objects {
        Objects::parse(&format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: ksm}}\n---\napiVersion: apps/v1\nkind: Deployment\n\
             metadata: {{name: ksm-rest, namespace: ksm}}\nspec: {{template: {{spec: {{containers: [{{image: \"{image}\"}}, \
             {{image: other/proxy:1}}]}}}}}}\n"
        ))
        .unwrap()
    }

    fn shown(objects: &mut Objects) -> Vec<String> {
        objects.0.iter_mut().flat_map(images).map(|image| image.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn only_our_own_images_are_replaced() {
        let pushed = BTreeMap::from([("localhost:5000/a/ksm-rest".to_owned(), "v1-abc@sha256:0123".to_owned())]);
        for (to, image) in [
            ("registry.example.com/a:v2", "registry.example.com/a/ksm-rest:v2"),
            ("localhost:5000/a", "localhost:5000/a/ksm-rest:v1-abc@sha256:0123"),
            ("localhost:5000/a/", "localhost:5000/a/ksm-rest:v1-abc@sha256:0123"),
            ("localhost:5000/a/:v2", "localhost:5000/a/ksm-rest:v2"),
        ] {
            let mut objects = objects("registry.invalid/kube-state-metrics-sharded/ksm-rest");
            objects.set_images_of(to, &pushed).unwrap();
            assert_eq!(shown(&mut objects), [image, "other/proxy:1"]);
            objects.check_images("x").unwrap();
        }
        for bad in ["", ":v1", "a:", "/"] {
            assert!(objects("x").set_images_of(bad, &pushed).is_err(), "{bad}");
        }
    }

    /// With the version as the tag, nodes would go on with the image that they have.
    #[test]
    fn without_a_tag_only_what_was_pushed_is_deployed() {
        let mut objects = objects("registry.invalid/kube-state-metrics-sharded/ksm-rest");
        let error = objects.set_images_of("localhost:5000/b", &BTreeMap::new()).unwrap_err().to_string();
        assert!(
            error.contains("no localhost:5000/b/ksm-rest was pushed") && error.contains("localhost:5000/b:TAG"),
            "{error}"
        );
    }

    #[test]
    fn placeholders_are_refused_with_a_tag_too() {
        for image in ["registry.invalid/kube-state-metrics-sharded/ksm-rest", "registry.invalid:5000/ksm-rest:v1"] {
            let error = objects(image).check_images("small").unwrap_err().to_string();
            assert!(error.starts_with(&format!("small: the image {image} is a placeholder")), "{error}");
        }
        objects("localhost/kube-state-metrics-sharded/ksm-rest:v0.1.0").check_images("small").unwrap();
    }

    #[test]
    fn the_placeholders_of_all_bases_are_known() {
        for base in render::folders().unwrap().into_iter().filter(|folder| folder.starts_with("deploy/base/")) {
            let path = cargo::workspace_root().join(&base).join("workload.yaml");
            let objects = Objects::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
            assert!(objects.check_images(&base).is_err(), "{base}");
        }
    }

    #[test]
    fn a_namespace_that_is_made_is_restricted_and_comes_first() {
        let mut objects = objects("x");
        objects.add_namespace("team").unwrap();
        assert!(objects.makes_namespace("team"));
        let labels = &objects.0[0]["metadata"]["labels"];
        assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
    }

    #[test]
    fn an_unknown_overlay_gets_the_list_of_those_there_are() {
        let error = find("huge").unwrap_err().to_string();
        assert!(error.contains("`huge`") && error.contains("hash-sharded, one-namespace, per-node, small"), "{error}");
        assert!(find("small").unwrap().ends_with("deploy/overlays/small"));
        assert!(find("/nowhere/x").unwrap_err().to_string().contains("no kustomization.yaml"));
    }

    #[test]
    fn objects_in_a_namespace_that_is_missing_are_apart() {
        let objects = objects("x");
        assert_eq!(objects.namespaces().into_iter().collect::<Vec<_>>(), ["ksm"]);
        assert!(objects.makes_namespace("ksm") && !objects.makes_namespace("default"));
        let kinds = |objects: &[Value]| objects.iter().map(|object| object["kind"].clone()).collect::<Vec<_>>();
        let (present, new) = objects.split(&["ksm".to_owned()]);
        assert_eq!((kinds(&present), kinds(&new)), (vec![json!("Namespace")], vec![json!("Deployment")]));
        assert_eq!(in_stand_in_namespace(&new)[0]["metadata"]["namespace"], "default");
        assert!(as_new(&new[0]).unwrap().starts_with("--- /dev/null\n+++ Deployment/ksm/ksm-rest\n+"));
        let workloads = objects.workloads();
        assert_eq!(workloads[0].to_string(), "Deployment ksm/ksm-rest");
        assert_eq!(workloads[0].reference(), "deployment/ksm-rest");
    }
}

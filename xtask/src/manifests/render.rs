//! What `kubectl apply -k` would send: the objects of a base or overlay, rendered by kustomize.
//!
//! Invariant: nothing outside `deploy/` is read, as kubectl would refuse it too.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize as _;
use serde_json::Value;

use crate::{cargo, tools};

/// The namespace of all overlays, which is none of theirs.
pub const NAMESPACE: &str = "deploy/namespace";

/// The scrape configurations, for the namespace of Prometheus.
pub const PROMETHEUS_CONFIG: &str = "deploy/prometheus-config";

/// A built kustomize.
pub struct Kustomize {
    program: PathBuf,
}

impl Kustomize {
    /// Builds it if it is not there yet.
    pub fn new() -> Result<Self> {
        Ok(Self { program: tools::ensure(&tools::KUSTOMIZE)? })
    }

    /// The objects of a kustomization that is written into a folder for it. `{root}` in its text becomes the way to the
    /// root of the workspace, for kustomize takes no absolute paths.
    pub fn render_text(&self, folder: &Path, text: &str) -> Result<Vec<Value>> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let text = text.replace("{root}", &way_to_root(folder)?);
        let path = folder.join("kustomization.yaml");
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        self.render(&folder.display().to_string())
    }

    /// The objects of a folder, given from the root of the workspace.
    pub fn render(&self, folder: &str) -> Result<Vec<Value>> {
        let output = Command::new(&self.program).current_dir(cargo::workspace_root()).args(["build", folder]).output();
        let output = output.context("cannot run kustomize")?;
        if !output.status.success() {
            bail!("kustomize cannot render {folder}: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        let objects = parse(&String::from_utf8_lossy(&output.stdout)).with_context(|| format!("{folder}, rendered"))?;
        ensure!(!objects.is_empty(), "{folder} renders nothing");
        Ok(objects)
    }
}

/// The way from a folder that exists to the root of the workspace.
pub fn way_to_root(folder: &Path) -> Result<String> {
    let from = folder.canonicalize().with_context(|| folder.display().to_string())?;
    let root = cargo::workspace_root().canonicalize().context("the workspace has a root")?;
    let up = "../".repeat(from.components().count() - 1);
    Ok(format!("{up}{}", root.strip_prefix("/").unwrap_or(&root).display()))
}

/// The documents of a YAML text.
pub fn parse(text: &str) -> Result<Vec<Value>> {
    serde_norway::Deserializer::from_str(text).map(|document| Ok(Value::deserialize(document)?)).collect()
}

/// Every folder that can be applied, from the root of the workspace, in order: bases, overlays, and what goes beside them.
pub fn folders() -> Result<Vec<String>> {
    let mut folders = vec![NAMESPACE.to_owned(), PROMETHEUS_CONFIG.to_owned()];
    for parent in ["deploy/base", "deploy/overlays"] {
        let path = cargo::workspace_root().join(parent);
        for entry in std::fs::read_dir(&path).with_context(|| format!("cannot list {}", path.display()))? {
            let entry = entry.with_context(|| format!("cannot list {}", path.display()))?;
            ensure!(
                entry.path().join("kustomization.yaml").is_file(),
                "{} has no kustomization",
                entry.path().display()
            );
            folders.push(format!("{parent}/{}", entry.file_name().to_string_lossy()));
        }
    }
    folders.sort();
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn documents_are_split() {
        let objects = parse("kind: A\n---\nkind: B\n").unwrap();
        assert_eq!(objects.iter().map(|object| object["kind"].as_str().unwrap()).collect::<Vec<_>>(), ["A", "B"]);
    }

    /// Only what an overlay uses is rendered and tested.
    #[test]
    fn an_overlay_uses_every_base_and_component() {
        let root = cargo::workspace_root();
        let names = |folder: &str| -> Vec<String> {
            let entries = fs::read_dir(root.join(folder)).unwrap();
            entries.map(|entry| format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy())).collect()
        };
        let overlays: String = names("deploy/overlays")
            .iter()
            .flat_map(|folder| [format!("{folder}/kustomization.yaml"), format!("{folder}/common/kustomization.yaml")])
            .filter_map(|path| fs::read_to_string(root.join(path)).ok())
            .collect();
        let mut wanted = names("deploy/base");
        // The others are rendered by `super::super::compositions`.
        let elsewhere = ["/vertical-autoscaling", "/trial", "/endpoint-slices", "/pod-monitor"];
        let components = names("deploy/components").into_iter();
        wanted.extend(components.filter(|name| !elsewhere.iter().any(|end| name.ends_with(end))));
        let autoscalers = names("deploy/components/vertical-autoscaling").into_iter();
        // Which each of its neighbours uses.
        wanted.extend(autoscalers.filter(|name| !name.ends_with("/names")));
        wanted.push("deploy/monitoring".to_owned());
        for folder in wanted {
            let relative = folder.trim_start_matches("deploy");
            let used = overlays.lines().any(|line| line.trim_end().ends_with(relative));
            assert!(used, "no overlay uses {folder}");
        }
    }

    /// A scrape job's relabelings in the operator's words; what the operator and a discovery need of their own is left out.
    fn relabelings(job: &Value, key: &str) -> Vec<Value> {
        let rules = job[key].as_array().cloned().unwrap_or_default();
        rules
            .into_iter()
            .map(|rule| {
                let words = [("source_labels", "sourceLabels"), ("target_label", "targetLabel")];
                words.iter().fold(rule.to_string(), |text, (from, to)| text.replace(from, to))
            })
            .map(|text| serde_json::from_str::<Value>(&text).unwrap())
            .filter(|rule| rule["action"] != "keep" && rule["regex"] != "namespace|service|pod|container|endpoint|node")
            .collect()
    }

    /// Two descriptions of the same scrapes must not drift apart.
    #[test]
    fn the_operator_and_plain_prometheus_scrape_alike() {
        let read = |path: &str| {
            let text = fs::read_to_string(cargo::workspace_root().join("deploy").join(path)).unwrap();
            serde_norway::from_str::<Value>(&text).unwrap()
        };
        let monitor = read("components/prometheus-operator/service-monitor.yaml");
        let whole = read("prometheus-config/scrape.yaml");
        let (endpoint, job) = (&monitor["spec"]["endpoints"][0], &whole["scrape_configs"][0]);
        assert_eq!(relabelings(endpoint, "relabelings"), relabelings(job, "relabel_configs"));

        let patch =
            read("components/scrape-parts/kustomization.yaml")["patches"][0]["patch"].as_str().unwrap().to_owned();
        let patch: Value = serde_norway::from_str(&patch).unwrap();
        let parts = read("prometheus-config/scrape-parts.yaml");
        let operations = patch.as_array().unwrap();
        assert_eq!(operations.len() + 1, parts["scrape_configs"].as_array().unwrap().len());
        for (index, operation) in operations.iter().enumerate() {
            let (endpoint, job) = (&operation["value"], &parts["scrape_configs"][index]);
            let part = serde_json::json!([format!("{}/{}", index + 1, operations.len())]);
            assert_eq!((&endpoint["params"]["part"], &job["params"]["part"]), (&part, &part));
            let key = |rule: &Value| rule.to_string();
            let (mut theirs, mut ours) = (relabelings(endpoint, "relabelings"), relabelings(job, "relabel_configs"));
            theirs.sort_by_key(key);
            ours.sort_by_key(key);
            assert_eq!(theirs, ours);
            assert_eq!(relabelings(endpoint, "metricRelabelings"), relabelings(job, "metric_relabel_configs"));
        }
    }

    /// R45 and R46, <https://github.com/zacheryph/k8s-gitops/issues/3339>: the kubelet reaches the pages that it probes,
    /// and restarts nothing because the API server is away.
    #[test]
    fn probes_ask_pages_of_the_process_on_ports_that_the_kubelet_reaches() {
        let bases = folders().unwrap().into_iter().filter(|folder| folder.starts_with("deploy/base/"));
        let mut probed = 0;
        for folder in bases {
            let path = cargo::workspace_root().join(&folder).join("workload.yaml");
            for object in parse(&fs::read_to_string(path).unwrap()).unwrap() {
                let container = &object["spec"]["template"]["spec"]["containers"][0];
                if container.is_null() {
                    continue;
                }
                let list = |key: &str| container[key].as_array().cloned().unwrap_or_default();
                let arguments = list("args");
                // Every address is the default.
                let hosts =
                    arguments.iter().filter_map(Value::as_str).filter_map(|argument| argument.split_once("host="));
                assert!(
                    hosts.clone().all(|(_, host)| ["::", "0.0.0.0"].contains(&host)),
                    "{folder}: {:?}",
                    hosts.collect::<Vec<_>>()
                );
                for (probe, page) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
                    let probe = &container[probe]["httpGet"];
                    assert_eq!(probe["path"], page, "{folder}");
                    assert!(list("ports").iter().any(|port| port["name"] == probe["port"]), "{folder}: {probe}");
                }
                probed += 1;
            }
        }
        assert!(probed >= 5, "{probed}");
    }
}

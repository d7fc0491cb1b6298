//! Prometheus with a shipped scrape configuration and the shipped rules, on processes in place of pods.
//!
//! Invariant: of the shipped files only how targets are discovered and how often they are scraped is replaced.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cargo;
use crate::exporter::Exporter;
use crate::http::Client;
use crate::manifests::render::PROMETHEUS_CONFIG;
use crate::prometheus::Prometheus;

/// Starts Prometheus with `file` of `prometheus-config`, scraping `targets` every `interval`. Its data goes to `folder`,
/// which is empty.
pub fn start(file: &str, targets: &Value, interval: &str, folder: &Path, logs: &Path) -> Result<Prometheus> {
    let root = cargo::workspace_root();
    let path = root.join(PROMETHEUS_CONFIG).join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut config: Value = serde_norway::from_str(&text).with_context(|| file.to_owned())?;
    for job in config["scrape_configs"].as_array_mut().context("a scrape configuration has jobs")? {
        let job = job.as_object_mut().context("a job is an object")?;
        ensure!(job.remove("kubernetes_sd_configs").is_some(), "{file}: a job discovers nothing");
        job.insert("static_configs".to_owned(), targets.clone());
        job.insert("scrape_interval".to_owned(), json!(interval));
        job.insert("scrape_timeout".to_owned(), json!(interval));
    }
    config["global"] = json!({"evaluation_interval": "1s"});
    config["rule_files"] = json!([root.join("deploy/monitoring/rules.yaml")]);
    Prometheus::start(&config, &[], folder, logs)
}

/// Both ports of an exporter, with the labels that Prometheus would discover.
pub fn targets(exporter: &Exporter, discovered: &BTreeMap<String, String>) -> [Value; 2] {
    let target = |port: &str, client: &Client| {
        let mut labels = discovered.clone();
        labels.insert("__meta_kubernetes_endpointslice_port_name".to_owned(), port.to_owned());
        json!({"targets": [client.base().trim_start_matches("http://")], "labels": labels})
    };
    [target("metrics", &exporter.metrics), target("telemetry", &exporter.telemetry)]
}

//! Prometheus as a pod of its own, with the scrape configuration and rules of `deploy/`: it finds the pods through the API
//! server, with the rights that `deploy/` gives it.
//!
//! Invariant: of the shipped files only the time between scrapes is replaced, and the addresses of pods, which no one
//! listens at, by those of their processes.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::place::{self, Mount, Root};
use super::pod::Instance;
use super::{ACCOUNT, NAMESPACE, PROMETHEUS, Run};
use crate::exposition::Format;
use crate::http::Client;
use crate::manifests::metrics;
use crate::manifests::render::PROMETHEUS_CONFIG;
use crate::prometheus::Prometheus;
use crate::{cargo, tools, wait};

/// Time to find and scrape everything, at a scrape a second.
const LIMIT: Duration = Duration::from_secs(120);

/// Where our configurations look for the authority of certificates.
const AUTHORITY: &str = "/etc/prometheus/kube-state-metrics-sharded";

/// The configurations that an overlay is scraped with here, each by a Prometheus of its own.
pub fn files_for(overlay: &str) -> &'static [&'static str] {
    match overlay {
        "example-cluster-a" => &["scrape-parts.yaml"],
        "example-cluster-b" => &["scrape.yaml"],
        "example-cluster-d" => &["scrape-tls.yaml", "scrape-parts-tls.yaml"],
        _ => &[],
    }
}

/// All targets of a shipped configuration are up, no alert is there, and no series is missing that the reference has.
pub fn check(run: &mut Run<'_>, file: &str, arguments: &[String]) -> Result<String> {
    self_metrics_exist(run)?;
    watch(run, file, shipped(file)?, arguments)
}

/// A shipped configuration.
pub(super) fn shipped(file: &str) -> Result<Value> {
    let path = cargo::workspace_root().join(PROMETHEUS_CONFIG).join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_norway::from_str(&text).with_context(|| file.to_owned())
}

/// The same of an overlay's ServiceMonitor, by either way in which the operator may have Prometheus find its targets.
pub fn check_monitor(run: &mut Run<'_>, objects: &[Value], arguments: &[String]) -> Result<Vec<String>> {
    let monitor = objects.iter().find(|object| object["kind"] == "ServiceMonitor").context("there is a monitor")?;
    let roles = ["endpoints", "endpointslice"].into_iter();
    roles.map(|role| watch(run, &format!("monitor by {role}"), scrapes_of(monitor, role)?, arguments)).collect()
}

fn watch(run: &mut Run<'_>, what: &str, config: Value, arguments: &[String]) -> Result<String> {
    let reference = run.reference(arguments)?.metrics.base().trim_start_matches("http://").to_owned();
    let parts = config["scrape_configs"].as_array().map_or(0, Vec::len) - 1;
    let watch = Watch::start(run, what, config, &reference).with_context(|| what.to_owned())?;
    let instances: Vec<&Instance> = run.kubelet.instances().collect();
    let targets = watch.wait_up(&instances, parts).with_context(|| what.to_owned())?;
    let series = watch.compare().with_context(|| what.to_owned())?;
    let labelled = wait::until_ok("samples have the right labels", LIMIT, || watch.check_labels(instances.len()));
    labelled.with_context(|| what.to_owned())?;
    watch.quiet().with_context(|| what.to_owned())?;
    watch.prometheus.process.stop()?;
    Ok(format!("Prometheus ({what}): {targets} targets up, {series} series as of the reference, no alert"))
}

/// What the operator makes of a monitor, as far as ours goes.
fn scrapes_of(monitor: &Value, role: &str) -> Result<Value> {
    let port_name = match role {
        "endpoints" => "__meta_kubernetes_endpoint_port_name",
        _ => "__meta_kubernetes_endpointslice_port_name",
    };
    let mut jobs = Vec::new();
    for (index, endpoint) in
        monitor["spec"]["endpoints"].as_array().context("a monitor has endpoints")?.iter().enumerate()
    {
        let part_of = "__meta_kubernetes_service_label_app_kubernetes_io_part_of";
        let mut rules = vec![
            json!({"action": "keep", "source_labels": [part_of], "regex": "kube-state-metrics-sharded"}),
            json!({"action": "keep", "source_labels": [port_name], "regex": endpoint["port"]}),
            json!({"target_label": "endpoint", "replacement": endpoint["port"]}),
        ];
        for (label, source) in [
            ("namespace", "namespace"),
            ("service", "service_name"),
            ("pod", "pod_name"),
            ("container", "pod_container_name"),
            ("job", "service_name"),
        ] {
            rules.push(json!({"source_labels": [format!("__meta_kubernetes_{source}")], "target_label": label}));
        }
        rules.extend(in_words_of_prometheus(&endpoint["relabelings"])?);
        let mut job = json!({
            "job_name": format!("monitor-{index}"),
            "honor_labels": endpoint["honorLabels"] == true,
            "kubernetes_sd_configs": [{"role": role, "namespaces": {"names": [NAMESPACE]}}],
            "relabel_configs": rules,
            "metric_relabel_configs": in_words_of_prometheus(&endpoint["metricRelabelings"])?,
        });
        if let Some(params) = endpoint.get("params") {
            job["params"] = params.clone();
        }
        jobs.push(job);
    }
    Ok(json!({"scrape_configs": jobs}))
}

fn in_words_of_prometheus(rules: &Value) -> Result<Vec<Value>> {
    let words = [("sourceLabels", "source_labels"), ("targetLabel", "target_label")];
    let rules = rules.as_array().into_iter().flatten();
    rules
        .map(|rule| {
            let text = words.iter().fold(rule.to_string(), |text, (from, to)| text.replace(from, to));
            serde_json::from_str(&text).context("a rule stays JSON")
        })
        .collect()
}

/// The list that rules and dashboards are checked against is what a shard serves; the other binaries have no shards.
fn self_metrics_exist(run: &Run<'_>) -> Result<()> {
    let shards = run
        .kubelet
        .instances()
        .filter(|instance| instance.label("app.kubernetes.io/name").is_some_and(|name| name.starts_with("ksm-shard")));
    for exporter in shards.map(|instance| &instance.exporter) {
        // So that a request was counted.
        exporter.scrape(Format::Text)?;
        let served = exporter.self_metrics()?;
        for name in metrics::SELF_METRICS {
            ensure!(served.select(name, &[]).next().is_some(), "{} has no {name}", exporter.name());
        }
    }
    Ok(())
}

/// A Prometheus.
pub(super) struct Watch {
    pub(super) prometheus: Prometheus,
}

impl Watch {
    /// Starts one with these scrapes, which keeps its data apart from others by a name.
    pub(super) fn start(run: &Run<'_>, what: &str, scrapes: Value, reference: &str) -> Result<Self> {
        let config = Self::config(run.kubelet.instances(), scrapes, reference)?;
        let name = what.replace(' ', "-");
        let folder = run.world.scratch.folder(&format!("prometheus-of-{name}"))?;
        let program = tools::ensure(&tools::PROMETHEUS)?;
        let environment = [("HOST", "127.0.0.1".to_owned()), ("PORT", run.server.port().to_string())]
            .map(|(name, value)| (format!("KUBERNETES_SERVICE_{name}"), value));
        let command = place::command(&program, mounts(run, &name)?, &environment, Root::Writable);
        Ok(Self { prometheus: Prometheus::start_by(command, &config, &[], &folder, &run.world.logs)? })
    }

    /// A configuration with these scrapes that knows where the processes of these pods listen.
    pub(super) fn config<'a>(
        instances: impl Iterator<Item = &'a Instance>,
        mut config: Value,
        reference: &str,
    ) -> Result<Value> {
        let instances: Vec<&Instance> = instances.collect();
        let jobs = config["scrape_configs"].as_array_mut().context("a scrape configuration has jobs")?;
        for job in jobs.iter_mut() {
            ensure!(job.get("kubernetes_sd_configs").is_some(), "a job discovers nothing");
            let rules = job["relabel_configs"].as_array_mut().context("a job relabels")?;
            for instance in &instances {
                rules.push(address(instance, "metrics", &instance.exporter.metrics));
                rules.push(address(instance, "telemetry", &instance.exporter.telemetry));
            }
            for field in ["scrape_interval", "scrape_timeout"] {
                job[field] = json!("1s");
            }
        }
        jobs.push(json!({
            "job_name": "reference",
            "honor_labels": true,
            "scrape_interval": "1s",
            "scrape_timeout": "1s",
            "static_configs": [{"targets": [reference]}],
        }));
        config["global"] = json!({"evaluation_interval": "1s"});
        config["rule_files"] = json!([cargo::workspace_root().join("deploy/monitoring/rules.yaml")]);
        Ok(config)
    }

    /// Every port of every pod is a target by the name that outlives the pod, that of the cluster in so many parts, and nothing
    /// else is one.
    pub(super) fn wait_up(&self, instances: &[&Instance], parts: usize) -> Result<usize> {
        let wanted = instances.len() * (parts + 1);
        let mut last = String::new();
        let up = wait::until("Prometheus has every target up", LIMIT, || {
            let values = self.prometheus.query("up{job!=\"reference\"}")?;
            let up = values.iter().filter(|(_, value)| *value == 1.0).count();
            last = format!("{up} of {wanted} targets are up; {}", self.prometheus.target_errors()?);
            Ok((values.len() == wanted && up == wanted).then_some(()))
        });
        up.with_context(|| last)?;
        wait::until_ok("targets have lasting names", LIMIT, || {
            for instance in instances {
                let target = format!("up{{job=\"kube-state-metrics\",instance=\"{}\"}}", lasting_name(instance)?);
                ensure!(self.count(&target)? == parts as f64, "not {parts} of {target}");
            }
            Ok(wanted)
        })
    }

    /// The same series, whoever serves them; returns how many.
    fn compare(&self) -> Result<usize> {
        let series = |job: &str| -> Result<BTreeSet<String>> {
            let values = self.prometheus.query(&format!("{{job=\"{job}\",__name__=~\"kube_.+\"}}"))?;
            let bare = |mut labels: Value| {
                for name in ["job", "instance"] {
                    labels.as_object_mut().map(|labels| labels.remove(name));
                }
                labels.to_string()
            };
            Ok(values.into_iter().map(|(labels, _)| bare(labels)).collect())
        };
        let mut last = String::new();
        let outcome = wait::until("Prometheus has the same series from both sides", LIMIT, || {
            let (ours, reference) = (series("kube-state-metrics")?, series("reference")?);
            let missing: Vec<&String> = reference.difference(&ours).collect();
            let more: Vec<&String> = ours.difference(&reference).collect();
            last =
                format!("{} missing, {} too many: {:?}", missing.len(), more.len(), missing.iter().chain(&more).next());
            Ok((!ours.is_empty() && ours == reference).then_some(ours.len()))
        });
        outcome.with_context(|| last)
    }

    /// Targets lend samples about the cluster none of their own labels, and samples about exporters all of them.
    fn check_labels(&self, instances: usize) -> Result<()> {
        ensure!(self.count("kube_node_info{job=\"kube-state-metrics\"}")? > 0.0, "no kube_node_info");
        for label in ["part", "exported_pod", "exported_namespace", "exported_node"] {
            let selector = format!("{{job=\"kube-state-metrics\",__name__=~\"kube_.+\",{label}!=\"\"}}");
            ensure!(self.count(&selector)? == 0.0, "samples have a label {label}");
        }
        let own = "kube_state_metrics_build_info{job=\"kube-state-metrics-sharded\",namespace!=\"\",pod!=\"\",\
                   container!=\"\",workload!=\"\"}";
        ensure!(self.count(own)? == instances as f64, "not {instances} of {own}");
        Ok(())
    }

    /// No alert fires or is about to, but for moments at the start, when some targets have not been scraped.
    fn quiet(&self) -> Result<()> {
        wait::until("the rules are evaluated", LIMIT, || {
            let rules = self.prometheus.rules()?;
            let evaluated = !rules.is_empty() && rules.iter().all(|rule| rule["health"] == "ok");
            Ok((evaluated && self.count("ksm:objects:sum")? > 0.0).then_some(()))
        })?;
        let mut last = Vec::new();
        let outcome = wait::until("no alert is left", LIMIT, || {
            last = self.prometheus.query("ALERTS")?;
            Ok(last.is_empty().then_some(()))
        });
        outcome.with_context(|| last.first().map_or_else(String::new, |(alert, _)| alert.to_string()))
    }

    pub(super) fn count(&self, selector: &str) -> Result<f64> {
        let values = self.prometheus.query(&format!("count({selector})"))?;
        Ok(values.first().map_or(0.0, |(_, value)| *value))
    }
}

/// What a pod of Prometheus has: its account, and the authority of certificates where the configuration looks for it.
fn mounts(run: &Run<'_>, what: &str) -> Result<Vec<Mount>> {
    let (namespace, name) = PROMETHEUS;
    let authority = fs::read(run.server.authority()).context("the API server has a certificate")?;
    let reader = run.kubelet.reader();
    let account = [
        ("token", run.api.token(namespace, name, None)?.into_bytes()),
        ("ca.crt", authority),
        ("namespace", namespace.as_bytes().to_vec()),
    ];
    let mut mounts = Vec::new();
    for (place, files) in [(ACCOUNT, account.to_vec()), (AUTHORITY, vec![("ca.crt", reader.authority.clone())])] {
        let last = place.rsplit('/').next().unwrap_or_default();
        let from = run.world.scratch.folder(&format!("prometheus-mounts-{what}/{last}"))?;
        for (name, data) in files {
            fs::write(from.join(name), data).with_context(|| format!("cannot write {}", from.display()))?;
        }
        mounts.push(Mount { from, to: place.to_owned() });
    }
    Ok(mounts)
}

/// The rule that leads from a port of a pod to its process.
fn address(instance: &Instance, port: &str, client: &Client) -> Value {
    json!({
        "source_labels": ["__meta_kubernetes_pod_name", "__meta_kubernetes_pod_container_port_name"],
        "regex": format!("{};{port}", instance.name()),
        "target_label": "__address__",
        "replacement": client.base().split("//").nth(1),
    })
}

/// `instance` as our configurations make it.
fn lasting_name(instance: &Instance) -> Result<String> {
    let workload = instance.label("app.kubernetes.io/name").context("a pod has a name label")?;
    let shard = instance.label("kube-state-metrics-sharded/shard");
    Ok(match (instance.controller(), shard) {
        ("StatefulSet", _) => format!("{NAMESPACE}/{}", instance.name()),
        ("DaemonSet", _) => format!("{NAMESPACE}/{workload}/{}", instance.node()),
        (_, Some(shard)) => format!("{NAMESPACE}/{workload}-{shard}"),
        _ => format!("{NAMESPACE}/{workload}"),
    })
}

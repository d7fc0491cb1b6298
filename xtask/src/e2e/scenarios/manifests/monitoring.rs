//! Prometheus with the scrape configuration and rules of `deploy/`: targets, labels and alerts.
//!
//! Invariant: what is scraped in parts is what is scraped whole.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::workload::Instance;
use crate::e2e::shipped;
use crate::e2e::world::World;
use crate::manifests::metrics;
use crate::prometheus::Prometheus;
use crate::wait;

/// Time to scrape everything and to have rates, at a scrape a second.
const LIMIT: Duration = Duration::from_secs(60);

/// Parts of a scrape in `scrape-parts.yaml`.
const PARTS: usize = 4;

/// Everything; returns the figures.
pub fn check(world: &World, running: &[Instance]) -> Result<String> {
    self_metrics_exist(running)?;
    let whole = Run::start(world, running, "scrape.yaml")?;
    whole.wait_up(running.len() * 2)?;
    whole.check_labels(running)?;
    whole.quiet()?;
    let samples = whole.samples()?;
    whole.prometheus.process.stop()?;

    let parts = Run::start(world, running, "scrape-parts.yaml")?;
    parts.wait_up(running.len() * (PARTS + 1))?;
    parts.check_labels(running)?;
    ensure!(parts.count("{__name__=~\"kube_.+\",part!=\"\"}")? == 0.0, "a sample has the label of its part");
    parts.quiet()?;
    let in_parts = parts.samples()?;
    ensure!(samples == in_parts, "{samples} series by whole scrapes, {in_parts} by parts");
    parts.prometheus.process.stop()?;
    Ok(format!("Prometheus: {samples} series, as many in {PARTS} parts, no alert"))
}

/// The list that rules and dashboards are checked against is what an exporter serves.
fn self_metrics_exist(running: &[Instance]) -> Result<()> {
    let instance = running.first().context("something runs")?;
    // So that a request was counted.
    instance.exporter.scrape(crate::exposition::Format::Text)?;
    let served = instance.exporter.self_metrics()?;
    for name in metrics::SELF_METRICS {
        ensure!(served.select(name, &[]).next().is_some(), "{} has no {name}", instance.exporter.name());
    }
    Ok(())
}

/// A Prometheus on the instances.
struct Run {
    prometheus: Prometheus,
}

impl Run {
    fn start(world: &World, running: &[Instance], file: &str) -> Result<Self> {
        let targets = running.iter().flat_map(|instance| shipped::targets(&instance.exporter, &instance.discovered));
        let folder = world.scratch.folder(&format!("prometheus-{file}"))?;
        Ok(Self { prometheus: shipped::start(file, &targets.collect(), "1s", &folder, &world.logs)? })
    }

    fn wait_up(&self, wanted: usize) -> Result<()> {
        let mut last = String::new();
        let up = wait::until("Prometheus has every target up", LIMIT, || {
            let values = self.prometheus.query("up")?;
            let up = values.iter().filter(|(_, value)| *value == 1.0).count();
            last = format!("{up} of {wanted} targets are up; {}", self.prometheus.target_errors()?);
            Ok((values.len() == wanted && up == wanted).then_some(()))
        });
        up.with_context(|| last)
    }

    /// Targets have the names that outlive pods, and lend samples none of their own labels.
    fn check_labels(&self, running: &[Instance]) -> Result<()> {
        let expected = running.len() as f64;
        for instance in running {
            let label = |name: &str| instance.discovered.get(&format!("__meta_kubernetes_pod_label_{name}"));
            let name = label("app_kubernetes_io_name").context("a pod has a name label")?;
            let shard = label("kube_state_metrics_sharded_shard").context("a static shard has a shard label")?;
            let selector = format!("kube_pod_info{{job=\"kube-state-metrics\",instance=\"{name}-{shard}\"}}");
            ensure!(self.count(&selector)? > 0.0, "no {selector}");
        }
        ensure!(self.count("kube_node_info")? > 0.0, "no kube_node_info");
        ensure!(
            self.count("kube_node_info{pod=\"\",namespace=\"\",container=\"\"}")? == self.count("kube_node_info")?,
            "labels of the target are on samples about nodes"
        );
        ensure!(self.count("{__name__=~\"kube_.+\",exported_pod!=\"\"}")? == 0.0, "labels of objects were renamed");
        let own = "kube_state_metrics_total_shards{job=\"kube-state-metrics-sharded\",namespace!=\"\",pod!=\"\",workload!=\"\"}";
        ensure!(self.count(own)? == expected, "not {expected} of {own}");
        Ok(())
    }

    /// No alert fires or is about to, but for moments at the start, when some targets have not been scraped.
    fn quiet(&self) -> Result<()> {
        wait::until("the rules are evaluated", LIMIT, || Ok((self.count("ksm:objects:sum")? > 0.0).then_some(())))?;
        let mut last = Vec::new();
        let outcome = wait::until("no alert is left", LIMIT, || {
            last = self.prometheus.query("ALERTS")?;
            Ok(last.is_empty().then_some(()))
        });
        outcome.with_context(|| last.first().map_or_else(String::new, |(alert, _)| alert.to_string()))
    }

    /// Series about the cluster.
    fn samples(&self) -> Result<f64> {
        self.count("{job=\"kube-state-metrics\",__name__=~\"kube_.+\"}")
    }

    fn count(&self, selector: &str) -> Result<f64> {
        let values = self.prometheus.query(&format!("count({selector})"))?;
        Ok(values.first().map_or(0.0, |(_, value)| *value))
    }
}

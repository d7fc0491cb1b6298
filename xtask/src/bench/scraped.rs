//! What a real Prometheus server says about each side: the time a user sees is mostly its own parsing.
//!
//! Invariant: one target (or one set of parts) at a time, from a fresh Prometheus; figures are Prometheus' own.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::figures::median;
use super::format;
use super::plan::Plan;
use super::results::PrometheusResult;
use super::server::Server;
use super::subject::{Programs, Side, flags};
use super::usage;
use crate::process::Scratch;
use crate::progress::Progress;
use crate::prometheus::Prometheus;
use crate::wait;

/// Scrapes of a target after its first one, which makes its series.
const SCRAPES: usize = 2;

/// The range that holds all scrapes of a run.
const RANGE: &str = "10m";

/// One way of being scraped.
struct Variant {
    side: Side,
    gzip: bool,
    /// Number of scrape parts; one is the plain path.
    parts: u32,
}

const VARIANTS: [Variant; 5] = [
    Variant { side: Side::Ours, gzip: false, parts: 1 },
    Variant { side: Side::Ours, gzip: true, parts: 1 },
    Variant { side: Side::Ours, gzip: true, parts: 4 },
    Variant { side: Side::Reference, gzip: false, parts: 1 },
    Variant { side: Side::Reference, gzip: true, parts: 1 },
];

impl Variant {
    fn label(&self) -> String {
        let encoding = if self.gzip { "gzip" } else { "plain" };
        let parts = if self.parts > 1 { format!(", {} parts", self.parts) } else { String::new() };
        format!("{}, {encoding}{parts}", self.side.label())
    }

    /// A job for each part.
    fn jobs(&self, address: &str) -> Vec<Value> {
        let part = |index: u32| match self.parts {
            1 => json!({}),
            parts => json!({"part": [format!("{index}/{parts}")]}),
        };
        let job = |index| json!({"job_name": format!("part-{index}"), "params": part(index), "static_configs": [{"targets": [address]}]});
        (1..=self.parts).map(job).collect()
    }
}

/// Measures all variants.
pub fn run(programs: &Programs, scratch: &Scratch, server: &Server, plan: &Plan) -> Result<Vec<PrometheusResult>> {
    let measured = VARIANTS.iter().map(|variant| {
        let label = variant.label();
        let progress = Progress::start(format!("Prometheus scrapes {} pods: {label}", server.pods()));
        let result = measure(programs, scratch, server, plan, variant).with_context(|| label)?;
        progress.done(&format!("{} a scrape", format::seconds(result.seconds)));
        Ok(result)
    });
    measured.collect()
}

fn measure(
    programs: &Programs,
    scratch: &Scratch,
    server: &Server,
    plan: &Plan,
    variant: &Variant,
) -> Result<PrometheusResult> {
    let mut subject = programs.start(variant.side, "ksm-shard", server.kubeconfig(), &flags("pods", variant.gzip))?;
    subject.wait_complete()?;
    let interval = format!("{}s", plan.interval().as_secs());
    let config = json!({
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "scrape_configs": variant.jobs(&subject.address().to_string()),
    });
    let folder = scratch.folder(&format!("prometheus-{}", variant.label().replace([',', ' '], "")))?;
    let features = ["--enable-feature=extra-scrape-metrics", "--storage.tsdb.retention.time=1d"];
    let mut prometheus = Prometheus::start(&config, &features, &folder, programs.logs())?;

    let mut wait_for_scrapes = |count: usize| {
        let limit = plan.interval() * (count as u32 + 2) + Duration::from_secs(60);
        let outcome = wait::until(&format!("{count} scrapes by Prometheus"), limit, || {
            prometheus.process.ensure_running()?;
            let seen = prometheus.query_range(&format!("up[{RANGE}]"))?;
            let complete = seen.len() == variant.parts as usize && seen.iter().all(|(_, up)| up.len() >= count);
            if seen.iter().any(|(_, up)| up.contains(&0.0)) {
                bail!("a scrape failed: {}", prometheus.target_errors()?);
            }
            Ok(complete.then_some(()))
        });
        outcome?;
        anyhow::Ok((subject.cpu_seconds()?, usage::cpu_seconds(prometheus.process.id())?))
    };
    let before = wait_for_scrapes(1)?;
    let after = wait_for_scrapes(1 + SCRAPES)?;

    let values = |name: &str| {
        let series = prometheus.query_range(&format!("{name}[{RANGE}]"))?;
        let medians: Vec<f64> = series.iter().map(|(_, values)| median(values.get(1..).unwrap_or_default())).collect();
        anyhow::Ok(medians)
    };
    let result = PrometheusResult {
        target: variant.label(),
        pods: server.pods(),
        scrapes: SCRAPES as u64,
        parts: u64::from(variant.parts),
        seconds: values("scrape_duration_seconds")?.into_iter().fold(0.0, f64::max),
        body_bytes: values("scrape_body_size_bytes")?.iter().sum(),
        samples: values("scrape_samples_scraped")?.iter().sum(),
        prometheus_cpu_seconds: (after.1 - before.1) / SCRAPES as f64,
        exporter_cpu_seconds: (after.0 - before.0) / SCRAPES as f64,
    };
    prometheus.process.kill()?;
    // Half a million series a run are not needed any more.
    std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    subject.end()?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_jobs_of_one_target() {
        let variant = Variant { side: Side::Ours, gzip: true, parts: 2 };
        assert_eq!(variant.label(), "ours, gzip, 2 parts");
        let jobs = variant.jobs("127.0.0.1:1");
        assert_eq!(jobs.len(), 2);
        assert_eq!(
            jobs[1],
            json!({"job_name": "part-2", "params": {"part": ["2/2"]}, "static_configs": [{"targets": ["127.0.0.1:1"]}]})
        );
        assert_eq!(Variant { parts: 1, ..variant }.jobs("x")[0]["params"], json!({}));
    }
}

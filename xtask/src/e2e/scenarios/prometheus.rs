//! Prometheus: it scrapes every port of every exporter in both formats, and promtool has nothing to add.
//!
//! Invariant: a target is up by Prometheus' own word, and holds as many samples as our reader finds.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use crate::e2e::objects::BULK_NODES;
use crate::e2e::world::{World, rest_resources};
use crate::exporter::Exporter;
use crate::exposition::Format;
use crate::flags::Flags;
use crate::http::Client;
use crate::prometheus::Prometheus;
use crate::{strict, wait};

/// Scrapes that one exporter is read in as well.
const PARTS: usize = 3;

/// Time for Prometheus to start and scrape everything, at a scrape a second.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let flags = Flags::EVERYTHING;
    let reference = world.start_reference("reference", &flags)?;
    // Prometheus takes gzip where it is offered; with shards it reads plain bodies too.
    let gzip = "--enable-gzip-encoding".to_owned();
    let mut ours = world.start_shards(&world.api, "range", 2, &flags)?;
    ours.push(world.start_ours("node", "ksm-node", &[format!("--node={}", BULK_NODES[0]), gzip.clone()])?);
    ours.push(world.start_ours("unscheduled", "ksm-unscheduled", std::slice::from_ref(&gzip))?);
    let mut rest = flags.arguments(&rest_resources());
    rest.push(gzip);
    ours.push(world.start_ours("rest", "ksm-rest", &rest)?);

    let scraped = scrape_all(world, &ours, &reference)?;
    let unsplit = world.start_unsplit("unsplit", &flags)?;
    let (tolerated, checked) = lint(world, &unsplit, &reference)?;
    Ok(format!(
        "{scraped}; promtool: {checked} bytes understood, {tolerated} remarks, all of them on the reference too"
    ))
}

/// Starts Prometheus on all targets and waits until each is up in both formats with the right number of samples.
fn scrape_all(world: &World, ours: &[Exporter], reference: &Exporter) -> Result<String> {
    let exporters: Vec<&Exporter> = ours.iter().chain([reference]).collect();
    let address = |client: &Client| client.base().trim_start_matches("http://").to_owned();
    let targets: Vec<String> =
        exporters.iter().flat_map(|exporter| [address(&exporter.metrics), address(&exporter.telemetry)]).collect();
    let job = |name: &str, protocol: &str| json!({"job_name": name, "scrape_protocols": [protocol], "static_configs": [{"targets": targets}]});
    // One exporter is also read in parts: as many targets, one address.
    let in_parts = address(&ours[0].metrics);
    let part = |index: usize| {
        json!({
            "job_name": format!("part-{index}"),
            "params": {"part": [format!("{index}/{PARTS}")]},
            "static_configs": [{"targets": [in_parts]}],
        })
    };
    let mut jobs = vec![job("text", "PrometheusText0.0.4"), job("openmetrics", "OpenMetricsText1.0.0")];
    jobs.extend((1..=PARTS).map(part));
    let config = json!({
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": jobs,
    });
    let folder = world.scratch.folder("prometheus")?;
    let mut prometheus = Prometheus::start(&config, &[], &folder, &world.logs)?;

    let wanted = targets.len() * 2 + PARTS;
    let mut last = String::new();
    let up = wait::until("Prometheus has every target up", LIMIT, || {
        prometheus.process.ensure_running()?;
        let values = prometheus.query("up")?;
        let up = values.iter().filter(|(_, value)| *value == 1.0).count();
        last = format!("{up} of {wanted} targets are up; {}", prometheus.target_errors()?);
        Ok((values.len() == wanted && up == wanted).then_some(up))
    });
    let up = up.with_context(|| last.clone())?;

    let mut samples = 0.0;
    for exporter in &exporters {
        for (job, format) in [("text", Format::Text), ("openmetrics", Format::OpenMetrics)] {
            let selector =
                format!("scrape_samples_scraped{{instance=\"{}\",job=\"{job}\"}}", address(&exporter.metrics));
            let found = prometheus.query(&selector)?.first().map_or(0.0, |(_, value)| *value);
            let here = exporter.exposition(format)?.samples().count();
            ensure!(
                found > 0.0 && found as usize == here,
                "Prometheus scraped {found} samples of {} as {format}, we read {here}",
                exporter.name()
            );
            samples += found;
        }
    }
    let by_part = prometheus.query("scrape_samples_scraped{job=~\"part-.*\"}")?;
    let together: f64 = by_part.iter().map(|(_, samples)| samples).sum();
    let whole = ours[0].exposition(Format::Text)?.samples().count();
    ensure!(
        by_part.len() == PARTS && by_part.iter().all(|(_, samples)| *samples > 0.0) && together as usize == whole,
        "Prometheus scraped {together} samples of {} in {PARTS} parts, we read {whole} in one",
        ours[0].name()
    );
    prometheus.process.stop()?;
    Ok(format!("{up} targets up, {samples} samples a round; {PARTS} parts are the {whole} samples of the whole"))
}

/// Runs `promtool check metrics` on ours and on the reference; returns remarks on ours and bytes checked.
fn lint(world: &World, ours: &Exporter, reference: &Exporter) -> Result<(usize, usize)> {
    let known = remarks(world, reference)?.0;
    let (found, bytes) = remarks(world, ours)?;
    let new: Vec<&String> = found.difference(&known).collect();
    if !new.is_empty() {
        let lines: Vec<String> = new.iter().take(20).map(|line| format!("    {line}")).collect();
        bail!("promtool has {} remarks on ours and not on the reference:\n{}", new.len(), lines.join("\n"));
    }
    Ok((found.len(), bytes))
}

fn remarks(world: &World, exporter: &Exporter) -> Result<(BTreeSet<String>, usize)> {
    let body = exporter.scrape(Format::Text)?.body;
    strict::promtool(&body, world.scratch.path()).with_context(|| format!("the body of {}", exporter.name()))
}

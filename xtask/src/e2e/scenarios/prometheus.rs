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
use crate::manifests::snippets;
use crate::prometheus::Prometheus;
use crate::{strict, wait};

/// Scrapes that one exporter is read in as well.
const PARTS: usize = 3;

/// The job of ours beside kube-state-metrics, and of one that has pods alone.
const TRIAL: &str = "kube-state-metrics-trial";
const SHORT: &str = "kube-state-metrics-short";

/// Time between scrapes of a target, and for one: those of all together keep both cores busy for a second.
const INTERVAL: &str = "5s";

/// Time for Prometheus to have what is looked for; a scrape that comes late is made up for by a later one.
const LIMIT: Duration = Duration::from_secs(180);

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
    // As while one is tried beside the other; and one that lacks much.
    let beside = [("kube-state-metrics", vec![reference]), (TRIAL, vec![&ours[0], &ours[1]]), (SHORT, vec![&ours[3]])];
    let of_cluster: usize = beside.iter().map(|(_, exporters)| exporters.len()).sum();
    jobs.extend(beside.iter().map(|(name, exporters)| {
        let targets: Vec<String> = exporters.iter().map(|exporter| address(&exporter.metrics)).collect();
        json!({"job_name": name, "honor_labels": true, "static_configs": [{"targets": targets}]})
    }));
    let config = json!({
        "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL},
        "scrape_configs": jobs,
    });
    let folder = world.scratch.folder("prometheus")?;
    let mut prometheus = Prometheus::start(&config, &[], &folder, &world.logs)?;

    let wanted = targets.len() * 2 + PARTS + of_cluster;
    let mut last = String::new();
    let up = wait::until("Prometheus has every target up", LIMIT, || {
        prometheus.process.ensure_running()?;
        let values = prometheus.query("up")?;
        let up = values.iter().filter(|(_, value)| *value == 1.0).count();
        last = format!("{up} of {wanted} targets are up; {}", prometheus.target_errors()?);
        Ok((values.len() == wanted && up == wanted).then_some(up))
    });
    let up = up.with_context(|| last.clone())?;

    let (samples, whole) =
        wait::until_ok("Prometheus has every sample", LIMIT, || compare_samples(&prometheus, &exporters, &ours[0]))?;
    let queries = wait::until_ok("the documented queries say so", LIMIT, || compare_as_documented(&prometheus))?;
    prometheus.process.stop()?;
    Ok(format!(
        "{up} targets up, {samples} samples a round; {PARTS} parts are the {whole} samples of the whole; {queries} queries of \
         docs/migrating.md find no difference, and a planted one"
    ))
}

/// Prometheus has as many samples of each as our reader finds, and of parts as many as of the whole. Returns those of a
/// round, and those of the whole.
fn compare_samples(prometheus: &Prometheus, exporters: &[&Exporter], in_parts: &Exporter) -> Result<(f64, usize)> {
    let mut samples = 0.0;
    for exporter in exporters {
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
    let whole = in_parts.exposition(Format::Text)?.samples().count();
    ensure!(
        by_part.len() == PARTS && by_part.iter().all(|(_, samples)| *samples > 0.0) && together as usize == whole,
        "Prometheus scraped {together} samples of {} in {PARTS} parts, we read {whole} in one",
        in_parts.name()
    );
    Ok((samples, whole))
}

fn address(client: &Client) -> String {
    client.base().trim_start_matches("http://").to_owned()
}

/// The queries that the documentation compares both sides by find nothing, and find what one of them lacks.
fn compare_as_documented(prometheus: &Prometheus) -> Result<usize> {
    let queries = snippets::queries()?;
    let both = prometheus.query(&queries[0].1)?;
    let up: BTreeSet<(String, u32)> =
        both.iter().map(|(labels, count)| (labels["job"].to_string(), *count as u32)).collect();
    let wanted = BTreeSet::from([("\"kube-state-metrics\"".to_owned(), 1), (format!("\"{TRIAL}\""), 2)]);
    ensure!(up == wanted, "`{}` says {up:?}, not {wanted:?}", queries[0].0);
    let mut compared = 0;
    for (comment, query) in &queries[1..] {
        let (of_values, of_families) = (query.contains(" != on (namespace"), query.contains(" on (__name__) "));
        if !of_values && !of_families {
            ensure!(!prometheus.query(query)?.is_empty(), "`{comment}` finds nothing");
            continue;
        }
        let mut last = Vec::new();
        let same = wait::until("both sides are the same", LIMIT, || {
            last = prometheus.query(query)?;
            Ok(last.is_empty().then_some(()))
        });
        same.with_context(|| {
            format!("`{comment}` finds {:?} and {} more", last.first(), last.len().saturating_sub(1))
        })?;
        let planted = if of_values {
            prometheus.query(&query.replace("!=", "=="))?
        } else {
            let old = prometheus.query(&query.replace("job=\"kube-state-metrics\"", &format!("job=\"{SHORT}\"")))?;
            [old, prometheus.query(&query.replace(TRIAL, SHORT))?].concat()
        };
        ensure!(!planted.is_empty(), "`{comment}` does not find what one side lacks");
        compared += 1;
    }
    ensure!(compared >= 4, "{compared} queries compare both sides");
    Ok(queries.len())
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

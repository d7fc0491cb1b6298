//! Prometheus: it scrapes every port of every exporter in both formats, and promtool has nothing to add.
//!
//! Invariant: a target is up by Prometheus' own word, and holds as many samples as our reader finds.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::e2e::objects::BULK_NODES;
use crate::e2e::world::{World, rest_resources};
use crate::exporter::Exporter;
use crate::exposition::Format;
use crate::flags::Flags;
use crate::http::Client;
use crate::process::Process;
use crate::{ports, strict, tools};

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
    let config = json!({
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [job("text", "PrometheusText0.0.4"), job("openmetrics", "OpenMetricsText1.0.0")],
    });
    let folder = world.scratch.folder("prometheus")?;
    let file = folder.join("prometheus.yml");
    fs::write(&file, config.to_string()).with_context(|| format!("cannot write {}", file.display()))?;

    let port = ports::free()?;
    let mut command = Command::new(tools::ensure(&tools::PROMETHEUS)?);
    command.arg(format!("--config.file={}", file.display())).arg(format!("--storage.tsdb.path={}", folder.display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    let mut prometheus = Process::start("prometheus", command, &world.logs)?;
    let client = Client::plain(format!("http://127.0.0.1:{port}"));
    prometheus.wait_for("answers /-/ready", LIMIT, || {
        Ok(client.get("/-/ready", None).ok().filter(|answer| answer.status == 200).map(|_| ()))
    })?;

    let wanted = targets.len() * 2;
    let mut last = String::new();
    let up = prometheus.wait_for("has every target up", LIMIT, || {
        let values = query(&client, "up")?;
        let up = values.iter().filter(|(_, value)| *value == 1.0).count();
        last = format!("{up} of {wanted} targets are up; {}", target_errors(&client)?);
        Ok((values.len() == wanted && up == wanted).then_some(up))
    });
    let up = up.with_context(|| last.clone())?;

    let mut samples = 0.0;
    for exporter in &exporters {
        for (job, format) in [("text", Format::Text), ("openmetrics", Format::OpenMetrics)] {
            let selector =
                format!("scrape_samples_scraped{{instance=\"{}\",job=\"{job}\"}}", address(&exporter.metrics));
            let found = query(&client, &selector)?.first().map_or(0.0, |(_, value)| *value);
            let here = exporter.exposition(format)?.samples().count();
            ensure!(
                found > 0.0 && found as usize == here,
                "Prometheus scraped {found} samples of {} as {format}, we read {here}",
                exporter.name()
            );
            samples += found;
        }
    }
    prometheus.stop()?;
    Ok(format!("{up} targets up, {samples} samples a round"))
}

/// The instant value of an expression: label sets as JSON, and numbers.
fn query(client: &Client, expression: &str) -> Result<Vec<(Value, f64)>> {
    let answer = client.get_json(&format!("/api/v1/query?query={}", percent_encode(expression)))?;
    let results = answer["data"]["result"].as_array().context("a query has a result")?;
    results
        .iter()
        .map(|result| {
            let number = result["value"][1].as_str().and_then(|text| text.parse().ok());
            Ok((result["metric"].clone(), number.context("a sample has a number")?))
        })
        .collect()
}

/// Everything but letters and digits as `%XX`.
fn percent_encode(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// What Prometheus says about targets that are down.
fn target_errors(client: &Client) -> Result<String> {
    let answer = client.get_json("/api/v1/targets?state=active")?;
    let targets = answer["data"]["activeTargets"].as_array().context("Prometheus lists its targets")?;
    let errors: Vec<String> = targets
        .iter()
        .filter_map(|target| {
            let error = target["lastError"].as_str().filter(|error| !error.is_empty())?;
            Some(format!("{}: {error}", target["scrapeUrl"].as_str().unwrap_or_default()))
        })
        .collect();
    Ok(errors.join("; "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_survive_an_address() {
        assert_eq!(percent_encode("up{a=\"b\"}"), "up%7Ba%3D%22b%22%7D");
    }
}

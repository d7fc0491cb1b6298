//! Dashboards and rules: whatever they ask has an answer in a Prometheus that scraped the demo cluster.
//!
//! Invariant: each object of the demo cluster is served by one process, so that what panels count is true.

mod ask;
mod fleet;
mod panels;

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use self::ask::Question;
use self::fleet::Fleet;
use self::panels::Choices;
use crate::e2e::shipped;
use crate::e2e::world::World;
use crate::manifests::{dashboards, metrics};
use crate::prometheus::Prometheus;
use crate::testbed::DEMO_CHURN;
use crate::{cargo, wait};

/// Time between two scrapes.
const INTERVAL: &str = "2s";

/// Time for Prometheus to scrape everything several times, and for all queries to have an answer.
const LIMIT: Duration = Duration::from_secs(60);

/// Scrapes after which there are rates.
const SCRAPES: f64 = 3.0;

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let fleet = Fleet::start(world)?;
    let folder = world.scratch.folder("prometheus-dashboards")?;
    let prometheus = shipped::start("scrape.yaml", &fleet.targets(), INTERVAL, &folder, &world.logs)?;
    wait_scraped(&prometheus, fleet.len() * 2)?;

    let (mut panels, mut questions) = (0, Vec::new());
    for path in dashboards::files()?.into_keys() {
        let text =
            fs::read_to_string(cargo::workspace_root().join(&path)).with_context(|| format!("cannot read {path}"))?;
        let mut dashboard: Value = serde_json::from_str(&text).with_context(|| path.clone())?;
        let choices = panels::choices(&dashboard, &prometheus).with_context(|| path.clone())?;
        planted(&prometheus, &mut dashboard, &choices).with_context(|| path.clone())?;
        let asked = panels::questions(&dashboard, &choices);
        panels += panels::count(&dashboard);
        questions.extend(asked.into_iter().map(|question| question.in_file(&path)));
    }
    let faults = ask::faults(&prometheus, &questions, LIMIT)?;
    ensure!(faults.is_empty(), "{} of {} queries:\n    {}", faults.len(), questions.len(), faults.join("\n    "));
    let rules = check_rules(&prometheus)?;
    let counts = wait::until_ok("the numbers are those of the cluster", LIMIT, || check_counts(&prometheus, &fleet));
    let (nodes, pods) = counts?;
    let (queries, processes) = (questions.len(), fleet.len());
    prometheus.process.stop()?;
    fleet.stop()?;
    Ok(format!(
        "{panels} panels have data in {queries} queries, and {rules} rules read nothing that is not there; {processes} \
         processes of all four binaries on {nodes} nodes and {pods} pods"
    ))
}

fn wait_scraped(prometheus: &Prometheus, targets: usize) -> Result<()> {
    let mut last = String::new();
    let outcome = wait::until("Prometheus has scraped every target several times", LIMIT, || {
        let scrapes = prometheus.query("sum_over_time(up[1m])")?;
        let often = scrapes.iter().filter(|(_, count)| *count >= SCRAPES).count();
        last = format!("{often} of {targets} targets; {}", prometheus.target_errors()?);
        Ok((scrapes.len() == targets && often == targets).then_some(()))
    });
    outcome.with_context(|| last)
}

/// Panels that ask for what is not there must be noticed: else the rest would prove nothing.
fn planted(prometheus: &Prometheus, dashboard: &mut Value, choices: &Choices) -> Result<()> {
    let good = "count(kube_pod_info{job=\"kube-state-metrics\"})";
    let faults = [
        ("a metric that is not there", "sum(kube_pod_nonsense)"),
        ("a label that is not there", "sum(kube_pod_info{nod=\"node-00001\"})"),
        ("a metric that is not there beside one that is", "count(kube_pod_info unless kube_pod_nonsense)"),
        ("a label that is not there behind a sum", "sum(kube_pod_info) or sum(kube_pod_info{phase!=\"\"})"),
        ("a variable that is not there", "count(kube_pod_info{namespace=~\"$nmespace\"})"),
        ("no PromQL", "count(kube_pod_info"),
        ("no number", "0 / count(kube_pod_info) - 0 / (count(kube_pod_info) * 0)"),
    ];
    let panel =
        |title: &str, expression: &str| json!({"type": "stat", "title": title, "targets": [{"expr": expression}]});
    let untouched = dashboard.clone();
    for (title, expression) in [("nothing wrong", good)].iter().chain(&faults) {
        dashboard["panels"] = json!([panel(title, expression)]);
        let found = ask::faults(prometheus, &panels::questions(dashboard, choices), Duration::ZERO)?;
        ensure!(found.is_empty() == (*expression == good), "planted {title}: found {found:?}");
    }
    *dashboard = untouched;
    Ok(())
}

/// Prometheus can evaluate every rule, what they read is there, and no alert is about to fire. Returns how many there are.
fn check_rules(prometheus: &Prometheus) -> Result<usize> {
    let mut last = String::new();
    let outcome = wait::until("every rule is evaluated", LIMIT, || {
        let rules = prometheus.rules()?;
        let bad = rules.iter().find(|rule| rule["health"] != "ok");
        last = bad.map(|rule| format!("{}: {}", rule["name"], rule["lastError"])).unwrap_or_default();
        Ok((!rules.is_empty() && bad.is_none()).then_some(rules))
    });
    let rules = outcome.with_context(|| last)?;
    let expected = metrics::expressions(&metrics::rules()?);
    ensure!(rules.len() == expected.len(), "Prometheus has {} rules of {}", rules.len(), expected.len());
    let questions: Vec<Question> = rules
        .iter()
        .filter_map(|rule| {
            let (name, expression) = (rule["name"].as_str()?, rule["query"].as_str()?);
            // An alert has nothing to show while all is well.
            Some(Question::new(format!("the rule `{name}`"), expression.to_owned()).silent(rule["type"] == "alerting"))
        })
        .collect();
    let faults = ask::faults(prometheus, &questions, LIMIT)?;
    ensure!(faults.is_empty(), "{}", faults.join("\n    "));
    let mut alerts = Vec::new();
    let quiet = wait::until("no alert fires or is about to", LIMIT, || {
        alerts = prometheus.query("ALERTS")?;
        Ok(alerts.is_empty().then_some(()))
    });
    quiet.with_context(|| alerts.first().map_or_else(String::new, |(alert, _)| alert.to_string()))?;
    Ok(rules.len())
}

/// What the first panels of the cluster's dashboard show is what the API server has. Returns both numbers.
fn check_counts(prometheus: &Prometheus, fleet: &Fleet) -> Result<(usize, usize)> {
    // Scrapes are behind by their interval, and a pod may be seen by two while it is bound.
    let slack = 8 * DEMO_CHURN as usize;
    let mut counted = [0, 0];
    for (place, (plural, metric)) in counted.iter_mut().zip([("nodes", "kube_node_info"), ("pods", "kube_pod_info")]) {
        let there = fleet.objects(plural)?.len();
        let shown = prometheus.query(&format!("count({metric})"))?;
        *place = shown.first().map_or(0, |(_, count)| *count as usize);
        let tolerated = if plural == "pods" { slack } else { 0 };
        ensure!(place.abs_diff(there) <= tolerated, "{there} {plural} are there, {metric} counts {place}");
    }
    Ok((counted[0], counted[1]))
}

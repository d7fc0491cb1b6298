//! Options: under each of many sets of arguments, `ksm-shard` serves what the reference serves, in both formats.
//!
//! Invariant: both get the very same arguments, so a set that the two would read differently shows.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::cluster::{ADMIN_TOKEN, LIMITED_TOKEN};
use crate::compare::View;
use crate::e2e::objects::{BULK_NODES, RESOURCES};
use crate::e2e::world::World;
use crate::exposition::{Family, Format};
use crate::wait;

/// Beginnings of names of the reference's self-metrics that we do not have: what is about Go and its HTTP library, and
/// about custom resources.
const NOT_OURS: [&str; 3] = ["go_", "promhttp_", "kube_state_metrics_custom_resource_state_"];

/// How many families of self-metrics both have, at least.
const SELF_METRICS: usize = 20;

/// Time for the API server to say who may read; until then the answer is 503.
const REVIEW_LIMIT: Duration = Duration::from_secs(60);

/// One set of arguments, and the queries with which it is scraped.
struct Set {
    name: &'static str,
    /// Whether the resources of the run are asked for beside the arguments.
    all_resources: bool,
    arguments: Vec<String>,
    queries: &'static [&'static str],
}

/// A set for all resources of the run, scraped without a query.
fn set(name: &'static str, arguments: &[&str]) -> Set {
    let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
    Set { name, all_resources: true, arguments, queries: &[""] }
}

/// The same for the resources that the arguments name.
fn own(name: &'static str, arguments: &[&str]) -> Set {
    Set { all_resources: false, ..set(name, arguments) }
}

fn sets() -> Vec<Set> {
    let queries = Set {
        queries: &[
            "?resources=pods",
            "?resources=pods,nodes&resources=services",
            "?exclude_resources=pods",
            "?resources=pods,nodes&exclude_resources=pods",
        ],
        ..set("query parameters", &[])
    };
    vec![
        set(
            "label lists",
            &[
                "--metric-labels-allowlist=pods=[app,version],nodes=[*],namespaces=[team]",
                "--metric-annotations-allowlist=*=[*]",
            ],
        ),
        set("label lists with a *", &["--metric-labels-allowlist=*=[app*],services=[team]"]),
        set(
            "label lists, the last counts",
            &[
                "--metric-labels-allowlist=pods=[app]",
                "--metric-labels-allowlist=pods=[version],pods=[app.kubernetes.io/instance]",
            ],
        ),
        set("namespaces", &["--namespaces=team-a, team-b", "--namespaces=default"]),
        set("namespaces denied", &["--namespaces-denylist=bulk,team-b"]),
        set("namespaces and namespaces denied", &["--namespaces=bulk,team-a", "--namespaces-denylist=bulk"]),
        own("node", &["--resources=pods", &format!("--node={}", BULK_NODES[0])]),
        own("unscheduled", &["--resources=pods", "--track-unscheduled-pods"]),
        own("unscheduled overrides a node", &["--resources=pods", "--track-unscheduled-pods", "--node=bulk-1"]),
        set(
            "allowlist",
            &["--metric-allowlist=kube_pod_info,kube_node_.*", "--metric-allowlist=^kube_service_(?=spec)"],
        ),
        set("denylist with look-ahead", &["--metric-denylist=^kube_(?!pod_|node_).*"]),
        set(
            "denylist with look-behind, on lines",
            &["--metric-denylist=\n  .*(?<!_labels|_info)$,\n\n  kube_node_labels\n"],
        ),
        set(
            "opt-in",
            &["--metric-opt-in-list=kube_pod_tolerations,^kube_pod_nodeselectors$", "--metric-opt-in-list=nothing"],
        ),
        own("object limit", &["--resources=pods,nodes,configmaps", "--object-limit=50"]),
        own("resources add up", &["--resources=pods,, configmaps", "--resources=\nsecrets"]),
        set("gzip and cache", &["--enable-gzip-encoding", "--use-apiserver-cache"]),
        set(
            "timeouts and log flags",
            &[
                "--server-read-timeout=2m",
                "--server-write-timeout=1m30s",
                "--server-idle-timeout=0",
                "--server-read-header-timeout=10s",
                "--logtostderr=true",
                "--stderrthreshold=2",
                "--auto-gomemlimit",
                "--auto-gomemlimit-ratio=0.8",
                "-v=2",
            ],
        ),
        queries,
    ]
}

/// A set whose options stand in a file, which override those of the command line.
fn in_a_file(world: &World) -> Result<Set> {
    let path = world.scratch.path().join("options.yaml");
    let content = "\
resources: {pods: {}, nodes: {}, secrets: {}}
namespaces: [team-a, bulk]
namespaces_denylist: [bulk]
metric_denylist: {kube_pod_status_.*: {}}
metric_opt_in_list: {kube_pod_tolerations: {}}
labels_allow_list: {pods: [app, version], nodes: ['*']}
annotations_allow_list: {pods: ['*']}
server_write_timeout: 30s
use_api_server_cache: true
";
    fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    let config = format!("--config={}", path.display());
    Ok(own("configuration file", &[&config, "--resources=services", "--metric-denylist=kube_node_.*"]))
}

/// With `--auth-filter`, the real API server says who may read: a superuser may, a user without the right and strangers
/// may not.
fn auth_filter(world: &World) -> Result<()> {
    let ours = world.start_ours("auth-filter", "ksm-shard", &["--auth-filter".to_owned()])?;
    for port in [&ours.metrics, &ours.telemetry] {
        for (token, status) in
            [(None, 401), (Some("made-up"), 401), (Some(LIMITED_TOKEN), 403), (Some(ADMIN_TOKEN), 200)]
        {
            let client = token.map_or_else(|| port.clone(), |token| port.with_token(token));
            let answer = wait::until("the API server is asked", REVIEW_LIMIT, || {
                Ok(Some(client.get("/metrics", None)?).filter(|answer| answer.status != 503))
            })?;
            ensure!(answer.status == status, "{token:?} gets {}, want {status}", answer.status);
            ensure!(status == 200 || !answer.body.contains("kube_"), "{token:?} is shown metrics");
            let health = client.get("/readyz", None)?;
            ensure!(health.status == 200, "/readyz answers {} to {token:?}", health.status);
        }
    }
    Ok(())
}

/// What the reference says of itself, we say too, under the same names and labels.
fn self_metrics(world: &World) -> Result<usize> {
    let path = world.scratch.path().join("self-metrics.yaml");
    fs::write(&path, "metric_opt_in_list: {kube_pod_tolerations: {}}\n")
        .with_context(|| format!("cannot write {}", path.display()))?;
    let config = format!("--config={}", path.display());
    let arguments = ["--resources=pods,nodes", "--object-limit=50", &config, "--shard=0", "--total-shards=2"];
    let (ours, reference) = world.start_both("self-metrics", &arguments.map(str::to_owned))?;
    for exporter in [&ours, &reference] {
        exporter.scrape(Format::Text)?;
    }
    let shape = |family: &Family| -> BTreeSet<String> {
        let labels = family.samples.iter().flat_map(|sample| &sample.labels);
        labels.map(|(name, _)| name.clone()).collect()
    };
    let (own, expected) = (ours.self_metrics()?, reference.self_metrics()?);
    let (mut equal, mut faults) = (0, Vec::new());
    for family in &expected.families {
        let name = &family.name;
        if NOT_OURS.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let Some(found) = own.families.iter().find(|other| other.name == *name) else {
            faults.push(format!("{name} is missing"));
            continue;
        };
        if found.kind != family.kind {
            faults.push(format!("{name} is a {}, not a {}", found.kind, family.kind));
        }
        let (labels, expected) = (shape(found), shape(family));
        // What was built has other labels in another language.
        if labels != expected && !name.ends_with("_build_info") {
            faults.push(format!("{name} has the labels {labels:?}, not {expected:?}"));
        }
        equal += 1;
    }
    ensure!(faults.is_empty(), "{}", faults.join("; "));
    ensure!(equal >= SELF_METRICS, "only {equal} self-metrics were compared");
    Ok(equal)
}

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let mut sets = sets();
    sets.push(in_a_file(world)?);
    let (mut comparisons, mut samples) = (0, 0);
    for set in &sets {
        let mut arguments = set.arguments.clone();
        if set.all_resources {
            arguments.insert(0, format!("--resources={}", RESOURCES.join(",")));
        }
        let (ours, reference) = world
            .start_both(&set.name.replace([' ', ',', '*'], "-"), &arguments)
            .with_context(|| set.name.to_owned())?;
        for query in set.queries {
            for format in Format::ALL {
                let what = format!("{}{query}, {format}", set.name);
                let (expected, _) = world.settle(&what, || {
                    Ok((View::of([&reference.exposition_of(query, format)?]), world.read_of(&[&ours], query, format)?))
                })?;
                comparisons += 1;
                samples += expected.samples();
            }
        }
        let log = ours.process.log();
        ensure!(!log.contains("panicked"), "{}: it panicked:\n{log}", set.name);
    }
    auth_filter(world).context("auth filter")?;
    let own = self_metrics(world).context("self-metrics")?;
    let sets = sets.len();
    Ok(format!("{sets} sets of options, {comparisons} comparisons, {samples} samples equal; {own} self-metrics alike"))
}

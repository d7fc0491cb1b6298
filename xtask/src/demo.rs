//! `cargo xtask demo`: all four binaries on a lively cluster, with what each serves.
//!
//! Invariant: needs only Rust and a C compiler; starts nothing that outlives it, and with `--kubeconfig` only reads.

mod summary;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use self::summary::{Row, Summary};
use crate::cargo::{self, SHIPPED, TESTBED};
use crate::cli::DemoArgs;
use crate::exporter::Exporter;
use crate::process::{Process, Scratch};
use crate::progress::Progress;
use crate::table::count;
use crate::testbed::Testbed;
use crate::{interrupt, wait};

/// Time for a binary to list the whole cluster, which may be the user's own and far away.
const READY_LIMIT: Duration = Duration::from_secs(180);

/// The embedded API server runs for the demo unless the user brings a cluster.
struct Cluster {
    testbed: Option<Process>,
    kubeconfig: PathBuf,
    /// For the closing hints.
    address: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &DemoArgs) -> Result<()> {
    let mut wanted = SHIPPED.to_vec();
    if arguments.kubeconfig.is_none() {
        wanted.push(TESTBED);
    }
    let binaries = cargo::build(&wanted, arguments.release)?;
    let scratch = Scratch::new("ksm-demo", false)?;
    let mut cluster = start_cluster(arguments, &binaries, scratch.path())?;
    let mut exporters = start_exporters(&cluster.kubeconfig, &binaries, scratch.path())?;

    let rows = exporters.iter().map(|(exporter, share)| Row::of(exporter, share)).collect::<Result<Vec<Row>>>()?;
    println!("\n{}", summary::table(&rows));
    for row in &rows {
        ensure!(row.summary.samples > 0, "{} ({}) serves nothing: see its log above", row.binary, row.share);
    }
    check_split(arguments, &exporters)?;
    if arguments.once {
        return stop(exporters, cluster);
    }
    print_hints(&exporters, &cluster);
    while !interrupt::requested() {
        if let Some(testbed) = &mut cluster.testbed {
            testbed.ensure_running()?;
        }
        for (exporter, _) in &mut exporters {
            exporter.process.ensure_running()?;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    eprintln!("stopping");
    stop(exporters, cluster)
}

fn start_cluster(arguments: &DemoArgs, binaries: &BTreeMap<String, PathBuf>, folder: &Path) -> Result<Cluster> {
    if let Some(kubeconfig) = &arguments.kubeconfig {
        ensure!(kubeconfig.is_file(), "--kubeconfig {}: no such file", kubeconfig.display());
        return Ok(Cluster { testbed: None, kubeconfig: kubeconfig.clone(), address: None });
    }
    let progress = Progress::start(format!("starting the embedded API server with {} pods", arguments.pods));
    let testbed = Testbed::start_lively(&binaries[TESTBED], arguments.pods, arguments.churn, folder)?;
    progress.done(&testbed.address);
    Ok(Cluster { kubeconfig: testbed.kubeconfig, address: Some(testbed.address), testbed: Some(testbed.process) })
}

/// Starts every binary and waits until all are ready; each comes with what it is responsible for.
fn start_exporters(
    kubeconfig: &Path,
    binaries: &BTreeMap<String, PathBuf>,
    logs: &Path,
) -> Result<Vec<(Exporter, String)>> {
    let start = |name: &str, binary: &str, arguments: &[&str]| {
        let mut all = vec!["--kubeconfig".to_owned(), kubeconfig.display().to_string()];
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        Exporter::start(name, &binaries[binary], &all, logs)
    };
    let progress = Progress::start("starting the binaries, until all are ready");
    let mut whole = start("ksm-shard", "ksm-shard", &["--shard", "0", "--total-shards", "1"])?;
    let mut others = vec![
        (start("ksm-shard-0-of-2", "ksm-shard", &["--shard", "0", "--total-shards", "2"])?, "shard 0 of 2"),
        (start("ksm-shard-1-of-2", "ksm-shard", &["--shard", "1", "--total-shards", "2"])?, "shard 1 of 2"),
        (start("ksm-unscheduled", "ksm-unscheduled", &[])?, "pods without a node"),
        (start("ksm-rest", "ksm-rest", &[])?, "everything but pods"),
    ];
    whole.wait_ready(READY_LIMIT)?;
    // A cluster without a bound pod still has a node to name.
    let node = Summary::read(&whole)?.busiest_node().unwrap_or("none").to_owned();
    let mut on_node = start("ksm-node", "ksm-node", &["--node", &node])?;
    on_node.wait_ready(READY_LIMIT)?;
    for (exporter, _) in &mut others {
        progress.note(exporter.name());
        exporter.wait_ready(READY_LIMIT)?;
    }
    progress.done("");
    let mut all = vec![(whole, "everything (shard 0 of 1)".to_owned()), (on_node, format!("pods of {node}"))];
    all.extend(others.into_iter().map(|(exporter, share)| (exporter, share.to_owned())));
    Ok(all)
}

/// Shows that shards add up to the whole, and that node, unscheduled and rest have their part of it.
fn check_split(arguments: &DemoArgs, exporters: &[(Exporter, String)]) -> Result<()> {
    // Scrapes are taken one after the other while the cluster lives; this many changes may lie between two.
    let slack = match &arguments.kubeconfig {
        None => 2 * u64::from(arguments.churn) + 2,
        Some(_) => 50,
    };
    let find = |name: &str| {
        let found = exporters.iter().find(|(exporter, _)| exporter.name() == name);
        Summary::read(&found.with_context(|| format!("{name} was started"))?.0)
    };
    let mut shown = Vec::new();
    let outcome = wait::until("the parts add up to the whole", Duration::from_secs(60), || {
        let (whole, node) = (find("ksm-shard")?, find("ksm-node")?);
        let (first, second) = (find("ksm-shard-0-of-2")?, find("ksm-shard-1-of-2")?);
        let (unscheduled, rest) = (find("ksm-unscheduled")?, find("ksm-rest")?);
        let busiest = whole.busiest_node().unwrap_or_default().to_owned();
        let name = node.busiest_node().map_or(busiest, str::to_owned);
        let checks = [
            ("pods of both shards", first.pods() + second.pods(), whole.pods()),
            ("pods of that node", node.pods(), whole.pods_on(&name)),
            ("pods without a node", unscheduled.pods(), whole.pods_on("")),
            ("pods of everything but pods", rest.pods(), 0),
            ("other objects", rest.others, whole.others),
            (
                "pods of that node or of none, and nothing else",
                node.pods() + unscheduled.pods(),
                node.pods_on(&name) + unscheduled.pods_on(""),
            ),
        ];
        shown.clear();
        let mut fits = true;
        for (what, parts, whole) in checks {
            shown.push(format!("  {what}: {} by the parts, {} by the whole", count(parts), count(whole)));
            fits &= parts.abs_diff(whole) <= slack;
        }
        Ok(fits.then_some(()))
    });
    println!("Split (a living cluster changes between two scrapes):\n{}", shown.join("\n"));
    outcome
}

fn print_hints(exporters: &[(Exporter, String)], cluster: &Cluster) {
    println!("\nTry:");
    for (exporter, share) in exporters {
        println!("  curl {}/metrics    # {}, {share}", exporter.metrics.base(), exporter.name());
    }
    let (first, _) = &exporters[0];
    let url = first.metrics.base();
    println!("  curl -H 'Accept: application/openmetrics-text' {url}/metrics | head    # the other format");
    println!("  curl '{url}/metrics' | grep kube_pod_status_phase | grep ' 1$'    # pods and their phases");
    println!("  curl {}/metrics    # what an exporter says about itself", first.telemetry.base());
    match &cluster.address {
        Some(address) => println!(
            "  kubectl --kubeconfig {} get pods -A    # the cluster, at {address}",
            cluster.kubeconfig.display()
        ),
        None => println!("  (the cluster is yours; nothing was changed in it)"),
    }
    println!("Ctrl-C stops everything.");
}

/// Stops the exporters, then the cluster; an exporter that does not stop by itself is a fault.
fn stop(exporters: Vec<(Exporter, String)>, cluster: Cluster) -> Result<()> {
    for (exporter, _) in exporters {
        let name = exporter.name().to_owned();
        let log = exporter.process.log_tail();
        let status = exporter.process.stop()?;
        if !status.success() {
            bail!("{name} ended with {status} when asked to stop; its last lines:\n{log}");
        }
    }
    if let Some(testbed) = cluster.testbed {
        testbed.stop()?;
    }
    Ok(())
}

//! `cargo xtask e2e`: the binaries against a real API server, side by side with the reference and Prometheus.
//!
//! Invariant: every scenario is named, reported as PASS or FAIL with figures, and run to its end whatever another did;
//! nothing is skipped, and every process ends with the run.

mod api;
mod definitions;
pub mod objects;
mod scenarios;
mod shipped;
mod world;

use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;

use self::world::World;
use crate::cli::E2eArgs;
use crate::progress::elapsed;
use crate::{interrupt, plant};

/// The scenarios, in the order in which they run: the last two change the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScenarioName {
    /// ksm-shard serves what the reference serves
    Parity,
    /// The same under many sets of options, each with the reference
    Options,
    /// Shards add up to the whole, and so do node, unscheduled and rest
    Partition,
    /// Pods are bound, and pass from ksm-unscheduled to ksm-node
    Handover,
    /// The API server filters for range shards, and shards read less
    ServerSide,
    /// Wrong flags, missing files, missing rights, an unreachable server
    BadInput,
    /// Compressed bodies are gzip to other programs too
    Compressed,
    /// What deploy/ renders is taken by the API server to the last field
    Manifests,
    /// Images are built, pushed, pulled, run as containers and scraped
    Images,
    /// `cargo xtask deploy` shows, asks and applies, and refuses what it cannot do
    Deploy,
    /// Every query of every dashboard and rule has an answer about the demo cluster
    Dashboards,
    /// Every overlay in a cluster with controllers and a scheduler, its pods' processes run as the manifests say, monitored
    Overlays,
    /// Prometheus scrapes everything, promtool finds nothing
    Prometheus,
    /// A StatefulSet is scaled and its processes follow, and nothing is lost in any scrape
    Reshard,
    /// The API server is killed and comes back
    Outage,
}

impl ScenarioName {
    fn label(self) -> String {
        self.to_possible_value().expect("no scenario is hidden").get_name().to_owned()
    }

    fn run(self, world: &mut World) -> Result<String> {
        match self {
            Self::Parity => scenarios::parity::run(world),
            Self::Options => scenarios::options::run(world),
            Self::Partition => scenarios::partition::run(world),
            Self::Handover => scenarios::handover::run(world),
            Self::ServerSide => scenarios::server_side::run(world),
            Self::BadInput => scenarios::bad_input::run(world),
            Self::Compressed => scenarios::compressed::run(world),
            Self::Manifests => scenarios::manifests::run(world),
            Self::Images => scenarios::images::run(world),
            Self::Deploy => scenarios::deploy::run(world),
            Self::Dashboards => scenarios::dashboards::run(world),
            Self::Overlays => scenarios::overlays::run(world),
            Self::Prometheus => scenarios::prometheus::run(world),
            Self::Reshard => scenarios::reshard::run(world),
            Self::Outage => scenarios::outage::run(world),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &E2eArgs) -> Result<()> {
    if arguments.self_test {
        plant::self_test()?;
        println!("self-test passed: every planted fault was reported");
        return Ok(());
    }
    let mut world = World::start(arguments)?;
    let mut failed = Vec::new();
    let mut passed = 0;
    for scenario in ScenarioName::value_variants() {
        if !arguments.runs(*scenario) {
            continue;
        }
        let label = scenario.label();
        eprintln!("==> {label}");
        let started = Instant::now();
        let outcome = scenario.run(&mut world);
        interrupt::check()?;
        let took = elapsed(started.elapsed());
        match outcome {
            Ok(figures) => {
                passed += 1;
                println!("PASS  {label} ({took}): {figures}");
            }
            Err(error) => {
                println!("FAIL  {label} ({took}): {error:#}");
                failed.push(label);
            }
        }
    }
    println!("{passed} passed, {} failed", failed.len());
    if !failed.is_empty() {
        bail!("failed: {}; run one again with `cargo xtask e2e --keep --only {}`", failed.join(", "), failed[0]);
    }
    Ok(())
}

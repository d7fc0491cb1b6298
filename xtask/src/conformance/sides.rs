//! The two sides: the reference and ours, each with few and with all flags, on one test bed.
//!
//! Invariant: what [`Sides::show`] returns has reached all four exporters: a marker object of each resource is the last
//! to be stored and comes as an event, and each exporter shows it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use serde_json::json;

use super::objects::Objects;
use crate::cargo::{self, TESTBED};
use crate::cli::ConformanceArgs;
use crate::exporter::{Exporter, READY_LIMIT};
use crate::exposition::Format;
use crate::flags::Flags;
use crate::http::Client;
use crate::process::{Process, Scratch};
use crate::progress::Progress;
use crate::testbed::Testbed;
use crate::{tools, wait};

/// Objects of each resource and seed.
const OBJECTS_A_SEED: usize = 24;

/// Time for an exporter to take in the objects of a round.
const SETTLE_LIMIT: Duration = Duration::from_secs(60);

/// The same flags on both sides.
pub struct Pair {
    /// The flags.
    pub flags: Flags,
    /// The reference.
    pub reference: Exporter,
    /// `ksm-shard` as one of one.
    pub ours: Exporter,
}

/// All processes of a run.
pub struct Sides {
    testbed: Testbed,
    client: Client,
    resources: Vec<&'static str>,
    reference: PathBuf,
    ours: PathBuf,
    logs: PathBuf,
    /// Started with the first objects: the reference serves nothing before.
    pairs: Vec<Pair>,
    /// Markers made so far.
    markers: usize,
}

impl Sides {
    /// Builds everything and starts the test bed.
    pub fn start(arguments: &ConformanceArgs, resources: &[&'static str], scratch: &Scratch) -> Result<Self> {
        let reference = tools::ensure(&tools::REFERENCE)?;
        for component in [&tools::PROMTOOL, &tools::PARSE_EXPOSITION] {
            tools::ensure(component)?;
        }
        let binaries = cargo::binaries(&["ksm-shard", TESTBED], arguments.binaries.as_deref())?;
        let logs = scratch.folder("logs")?;
        let testbed = Testbed::start(&binaries[TESTBED], &[], &logs)?;
        Ok(Self {
            client: Client::plain(testbed.address.clone()),
            testbed,
            resources: resources.to_vec(),
            reference,
            ours: binaries["ksm-shard"].clone(),
            logs,
            pairs: Vec::new(),
            markers: 0,
        })
    }

    /// Few flags and all.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Replaces the objects of the cluster by those of some seeds and waits until every exporter shows them.
    pub fn show(&mut self, first: u64, seeds: u64, progress: &Progress) -> Result<Objects> {
        progress.note("making objects");
        self.testbed.process.ensure_running()?;
        let marker = self.make(&format!("seed={first}&seeds={seeds}&objects={OBJECTS_A_SEED}"))?;
        if self.pairs.is_empty() {
            progress.note("starting the exporters");
            self.pairs = vec![self.pair("default", Flags::DEFAULT)?, self.pair("everything", Flags::EVERYTHING)?];
            self.settle(&marker, progress)?;
            // The reference shows a list while it takes it in, in any order. What comes as an event comes after it.
            let last = self.make("objects=0&keep=true")?;
            self.settle(&last, progress)?;
        } else {
            self.settle(&marker, progress)?;
        }
        Objects::read(&self.client, &self.resources)
    }

    /// Has the test bed make objects and a marker of each resource; returns the name of the marker.
    fn make(&mut self, what: &str) -> Result<String> {
        self.markers += 1;
        let marker = format!("marker-{}", self.markers);
        let path = format!("/testbed/variety?{what}&resources={}&marker={marker}", self.resources.join(","));
        self.client.send_json("POST", &path, &json!({}))?;
        Ok(marker)
    }

    /// Waits until every exporter shows that marker of every resource.
    fn settle(&mut self, marker: &str, progress: &Progress) -> Result<()> {
        for pair in &mut self.pairs {
            for exporter in [&mut pair.reference, &mut pair.ours] {
                progress.note(&format!("waiting for {}", exporter.name()));
                settle(exporter, &self.resources, marker)?;
            }
        }
        Ok(())
    }

    fn pair(&self, name: &str, flags: Flags) -> Result<Pair> {
        let mut arguments = vec![format!("--resources={}", self.resources.join(","))];
        arguments.extend(flags.arguments(&self.resources));
        let kubeconfig = &self.testbed.kubeconfig;
        let name_of = |side: &str| format!("{side}-{name}");
        let reference =
            Exporter::start_reference(&name_of("reference"), &self.reference, kubeconfig, &arguments, &self.logs);
        let reference = reference.map_err(|error| crash(&self.logs.join(name_of("reference") + ".log"), error))?;
        arguments.extend(["--kubeconfig".to_owned(), kubeconfig.display().to_string()]);
        let mut ours = Exporter::start(&name_of("ours"), &self.ours, &arguments, &self.logs)?;
        ours.wait_ready(READY_LIMIT)?;
        Ok(Pair { flags, reference, ours })
    }

    /// Stops everything; ours must end by itself and must not have panicked.
    pub fn stop(&mut self) -> Result<()> {
        for Pair { reference, ours, .. } in self.pairs.drain(..) {
            reference.process.stop()?;
            let (name, log) = (ours.name().to_owned(), ours.process.log());
            let status = ours.process.stop()?;
            if !status.success() || log.contains("panicked") {
                bail!("{name} ended with {status}; its log:\n{log}");
            }
        }
        Ok(())
    }
}

/// Waits until an exporter shows the marker of every resource.
fn settle(exporter: &mut Exporter, resources: &[&str], marker: &str) -> Result<()> {
    let mut missing = String::new();
    let outcome = wait::until(&format!("{} shows all objects", exporter.name()), SETTLE_LIMIT, || {
        exporter.process.ensure_running()?;
        let seen = marked(&exporter.scrape(Format::Text)?.body, marker);
        let unseen: Vec<&str> = resources.iter().copied().filter(|resource| !seen.contains(resource)).collect();
        missing = unseen.join(", ");
        Ok(unseen.is_empty().then_some(()))
    });
    outcome.map_err(|error| {
        let error = if missing.is_empty() { error } else { error.context(format!("no marker of {missing}")) };
        with_crash(&exporter.process, error)
    })
}

/// Resources of which the body has a sample with a label of that value.
fn marked(body: &str, marker: &str) -> BTreeSet<&'static str> {
    let quoted = format!("\"{marker}\"");
    let lines = body.lines().filter(|line| !line.starts_with('#') && line.contains(&quoted));
    let families: BTreeSet<&str> = lines.filter_map(|line| line.split('{').next()).collect();
    let has_one = |resource: &&&dyn ksm_core::resource::AnyResource| {
        resource.families().iter().any(|family| families.contains(family.name))
    };
    ksm_core::resources::all().iter().filter(has_one).map(|resource| resource.descriptor().plural).collect()
}

/// Lines of a crash report that an error shows.
const CRASH_LINES: usize = 20;

/// Adds what the log says about a crash: the reference ends on objects that it does not expect.
fn with_crash(process: &Process, error: anyhow::Error) -> anyhow::Error {
    match crash_report(&process.log()) {
        Some(report) => error.context(format!("{} crashed:\n{report}", process.name())),
        None => error,
    }
}

fn crash(log: &std::path::Path, error: anyhow::Error) -> anyhow::Error {
    let log = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    match crash_report(&log) {
        Some(report) => anyhow!("{error:#}").context(format!("it crashed:\n{report}")),
        None => error,
    }
}

fn crash_report(log: &str) -> Option<String> {
    let lines: Vec<&str> = log.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("panic:") || line.contains("panicked"))?;
    Some(lines[at..lines.len().min(at + CRASH_LINES)].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_by_family() {
        let body = "# HELP kube_pod_info \"m\"\nkube_pod_info{namespace=\"marker\",pod=\"m\"} 1\nkube_node_info{node=\"m2\"} 1\n";
        assert_eq!(marked(body, "m").into_iter().collect::<Vec<_>>(), ["pods"]);
        assert!(marked(body, "x").is_empty());
    }

    #[test]
    fn a_crash_is_cut_out_of_the_log() {
        let log = "I started\npanic: runtime error\n\ngoroutine 1\n";
        assert_eq!(crash_report(log).as_deref(), Some("panic: runtime error\n\ngoroutine 1"));
        assert_eq!(crash_report("all well\n"), None);
    }
}

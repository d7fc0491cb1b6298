//! `cargo xtask bench`: our release binaries beside the reference, in one run, on the same API server.
//!
//! Invariant: only one exporter runs while something is measured; a section that fails is reported, and costs no other
//! section its figures.

mod bodies;
mod chart;
mod churn;
mod client;
mod figures;
mod format;
mod goals;
mod machine;
mod node;
mod plan;
mod relist;
mod report;
mod results;
mod scraped;
mod server;
mod shards;
mod sizes;
mod subject;
mod usage;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use ksm_core::resources;

pub use self::plan::Section;

use self::machine::Machine;
use self::plan::Plan;
use self::results::{Binary, Results};
use self::server::{Sample, Server};
use self::sizes::Wanted;
use self::subject::Programs;
use crate::cli::BenchArgs;
use crate::process::Scratch;
use crate::progress::elapsed;
use crate::{cargo, interrupt, tools};

/// The command that made a page.
const COMMAND: &str = "cargo xtask bench";

/// Runs the command.
pub fn run(arguments: &BenchArgs) -> Result<()> {
    let started = Instant::now();
    let plan = Plan::new(arguments)?;
    let machine = Machine::read(plan.real)?;
    // All of them now, so that a missing Go is found before anything starts.
    if plan.has(Section::Prometheus) {
        tools::ensure(&tools::PROMETHEUS)?;
    }
    if plan.real {
        tools::ensure(&tools::ETCD)?;
        tools::ensure(&tools::KUBE_APISERVER)?;
    }
    let results = Results { machine, ..Results::default() };
    let folder = output_folder(arguments);
    // Looked at first: what cannot be added to would be found out only once everything is measured.
    let earlier = match folder.as_deref().filter(|_| arguments.add) {
        Some(folder) => Some(earlier(&results, folder)?),
        None => None,
    };
    let scratch = Scratch::new("ksm-bench", arguments.keep)?;
    let programs = Programs::find(arguments.binaries.as_deref(), scratch.folder("logs")?)?;
    let mut bench = Bench { programs, scratch, plan, results, failures: Vec::new() };
    bench.run_all()?;
    let Bench { mut results, failures, .. } = bench;
    if let Some(earlier) = earlier {
        results.add(earlier);
    }

    for table in report::tables(&results) {
        println!("{}", table.text());
    }
    let goals = goals::judge(&results);
    if !goals.is_empty() {
        println!("{}", report::goal_table(&goals).text());
    }
    if let Some(folder) = folder {
        write(&results, &folder)?;
        println!("benchmarks.md, benchmarks.json and benchmarks.svg are in {}", folder.display());
    }
    let met = goals.iter().filter(|goal| goal.met).count();
    println!("{met} of {} goals met, after {}", goals.len(), elapsed(started.elapsed()));
    if !failures.is_empty() {
        bail!("failed, and left out of the tables: {}", failures.join("; "));
    }
    Ok(())
}

/// A run in progress.
struct Bench {
    programs: Programs,
    scratch: Scratch,
    plan: Plan,
    results: Results,
    failures: Vec<String>,
}

impl Bench {
    fn run_all(&mut self) -> Result<()> {
        for pods in self.plan.sizes.clone() {
            self.size(pods)?;
        }
        if self.plan.has(Section::Churn) {
            let churn = churn::run(&self.programs, &self.scratch, &self.plan);
            self.results.churn = self.outcome("churn", churn)?.unwrap_or_default();
        }
        if self.plan.has(Section::Node) {
            let node = node::run(&self.programs, &self.scratch, &self.plan);
            self.results.node = self.outcome("node", node)?.unwrap_or_default();
        }
        if self.plan.has(Section::Binaries) {
            let binaries = self.programs.all().map(binary_size).collect::<Result<Vec<_>>>();
            self.results.binaries = self.outcome("binaries", binaries)?.unwrap_or_default();
        }
        Ok(())
    }

    /// Everything on a cluster of this size that does not change.
    fn size(&mut self, pods: u32) -> Result<()> {
        let lives = self.plan.has(Section::Start) || self.plan.has(Section::Scrape);
        let usual = pods == self.plan.pods();
        let others = [Section::Prometheus, Section::Shards, Section::Relist];
        let others = usual && others.iter().any(|section| self.plan.has(*section));
        if !(lives || others) {
            return Ok(());
        }
        let server = if self.plan.real {
            let folder = self.scratch.folder(&format!("cluster-{pods}"))?;
            Server::real(&self.programs, &folder, pods)
        } else {
            let sample = Sample { pods, nodes: None, churn: 0.0 };
            Server::simulated(&self.programs, self.scratch.path(), sample)
        };
        let Some(server) = self.outcome(&format!("an API server with {pods} pods"), server)? else { return Ok(()) };
        if lives {
            let (rounds, scrapes) = (self.plan.rounds(pods), self.plan.has(Section::Scrape));
            let wanted = Wanted { resources: "pods", pods_only: true, rounds, scrapes };
            self.lives(&server, wanted)?;
            if usual {
                let everything = all_resources();
                self.lives(&server, Wanted { resources: &everything, pods_only: false, rounds: 1, scrapes })?;
            }
        }
        if usual && self.plan.has(Section::Shards) {
            let shards = shards::run(&self.programs, &server);
            self.results.shards = self.outcome("shards", shards)?;
        }
        if usual && self.plan.has(Section::Prometheus) {
            let scraped = scraped::run(&self.programs, &self.scratch, &server, &self.plan);
            self.results.prometheus = self.outcome("prometheus", scraped)?.unwrap_or_default();
        }
        if usual && self.plan.has(Section::Relist) {
            let relist = relist::run(&self.programs, &server);
            self.results.relist = self.outcome("relist", relist)?;
        }
        Ok(())
    }

    fn lives(&mut self, server: &Server, wanted: Wanted<'_>) -> Result<()> {
        let lives = sizes::run(&self.programs, server, wanted);
        let measured = self.outcome(&format!("start and scrape of {} pods", server.pods()), lives)?;
        self.results.sizes.extend(measured);
        Ok(())
    }

    /// Notes a failure and goes on; only the user's wish to stop ends the run.
    fn outcome<T>(&mut self, what: &str, outcome: Result<T>) -> Result<Option<T>> {
        interrupt::check()?;
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                eprintln!("error: {what}: {error:#}");
                self.failures.push(what.to_owned());
                Ok(None)
            }
        }
    }
}

fn binary_size((name, path): (&str, &Path)) -> Result<Binary> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let packed = packed.write_all(&content).and_then(|()| packed.finish()).context("cannot pack in memory")?;
    Ok(Binary { name: name.to_owned(), bytes: content.len() as u64, packed: packed.len() as u64 })
}

/// Every resource that is served unless it is turned off, as the value of `--resources`.
fn all_resources() -> String {
    let descriptors = resources::all().iter().map(|resource| resource.descriptor());
    let plurals: Vec<&str> = descriptors.filter(|it| it.enabled_by_default).map(|it| it.plural).collect();
    plurals.join(",")
}

/// Where files go: where the user says; a whole run belongs into the documentation.
fn output_folder(arguments: &BenchArgs) -> Option<PathBuf> {
    let whole = arguments.only.is_empty() && arguments.sizes.is_empty() && !arguments.quick && !arguments.real;
    arguments.out.clone().or_else(|| whole.then(|| cargo::workspace_root().join("docs")))
}

/// What an earlier run has left in the folder.
///
/// # Errors
/// There is none, or it is of another machine or reference, so that figures would not belong together.
fn earlier(results: &Results, folder: &Path) -> Result<Results> {
    let path = folder.join("benchmarks.json");
    let text = fs::read_to_string(&path).with_context(|| format!("--add: cannot read {}", path.display()))?;
    let earlier: Results = serde_json::from_str(&text).with_context(|| format!("--add: {}", path.display()))?;
    let of = |it: &Machine| (it.processor.clone(), it.cores, it.reference.clone(), it.server.clone());
    let (before, now) = (of(&earlier.machine), of(&results.machine));
    ensure!(
        before == now,
        "--add: {} is of {before:?}, and this run would be of {now:?}: run everything anew",
        path.display()
    );
    Ok(earlier)
}

fn write(results: &Results, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let page = folder.join("benchmarks.md");
    let previous = fs::read_to_string(&page).unwrap_or_default();
    let json = figures::rounded(serde_json::to_value(results).context("results are JSON")?);
    let json = format!("{json:#}\n");
    let mut files = vec![(page, report::markdown(results, COMMAND, &previous)), (folder.join("benchmarks.json"), json)];
    files.extend(chart::svg(results).map(|chart| (folder.join("benchmarks.svg"), chart)));
    for (path, text) in files {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_resources_have_pods_among_them() {
        assert!(all_resources().split(',').any(|plural| plural == "pods"), "{}", all_resources());
    }
}

//! `cargo xtask conformance`: ours and the reference on the same generated objects, every family and sample compared.
//!
//! Invariant: whatever differs is either on the list of [differences on purpose](reasons) or fails the run, with the
//! object that caused it. One set of exporters sees all seeds, some at a time: the first as a list, the others as events.

mod judge;
mod objects;
mod quantity;
mod reasons;
mod schedule;
mod sides;

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use self::judge::Judge;
use self::objects::Objects;
use self::sides::{Pair, Sides};
use crate::cli::ConformanceArgs;
use crate::compare::{View, compare, written_once};
use crate::exposition::{Exposition, Format, parse};
use crate::http::Answer;
use crate::plant::{self, Plant};
use crate::process::Scratch;
use crate::progress::{Progress, elapsed};
use crate::strict;
use crate::table::count;

/// Seeds whose objects are in the cluster at once.
const SEEDS_A_ROUND: u64 = 5;

/// From this many seeds on, a family without a sample or a reason without a use is a fault of the suite.
const ENOUGH_SEEDS: u64 = 20;

/// Runs the command.
pub fn run(arguments: &ConformanceArgs) -> Result<()> {
    let started = Instant::now();
    let plant = plant::from_environment()?;
    let resources = resources(&arguments.only)?;
    let scratch = Scratch::new("ksm-conformance", arguments.keep)?;
    let mut run =
        Run { plant, scratch, judge: Judge::default(), covered: BTreeMap::new(), figures: Figures::default() };
    let mut sides = Sides::start(arguments, &resources, &run.scratch)?;

    let end = arguments.seed + arguments.seeds;
    let mut first = arguments.seed;
    while first < end {
        let seeds = SEEDS_A_ROUND.min(end - first);
        let last = first + seeds - 1;
        let progress = Progress::start(format!("seeds {first} to {last}"));
        let objects = sides.show(first, seeds, &progress)?;
        let before = run.figures.samples;
        run.round(&sides, &objects, &progress).with_context(|| format!("seeds {first} to {last}"))?;
        progress.done(&format!("{} objects, {} samples", objects.len(), count(run.figures.samples - before)));
        first += seeds;
    }
    sides.stop()?;
    run.verdict(arguments, &resources, started)
}

/// The resources to compare, by plural name: all that we serve, or those asked for.
fn resources(only: &[String]) -> Result<Vec<&'static str>> {
    let all: Vec<&str> = ksm_core::resources::all().iter().map(|resource| resource.descriptor().plural).collect();
    for name in only {
        ensure!(all.contains(&name.as_str()), "--only {name}: want one of {}", all.join(", "));
    }
    Ok(all.into_iter().filter(|name| only.is_empty() || only.iter().any(|wanted| wanted == name)).collect())
}

#[derive(Default)]
struct Figures {
    objects: usize,
    /// Samples of the reference, over both sets of flags and both formats.
    samples: u64,
    parsed: u64,
    planted: usize,
}

/// What adds up over the rounds.
struct Run {
    plant: Option<Plant>,
    scratch: Scratch,
    judge: Judge,
    /// Families of the reference, each with whether it had a sample on both sides.
    covered: BTreeMap<String, bool>,
    figures: Figures,
}

impl Run {
    /// Compares the two sides in both formats and with both sets of flags.
    fn round(&mut self, sides: &Sides, objects: &Objects, progress: &Progress) -> Result<()> {
        self.figures.objects += objects.len();
        for pair in sides.pairs() {
            for format in Format::ALL {
                let what = format!("{format}, {}", pair.flags.name);
                progress.note(&what);
                self.compare(pair, format, &what, objects).with_context(|| what.clone())?;
            }
        }
        Ok(())
    }

    fn compare(&mut self, pair: &Pair, format: Format, what: &str, objects: &Objects) -> Result<()> {
        let (their_answer, answer) = (pair.reference.scrape(format)?, pair.ours.scrape(format)?);
        let theirs = parse(&their_answer.body, format).context("exposition of the reference")?;
        let mut ours = parse(&answer.body, format).context("exposition of ours")?;
        self.figures.parsed += parse_strictly(&answer, &ours, format, &self.scratch)?;
        if let Some(plant) = self.plant {
            plant.apply(&mut ours);
        }
        let (expected, actual) = (View::of([&theirs]), View::of([&ours]));
        self.figures.samples += expected.samples() as u64;
        let mut differences = compare(&expected, &actual).into_differences();
        differences.extend(written_once(&expected, &actual));
        let before = self.judge.unexplained();
        for difference in differences {
            self.judge.judge(what, difference, objects);
        }
        if self.judge.unexplained() > before {
            // For a look at them with `--keep`; the last ones that differ stay.
            for (exporter, answer) in [(&pair.reference, &their_answer), (&pair.ours, &answer)] {
                let file = self.scratch.path().join(format!("{}.{format:?}.txt", exporter.name()));
                fs::write(&file, &answer.body).with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        if pair.flags.everything() && format == Format::Text {
            let here = actual.coverage();
            for (family, is_there) in expected.coverage() {
                let on_both = is_there && here.get(family) == Some(&true);
                *self.covered.entry(family.to_owned()).or_default() |= on_both;
            }
            if self.figures.planted == 0 && self.plant.is_none() {
                self.figures.planted = plant_everywhere(&ours, objects)?;
            }
        }
        Ok(())
    }

    /// Prints the result; an error if there is anything that should not be.
    fn verdict(&self, arguments: &ConformanceArgs, resources: &[&str], started: Instant) -> Result<()> {
        let is_complete = arguments.only.is_empty() && arguments.seeds >= ENOUGH_SEEDS;
        println!("\nDifferences on purpose:");
        for (reason, uses) in self.judge.uses() {
            println!("  {uses:>6}  {}: {}", reason.name, reason.why);
        }
        let mut faults = Vec::new();
        let unused: Vec<&str> =
            self.judge.uses().filter(|(_, uses)| *uses == 0).map(|(reason, _)| reason.name).collect();
        if !unused.is_empty() && is_complete {
            faults.push(format!("{} differences on purpose never came up: {}", unused.len(), unused.join("; ")));
        }
        let bare: Vec<&str> =
            self.covered.iter().filter(|(_, covered)| !**covered).map(|(family, _)| family.as_str()).collect();
        if !bare.is_empty() {
            println!("\nFamilies without a sample on both sides: {}", bare.join(", "));
        }
        if !bare.is_empty() && is_complete {
            faults.push(format!("{} families never had a sample on both sides", bare.len()));
        }
        let unexplained = self.judge.unexplained();
        if unexplained > 0 {
            println!("\n{}", self.judge);
            let hint = "an object's name has its seed: `cargo xtask conformance --seeds 1 --seed S` makes it again";
            faults.push(format!("{unexplained} unexplained differences ({hint})"));
        }
        let figures = &self.figures;
        let summary = format!(
            "{} seeds from {}: {} objects of {} resources, {} families with samples on both sides, {} samples compared, \
             {} read by Prometheus' parsers, {} planted faults found ({})",
            arguments.seeds,
            arguments.seed,
            count(figures.objects as u64),
            resources.len(),
            self.covered.values().filter(|covered| **covered).count(),
            count(figures.samples),
            count(figures.parsed),
            figures.planted,
            elapsed(started.elapsed()),
        );
        println!();
        if faults.is_empty() {
            println!("PASS  conformance: {summary}");
            return Ok(());
        }
        println!("FAIL  conformance: {summary}");
        bail!("{}", faults.join("; "));
    }
}

/// Has promtool and the parsers of Prometheus read our body; returns how many samples they found.
fn parse_strictly(answer: &Answer, ours: &Exposition, format: Format, scratch: &Scratch) -> Result<u64> {
    let found = strict::prometheus(answer, scratch.path()).context("exposition of ours")?;
    let here = ours.samples().count();
    ensure!(found == here, "Prometheus finds {found} samples in ours, we find {here}");
    if format == Format::Text {
        strict::promtool(&answer.body, scratch.path()).context("exposition of ours")?;
    }
    Ok(found as u64)
}

/// Samples of a family that faults are planted in.
const PLANTED_SAMPLES: usize = 20;

/// Plants every fault in every family by itself and checks that none is explained away; returns how many there were.
fn plant_everywhere(ours: &Exposition, objects: &Objects) -> Result<usize> {
    let mut planted = 0;
    for family in ours.families.iter().filter(|family| family.samples.iter().any(|sample| !sample.labels.is_empty())) {
        let mut family = family.clone();
        family.samples.retain(|sample| !sample.labels.is_empty());
        family.samples.truncate(PLANTED_SAMPLES);
        let name = family.name.clone();
        let clean = Exposition { families: vec![family] };
        for fault in Plant::value_variants() {
            let mut broken = clean.clone();
            fault.apply(&mut broken);
            let report = compare(&View::of([&clean]), &View::of([&broken]));
            let mut judge = Judge::default();
            for difference in report.into_differences() {
                judge.judge("planted", difference, objects);
            }
            ensure!(judge.unexplained() > 0, "{name}: a planted fault ({fault:?}) goes unnoticed");
            planted += 1;
        }
    }
    Ok(planted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_resource_is_named_with_the_known_ones() {
        let error = resources(&["pod".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("--only pod: want one of ") && error.contains("pods"), "{error}");
        assert_eq!(resources(&["pods".to_owned()]).unwrap(), ["pods"]);
        assert_eq!(resources(&[]).unwrap().len(), ksm_core::resources::all().len());
    }
}

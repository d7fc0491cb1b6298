//! Start and scrapes, by size of the cluster: each side lives once a round, on the same API server.
//!
//! Invariant: what a scrape is said to hold was counted and compared, plain with packed, outside of the timing.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::bodies::{self, Counts};
use super::figures::{Pair, medians};
use super::format;
use super::results::{Life, Scrapes, SizeResult};
use super::server::Server;
use super::subject::{Programs, Side, Subject, flags, settle};
use crate::progress::Progress;

/// From this size on, the reference takes long for everything.
pub const BIG: u32 = 50_000;

/// From this size on, fewer scrapes have to do.
const HUGE: u32 = 100_000;

/// What is done in a life.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The value of `--resources`.
    pub resources: &'a str,
    /// Whether that is pods and nothing else.
    pub pods_only: bool,
    /// How often each side lives.
    pub rounds: usize,
    /// Whether it is scraped.
    pub scrapes: bool,
}

/// Measures all rounds of one size.
pub fn run(programs: &Programs, server: &Server, wanted: Wanted<'_>) -> Result<SizeResult> {
    let pods = server.pods();
    let mut rounds = Vec::new();
    for round in 0..wanted.rounds {
        let lives = Pair::measure(Side::first_in(round), |side| {
            let what = if wanted.pods_only { "" } else { ", all resources" };
            let label = side.label();
            let progress =
                Progress::start(format!("{pods} pods{what}, round {} of {}: {label}", round + 1, wanted.rounds));
            let life = live(programs, server, side, wanted, &progress).with_context(|| progress_context(pods, side))?;
            progress.done(&summary(&life));
            Ok(life)
        })?;
        rounds.push(lives);
    }
    Ok(SizeResult { pods, pods_only: wanted.pods_only, rounds: wanted.rounds, lives: medians(&rounds)? })
}

fn progress_context(pods: u32, side: Side) -> String {
    format!("{} on {pods} pods", side.label())
}

fn summary(life: &Life) -> String {
    let mut text = format!(
        "ready after {}, {} resident",
        format::seconds(life.ready_seconds),
        format::mebibytes(life.steady().resident)
    );
    if let Some(scrapes) = &life.scrapes {
        let (plain, gzip) = (format::seconds(scrapes.plain.whole), format::seconds(scrapes.gzip.whole));
        text += &format!(", scrape {plain} plain, {gzip} gzip");
    }
    text
}

fn live(programs: &Programs, server: &Server, side: Side, wanted: Wanted<'_>, progress: &Progress) -> Result<Life> {
    let pods = server.pods();
    server.reset_reads()?;
    let server_cpu = server.cpu_seconds()?;
    let mut subject = programs.start(side, "ksm-shard", server.kubeconfig(), &flags(wanted.resources, true))?;
    progress.note("first list");
    subject.wait_complete()?;
    let server_cpu = server.cpu_seconds()? - server_cpu;
    progress.note("at rest");
    settle(Duration::from_secs(if pods >= BIG { 10 } else { 5 }))?;
    let settled = subject.memory()?;
    let read_bytes = server.read_bytes()?;
    let ready = subject.ready()?;
    progress.note("counting");
    let (answer, counts) = bodies::count(subject.address(), false)?;
    ensure!(side == Side::Reference || answer.has_length, "the answer has no Content-Length");
    ensure!(counts.pods == u64::from(pods), "there are {} pods in the data, want {pods}", counts.pods);
    let containers = ready.containers;
    ensure!(
        counts.containers == containers,
        "data was taken for complete with {containers} containers, now there are {}",
        counts.containers
    );
    let scrapes = match wanted.scrapes {
        true => Some(scrape(&mut subject, side, pods, counts, progress)?),
        false => None,
    };
    subject.end()?;
    Ok(Life {
        ready_seconds: ready.seconds,
        ready_cpu_seconds: ready.cpu_seconds,
        server_cpu_seconds: server_cpu,
        read_bytes,
        settled,
        scrapes,
    })
}

fn scrape(subject: &mut Subject, side: Side, pods: u32, counts: Counts, progress: &Progress) -> Result<Scrapes> {
    // Half a minute for each body of the reference: at the sizes below it has shown that its gzip is sound.
    if side == Side::Ours || pods < BIG {
        progress.note("comparing packed and plain");
        let (_, packed) = bodies::count(subject.address(), true)?;
        ensure!(packed == counts, "a gzip body holds {packed:?}, a plain one {counts:?}");
    }
    let least = if pods >= HUGE { 3 } else { 5 };
    progress.note("plain scrapes");
    let plain = subject.scrape_repeatedly(false, least)?;
    ensure!(plain.bytes == counts.bytes, "scrapes have {} bytes, the one before {}", plain.bytes, counts.bytes);
    progress.note("packed scrapes");
    let gzip = subject.scrape_repeatedly(true, least)?;
    subject.ensure_running()?;
    Ok(Scrapes { samples: counts.samples, plain, gzip, memory: subject.memory()? })
}

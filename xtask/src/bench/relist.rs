//! Watches that end with a 410, so that everything is listed anew: cost, memory, and whether scrapes lack anything.
//!
//! Invariant: relists that are measured have no scrapes beside them, and those that are scraped are not measured.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::bodies;
use super::figures::{Pair, median};
use super::format;
use super::results::{RelistResult, Relists};
use super::server::Server;
use super::subject::{Programs, Side, Subject, flags, settle};
use crate::progress::Progress;
use crate::wait;

/// How many relists there are, at rest and then with scrapes: enough of ours to see memory grow if it does, few of the
/// reference, whose pauses before each grow.
const OURS: (usize, usize) = (30, 2);
const REFERENCE: (usize, usize) = (3, 1);

/// The longest pause before a list, and the list itself.
const LIMIT: Duration = Duration::from_secs(120);

/// A program that reads nothing and computes next to nothing for so long is at rest.
const REST: Duration = Duration::from_millis(500);
const IDLE_CPU: f64 = 0.02;

/// Measures both sides.
pub fn run(programs: &Programs, server: &Server) -> Result<RelistResult> {
    let pods = server.pods();
    let sides = Pair::measure(Side::Reference, |side| {
        let label = side.label();
        let progress = Progress::start(format!("relists on {pods} pods: {label}"));
        let relists = measure(programs, server, side, &progress).with_context(|| format!("relists of {label}"))?;
        progress.done(&format!(
            "{} CPU each, peak {}, {} of {} scrapes incomplete",
            format::seconds(relists.cpu_seconds),
            format::mebibytes(relists.peak),
            relists.incomplete,
            relists.scrapes
        ));
        Ok(relists)
    })?;
    Ok(RelistResult { pods, sides })
}

fn measure(programs: &Programs, server: &Server, side: Side, progress: &Progress) -> Result<Relists> {
    server.reset_reads()?;
    let mut subject = programs.start(side, "ksm-shard", server.kubeconfig(), &flags("pods", true))?;
    subject.wait_complete()?;
    settle(Duration::from_secs(3))?;
    let complete = bodies::count(subject.address(), false)?.1.samples;
    subject.scrape(true)?;
    settle(Duration::from_secs(1))?;
    subject.reset_peak()?;
    let mut relists = Relists { before: subject.memory()?, ..Relists::default() };

    let (count, scraped) = if side == Side::Ours { OURS } else { REFERENCE };
    let (mut seconds, mut cpu, mut server_cpu) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..count {
        progress.note(&format!("{} of {count}", index + 1));
        let used = (subject.cpu_seconds()?, server.cpu_seconds()?);
        seconds.push(relist(&mut subject, server)?);
        cpu.push(subject.cpu_seconds()? - used.0);
        server_cpu.push(server.cpu_seconds()? - used.1);
        relists.resident.push(subject.memory()?.resident);
        // A watch that ends as soon as it began makes clients pause.
        settle(Duration::from_millis(700))?;
    }
    relists.peak = subject.memory()?.peak;
    (relists.seconds, relists.cpu_seconds) = (median(&seconds), median(&cpu));
    relists.server_cpu_seconds = median(&server_cpu);

    for _ in 0..scraped {
        progress.note("with scrapes");
        for samples in scrape_through(&mut subject, server)? {
            relists.scrapes += 1;
            relists.incomplete += u64::from(samples < complete);
            relists.lacked = relists.lacked.max(1.0 - samples as f64 / complete.max(1) as f64);
        }
    }
    subject.end()?;
    Ok(relists)
}

/// Ends the watch and waits until the list was read and the program rests; seconds without the rest.
fn relist(subject: &mut Subject, server: &Server) -> Result<f64> {
    let (lists, begun) = (server.lists()?, Instant::now());
    server.expire()?;
    wait::until("a new list", LIMIT, || Ok((server.lists()? > lists).then_some(())))?;
    let state = || Ok::<_, anyhow::Error>((Instant::now(), subject.cpu_seconds()?, server.read_bytes()?));
    let mut seen = VecDeque::from([state()?]);
    let rested = wait::until("rest after a new list", LIMIT, || {
        let (now, cpu, bytes) = state()?;
        while seen.get(1).is_some_and(|(at, ..)| now.duration_since(*at) >= REST) {
            seen.pop_front();
        }
        let (at, cpu_then, bytes_then) = seen[0];
        seen.push_back((now, cpu, bytes));
        let rests = now.duration_since(at) >= REST && bytes == bytes_then && cpu - cpu_then <= IDLE_CPU;
        Ok(rests.then_some(at))
    })?;
    subject.ensure_running()?;
    Ok(rested.duration_since(begun).as_secs_f64())
}

/// Ends the watch and scrapes until some time after the list was asked for: samples of each scrape.
fn scrape_through(subject: &mut Subject, server: &Server) -> Result<Vec<u64>> {
    const AFTER: Duration = Duration::from_secs(3);
    let (lists, begun) = (server.lists()?, Instant::now());
    server.expire()?;
    let mut samples = Vec::new();
    let mut listed = None;
    while listed.is_none_or(|at: Instant| at.elapsed() < AFTER) {
        ensure!(begun.elapsed() < LIMIT, "no new list within {} s", LIMIT.as_secs());
        samples.push(bodies::count(subject.address(), false)?.1.samples);
        if listed.is_none() && server.lists()? > lists {
            listed = Some(Instant::now());
        }
    }
    // The next relist is to find a watch that has lasted a while.
    settle(Duration::from_secs(2))?;
    subject.ensure_running()?;
    Ok(samples)
}

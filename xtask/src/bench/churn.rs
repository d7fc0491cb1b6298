//! A cluster that changes: what each change costs, and how scrapes fare meanwhile.
//!
//! Invariant: changes go on at the same rate through the whole section, for both sides alike.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::bodies;
use super::figures::{Latency, Pair};
use super::format;
use super::plan::Plan;
use super::results::{Churn, ChurnResult};
use super::server::{Sample, Server};
use super::subject::{Programs, Side, Subject, flags, settle};
use crate::process::Scratch;
use crate::progress::Progress;
use crate::{interrupt, wait};

/// Changes of pods a second.
const RATES: [u32; 3] = [10, 200, 1000];

/// The part of the simulated cluster's changes that are changes of pods: of ten, eight are steps of replacements (seven
/// of eleven of these change a pod), one restarts a container, one renews a lease.
const PODS_PART: f64 = 0.1 + 0.8 * 7.0 / 11.0;

/// How often the age of data is measured.
const AGES: u32 = 12;

/// A change that does not show for so long is lost.
const AGE_LIMIT: Duration = Duration::from_secs(30);

/// Changes that arrived, as ours counts them.
const EVENTS: &str = "kube_state_metrics_sharded_events_total";

/// Measures all rates.
pub fn run(programs: &Programs, scratch: &Scratch, plan: &Plan) -> Result<Vec<ChurnResult>> {
    let mut results = Vec::new();
    for (index, rate) in RATES.into_iter().enumerate() {
        let pods = plan.pods();
        let sample = Sample { pods, nodes: None, churn: f64::from(rate) / PODS_PART };
        let server = Server::simulated(programs, scratch.path(), sample)?;
        server.create_marker()?;
        let sides = Pair::measure(Side::first_in(index), |side| {
            let label = side.label();
            let progress = Progress::start(format!("{rate} changes a second on {pods} pods: {label}"));
            let churn = measure(programs, &server, plan, side, &progress)
                .with_context(|| format!("{label} at {rate} changes a second"))?;
            progress.done(&format!(
                "{} CPU a minute, slowest scrape {}, {} resident",
                format::seconds(churn.cpu_seconds_per_minute),
                format::seconds(churn.slow.max.max(churn.fast.max)),
                format::mebibytes(churn.memory.resident)
            ));
            Ok(churn)
        })?;
        results.push(ChurnResult { pods, rate, sides });
    }
    Ok(results)
}

fn measure(programs: &Programs, server: &Server, plan: &Plan, side: Side, progress: &Progress) -> Result<Churn> {
    let mut subject = programs.start(side, "ksm-shard", server.kubeconfig(), &flags("pods", true))?;
    progress.note("first list");
    // Each pod has at least one container, but a few have not started theirs.
    subject.wait_for_containers(u64::from(server.pods()) * 95 / 100)?;
    settle(Duration::from_secs(3))?;
    subject.scrape(true)?;

    progress.note("slow scrapes");
    let interval = plan.interval();
    // Who prepares for scrapes has to learn when they come, on either side of what is measured.
    scrape_every(&subject, interval, 2 * interval)?;
    let begun = Used::now(&subject, server, side)?;
    let slow = scrape_every(&subject, interval, plan.span())?;
    let used = Used::now(&subject, server, side)?.since(&begun);
    progress.note("fast scrapes");
    let fast = scrape_every(&subject, Duration::from_secs(1), plan.span() / 2)?;
    let memory = subject.memory()?;
    progress.note("age of data");
    let mut age_seconds = 0.0_f64;
    for trial in 0..AGES {
        // Not in step with anything that happens once a second.
        settle(Duration::from_millis(300 + 370 * u64::from(trial % 4)))?;
        age_seconds = age_seconds.max(age(&subject, server, &format!("{}-{trial}", side.label()))?);
    }
    subject.ensure_running()?;
    subject.end()?;
    let minutes = used.seconds / 60.0;
    Ok(Churn {
        interval_seconds: interval.as_secs_f64(),
        events_per_second: (side == Side::Ours).then_some(used.events / used.seconds),
        cpu_seconds_per_minute: used.cpu / minutes,
        server_cpu_seconds_per_minute: used.server_cpu / minutes,
        slow: Latency::of(&slow),
        fast: Latency::of(&fast),
        memory,
        age_seconds,
    })
}

/// What was used up to a moment.
struct Used {
    at: Instant,
    seconds: f64,
    cpu: f64,
    server_cpu: f64,
    events: f64,
}

impl Used {
    fn now(subject: &Subject, server: &Server, side: Side) -> Result<Self> {
        let events = match side {
            Side::Ours => subject.self_metric(EVENTS)?,
            Side::Reference => 0.0,
        };
        let (cpu, server_cpu) = (subject.cpu_seconds()?, server.cpu_seconds()?);
        Ok(Self { at: Instant::now(), seconds: 0.0, cpu, server_cpu, events })
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            at: self.at,
            seconds: self.at.duration_since(before.at).as_secs_f64(),
            cpu: self.cpu - before.cpu,
            server_cpu: self.server_cpu - before.server_cpu,
            events: self.events - before.events,
        }
    }
}

/// Scrapes on a beat for `span`, the last time at its end; how many seconds each took.
fn scrape_every(subject: &Subject, interval: Duration, span: Duration) -> Result<Vec<f64>> {
    let start = Instant::now();
    let mut seconds = Vec::new();
    let mut next = start + interval;
    while next <= start + span {
        wait::until_moment(next)?;
        let answer = subject.scrape(true)?;
        ensure!(answer.gzip, "the body is not packed");
        seconds.push(answer.whole.as_secs_f64());
        // A beat that was missed is left out, as Prometheus does.
        while next <= Instant::now() {
            next += interval;
        }
    }
    Ok(seconds)
}

/// Changes the marker pod and scrapes until that shows: how many seconds lay between the change and the last scrape that
/// did not show it.
fn age(subject: &Subject, server: &Server, text: &str) -> Result<f64> {
    server.mark(text)?;
    let changed = Instant::now();
    let mut age = Duration::ZERO;
    loop {
        interrupt::check()?;
        let begun = Instant::now();
        if bodies::shows(subject.address(), &format!("\"{text}\""))? {
            return Ok(age.as_secs_f64());
        }
        age = begun.duration_since(changed);
        ensure!(changed.elapsed() < AGE_LIMIT, "a change does not show after {} s", AGE_LIMIT.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

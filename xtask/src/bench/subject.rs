//! The program under measurement: ours or the reference, started the same way, one at a time.
//!
//! Invariant: both sides get the same kubeconfig and the same flags, and are asked the same questions.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::bodies::{self, PATH};
use super::client::Connection;
use super::figures::median;
use super::usage::{self, Memory};
use crate::cargo::{SHIPPED, TESTBED};
use crate::exporter::Exporter;
use crate::http::Client;
use crate::process::Process;
use crate::{cargo, interrupt, ports, tools, wait};

/// Time for the first list of the largest cluster on a busy machine.
const READY_LIMIT: Duration = Duration::from_secs(300);

/// Data that does not grow for this long is complete.
const STABLE: Duration = Duration::from_secs(1);

/// Time between two questions for data: between these, and in proportion to what one takes.
const POLL: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
const POLL_SHARE: u32 = 10;

/// Binaries of ours that sections start; the others only have a size.
const NEEDED: [&str; 3] = ["ksm-shard", "ksm-node", TESTBED];

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Our binary.
    Ours,
    /// kube-state-metrics.
    Reference,
}

impl Side {
    /// The one that is not this.
    pub fn other(self) -> Self {
        match self {
            Self::Ours => Self::Reference,
            Self::Reference => Self::Ours,
        }
    }

    /// Who begins in a round, counted from 0: each side in turn.
    pub fn first_in(round: usize) -> Self {
        if round.is_multiple_of(2) { Self::Ours } else { Self::Reference }
    }

    /// In progress messages.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Reference => "reference",
        }
    }
}

/// Paths of everything that is started.
pub struct Programs {
    binaries: BTreeMap<String, PathBuf>,
    reference: PathBuf,
    logs: PathBuf,
}

impl Programs {
    /// Builds what is not given: ours with optimisations, the reference from its pinned source.
    pub fn find(given: Option<&Path>, logs: PathBuf) -> Result<Self> {
        let binaries = match given {
            Some(folder) => ready_made(folder)?,
            None => cargo::build(&[&SHIPPED[..], &[TESTBED]].concat(), true)?,
        };
        Ok(Self { binaries, reference: tools::ensure(&tools::REFERENCE)?, logs })
    }

    /// One of our binaries.
    pub fn ours(&self, name: &str) -> Result<&Path> {
        self.binaries.get(name).map(PathBuf::as_path).with_context(|| format!("there is no binary {name}"))
    }

    /// All binaries with a name and the reference, those that are there.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Path)> {
        let ours = SHIPPED.into_iter().filter_map(|name| Some((name, self.binaries.get(name)?.as_path())));
        ours.chain([(tools::REFERENCE.name, self.reference.as_path())])
    }

    /// Where logs go.
    pub fn logs(&self) -> &Path {
        &self.logs
    }

    /// Starts one side; of ours, `binary`.
    pub fn start(&self, side: Side, binary: &str, kubeconfig: &Path, flags: &[String]) -> Result<Subject> {
        let program = match side {
            Side::Ours => self.ours(binary)?,
            Side::Reference => &self.reference,
        };
        let (port, telemetry_port) = (ports::free()?, ports::free()?);
        let mut command = Command::new(program);
        // The reference computes schedules without a zone in its own; containers run in UTC.
        command.env("TZ", "UTC").arg("--kubeconfig").arg(kubeconfig);
        command.args(["--host=127.0.0.1", "--telemetry-host=127.0.0.1"]);
        command.arg(format!("--port={port}")).arg(format!("--telemetry-port={telemetry_port}")).args(flags);
        let started = Instant::now();
        let process = Process::start(side.label(), command, &self.logs)?;
        let client = |port: u16| Client::plain(format!("http://127.0.0.1:{port}"));
        let exporter = Exporter { process, metrics: client(port), telemetry: client(telemetry_port) };
        Ok(Subject { exporter, address: SocketAddr::from(([127, 0, 0, 1], port)), started, polls: Vec::new() })
    }
}

/// Binaries that the user brings.
fn ready_made(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    for name in NEEDED {
        ensure!(folder.join(name).is_file(), "--binaries {}: there is no {name} in it", folder.display());
    }
    let names = SHIPPED.into_iter().chain([TESTBED]);
    let paths = names.map(|name| (name.to_owned(), folder.join(name)));
    Ok(paths.filter(|(_, path)| path.is_file()).collect())
}

/// The flags of most sections.
pub fn flags(resources: &str, gzip: bool) -> Vec<String> {
    vec![format!("--resources={resources}"), format!("--enable-gzip-encoding={gzip}")]
}

/// A running program under measurement.
pub struct Subject {
    exporter: Exporter,
    address: SocketAddr,
    started: Instant,
    polls: Vec<Poll>,
}

/// One look at how much data there is.
#[derive(Clone, Copy)]
struct Poll {
    seconds: f64,
    cpu_seconds: f64,
    containers: u64,
}

/// When data was complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ready {
    /// From the start of the program.
    pub seconds: f64,
    /// CPU time used by then, what looking cost not counted.
    pub cpu_seconds: f64,
    /// Containers in the data.
    pub containers: u64,
}

impl Subject {
    /// Where it serves metrics.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// CPU time so far, in seconds.
    pub fn cpu_seconds(&self) -> Result<f64> {
        usage::cpu_seconds(self.exporter.process.id())
    }

    /// Memory now.
    pub fn memory(&self) -> Result<Memory> {
        usage::memory(self.exporter.process.id())
    }

    /// Makes the peak of memory start anew.
    pub fn reset_peak(&self) -> Result<()> {
        usage::reset_peak(self.exporter.process.id())
    }

    /// An error with its last log lines once it has ended.
    pub fn ensure_running(&mut self) -> Result<()> {
        self.exporter.process.ensure_running()
    }

    /// Waits until there is data and it does not grow any more.
    pub fn wait_complete(&mut self) -> Result<()> {
        self.wait(1, STABLE)
    }

    /// Waits until there is data of at least so many containers, for a cluster that never rests.
    pub fn wait_for_containers(&mut self, at_least: u64) -> Result<()> {
        self.wait(at_least, Duration::ZERO)
    }

    /// The reference has no page that says when its data is complete, so the data itself is looked at, of both sides:
    /// the beginning of the body only, and seldom enough that it costs little beside the work that is measured.
    fn wait(&mut self, at_least: u64, stable: Duration) -> Result<()> {
        let limit = self.started + READY_LIMIT;
        let (mut grown, mut last_error) = (Instant::now(), None);
        loop {
            interrupt::check()?;
            self.ensure_running()?;
            let (seconds, cpu_seconds) = (self.started.elapsed().as_secs_f64(), self.cpu_seconds()?);
            let begun = Instant::now();
            // Nothing listens in the first moments.
            let containers = bodies::containers(self.address).unwrap_or_else(|error| {
                last_error = Some(error);
                0
            });
            let took = begun.elapsed();
            if self.polls.last().is_none_or(|last| last.containers != containers) {
                grown = begun;
            }
            self.polls.push(Poll { seconds, cpu_seconds, containers });
            if containers >= at_least && grown.elapsed() >= stable {
                return Ok(());
            }
            if Instant::now() >= limit {
                let reason = last_error.map_or_else(String::new, |error| format!(" ({error:#})"));
                bail!(
                    "{} has data of {containers} containers after {} s, want {at_least}{reason}; its last lines:\n{}",
                    self.exporter.name(),
                    READY_LIMIT.as_secs(),
                    self.exporter.process.log_tail()
                );
            }
            std::thread::sleep((took * POLL_SHARE).clamp(POLL.0, POLL.1));
        }
    }

    /// When [`Subject::wait_complete`] first saw complete data. To be called at rest: it measures what one look costs.
    pub fn ready(&self) -> Result<Ready> {
        let before = self.cpu_seconds()?;
        const LOOKS: u32 = 3;
        for _ in 0..LOOKS {
            bodies::containers(self.address)?;
        }
        let look = (self.cpu_seconds()? - before) / f64::from(LOOKS);
        ready(&self.polls, look).context("nobody looked at the data yet")
    }

    /// Waits until its own page says that it is ready. Ours only: the reference's page does not know.
    pub fn wait_ready_page(&mut self) -> Result<()> {
        self.exporter.wait_ready(READY_LIMIT)
    }

    /// A self-metric about pods. Ours only.
    pub fn self_metric(&self, name: &str) -> Result<f64> {
        let metrics = self.exporter.self_metrics()?;
        Ok(metrics.select(name, &[("resource", "pods")]).map(|sample| sample.value).sum())
    }

    /// One scrape whose body is thrown away.
    pub fn scrape(&self, gzip: bool) -> Result<super::client::Answer> {
        let mut connection = Connection::open(self.address)?;
        let answer = connection.get(PATH, gzip, &mut |_| std::ops::ControlFlow::Continue(()));
        answer.with_context(|| format!("scrape of {}", self.exporter.name()))
    }

    /// Scrapes again and again: at least `least` times, and on for a second.
    pub fn scrape_repeatedly(&self, gzip: bool, least: usize) -> Result<ScrapeCost> {
        const MOST: usize = 200;
        let mut connection = Connection::open(self.address)?;
        let mut answers = Vec::new();
        let (started, cpu) = (Instant::now(), self.cpu_seconds()?);
        while answers.len() < least || (answers.len() < MOST && started.elapsed() < STABLE) {
            let answer = connection.get(PATH, gzip, &mut |_| std::ops::ControlFlow::Continue(()));
            let answer = answer.with_context(|| format!("scrape of {}", self.exporter.name()))?;
            ensure!(answer.gzip == gzip, "the body is not encoded as asked for");
            answers.push(answer);
        }
        let cpu = self.cpu_seconds()? - cpu;
        let seconds = |of: fn(&super::client::Answer) -> Duration| {
            median(&answers.iter().map(|answer| of(answer).as_secs_f64()).collect::<Vec<_>>())
        };
        let last = answers.last().context("there was no scrape")?;
        Ok(ScrapeCost {
            scrapes: answers.len() as u64,
            first_byte: seconds(|answer| answer.first_byte),
            whole: seconds(|answer| answer.whole),
            cpu_seconds: cpu / answers.len() as f64,
            bytes: last.bytes,
            has_length: last.has_length,
        })
    }

    /// Ends it at once: it has nothing to save, and the next program is waiting for the machine.
    pub fn end(self) -> Result<()> {
        self.exporter.process.kill()
    }
}

/// The first look at data that was complete later too, `look` being what looking at all of it costs.
fn ready(polls: &[Poll], look: f64) -> Option<Ready> {
    let complete = polls.last()?.containers;
    let incomplete = polls.iter().rposition(|poll| poll.containers != complete).map_or(0, |at| at + 1);
    let first = polls.get(incomplete)?;
    let looks: f64 = polls[..incomplete].iter().map(|poll| poll.containers as f64 / complete.max(1) as f64).sum();
    let cpu_seconds = (first.cpu_seconds - looks * look).max(0.0);
    Some(Ready { seconds: first.seconds, cpu_seconds, containers: complete })
}

/// What scrapes of one encoding cost: medians, and CPU as the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScrapeCost {
    /// How many there were.
    pub scrapes: u64,
    /// Seconds to the first byte.
    pub first_byte: f64,
    /// Seconds to the last byte.
    pub whole: f64,
    /// CPU seconds of the program for one.
    pub cpu_seconds: f64,
    /// Bytes of the body, as sent.
    pub bytes: u64,
    /// Whether the length was announced.
    pub has_length: bool,
}

/// Waits while nothing is asked of a program.
pub fn settle(duration: Duration) -> Result<()> {
    wait::until_moment(Instant::now() + duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_the_first_complete_look_without_what_looking_cost() {
        let poll = |seconds, cpu_seconds, containers| Poll { seconds, cpu_seconds, containers };
        let polls =
            [poll(0.1, 0.1, 0), poll(1.0, 1.0, 50), poll(2.0, 2.0, 100), poll(3.0, 3.0, 200), poll(4.0, 3.5, 200)];
        assert_eq!(ready(&polls, 0.4), Some(Ready { seconds: 3.0, cpu_seconds: 2.7, containers: 200 }));
        let shrunk = [poll(1.0, 1.0, 200), poll(2.0, 2.0, 100), poll(3.0, 3.0, 200)];
        assert_eq!(ready(&shrunk, 0.0).map(|ready| ready.seconds), Some(3.0));
        assert_eq!(ready(&polls[3..], 9.0), Some(Ready { seconds: 3.0, cpu_seconds: 3.0, containers: 200 }));
        assert_eq!(ready(&[], 0.0), None);
    }

    #[test]
    fn sides_take_turns() {
        assert_eq!([0, 1, 2].map(Side::first_in), [Side::Ours, Side::Reference, Side::Ours]);
    }
}

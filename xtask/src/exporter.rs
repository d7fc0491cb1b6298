//! One of the four binaries, started on free loopback ports.
//!
//! Invariant: an exporter prints `listening metrics=URL telemetry=URL` once both ports accept connections, and answers
//! `/readyz` on the telemetry port with 200 only after every initial list.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::exposition::{self, Exposition, Format};
use crate::http::{Answer, Client};
use crate::ports;
use crate::process::Process;

/// Time for an exporter to list the whole cluster.
pub const READY_LIMIT: Duration = Duration::from_secs(120);

/// Time until both ports listen; the API server is not asked for this.
const LISTEN_LIMIT: Duration = Duration::from_secs(60);

/// A running exporter, ours or the reference.
pub struct Exporter {
    /// The child process.
    pub process: Process,
    /// The port with the metrics of the cluster.
    pub metrics: Client,
    /// The port with the metrics of the exporter itself.
    pub telemetry: Client,
}

impl Exporter {
    /// Starts one of our binaries with `arguments` and reads its addresses.
    pub fn start(name: &str, binary: &Path, arguments: &[String], logs: &Path) -> Result<Self> {
        Self::start_by(name, Command::new(binary), arguments, logs, |address| Ok(Client::plain(address)))
    }

    /// The same by a command that takes the arguments of the binary, with clients for its addresses as they are to be.
    pub fn start_by(
        name: &str,
        mut command: Command,
        arguments: &[String],
        logs: &Path,
        client: impl Fn(&str) -> Result<Client>,
    ) -> Result<Self> {
        command.args(["--host", "127.0.0.1", "--port", "0", "--telemetry-host", "127.0.0.1", "--telemetry-port", "0"]);
        command.args(arguments);
        Self::attach(name, command, logs, client)
    }

    /// The same of a command that is complete, such as one that runs a container.
    pub fn attach(name: &str, command: Command, logs: &Path, client: impl Fn(&str) -> Result<Client>) -> Result<Self> {
        let mut process = Process::start(name, command, logs)?;
        let line = process.wait_for_line("listening ", LISTEN_LIMIT)?;
        let (metrics, telemetry) = addresses(&line)
            .with_context(|| format!("{name} printed `listening {line}`: want `metrics=URL telemetry=URL`"))?;
        Ok(Self { process, metrics: client(metrics)?, telemetry: client(telemetry)? })
    }

    /// Starts the reference on free ports and waits until it serves something.
    pub fn start_reference(
        name: &str,
        binary: &Path,
        kubeconfig: &Path,
        arguments: &[String],
        logs: &Path,
    ) -> Result<Self> {
        let (port, telemetry_port) = (ports::free()?, ports::free()?);
        let mut command = Command::new(binary);
        // It computes schedules without a zone in its own; containers run in UTC.
        command.env("TZ", "UTC").arg("--kubeconfig").arg(kubeconfig);
        command.args(["--host=127.0.0.1", "--telemetry-host=127.0.0.1"]);
        command.arg(format!("--port={port}")).arg(format!("--telemetry-port={telemetry_port}")).args(arguments);
        let process = Process::start(name, command, logs)?;
        let client = |port: u16| Client::plain(format!("http://127.0.0.1:{port}"));
        let mut exporter = Self { process, metrics: client(port), telemetry: client(telemetry_port) };
        let metrics = exporter.metrics.clone();
        exporter.process.wait_for("serves its first objects", READY_LIMIT, || {
            Ok(metrics.get("/metrics", None).ok().filter(|answer| !answer.body.is_empty()).map(|_| ()))
        })?;
        Ok(exporter)
    }

    /// Its name in reports.
    pub fn name(&self) -> &str {
        self.process.name()
    }

    /// Waits for `/readyz` to answer 200.
    pub fn wait_ready(&mut self, limit: Duration) -> Result<()> {
        let telemetry = self.telemetry.clone();
        self.process.wait_for("gets ready (/readyz answers 200)", limit, || {
            Ok(telemetry.get("/readyz", None).ok().filter(|answer| answer.status == 200).map(|_| ()))
        })
    }

    /// One scrape of the main port, as text; anything but 200 is an error.
    pub fn scrape(&self, format: Format) -> Result<Answer> {
        fetch(&self.metrics, "", format).with_context(|| format!("scrape of {}", self.name()))
    }

    /// One scrape of the main port, strictly parsed.
    pub fn exposition(&self, format: Format) -> Result<Exposition> {
        self.exposition_of("", format)
    }

    /// The same with a query: nothing, or `?` and parameters.
    pub fn exposition_of(&self, query: &str, format: Format) -> Result<Exposition> {
        let answer = fetch(&self.metrics, query, format).with_context(|| format!("scrape of {}", self.name()))?;
        exposition::parse(&answer.body, format).with_context(|| format!("exposition of {}", self.name()))
    }

    /// The exporter's own metrics.
    pub fn self_metrics(&self) -> Result<Exposition> {
        let answer = fetch(&self.telemetry, "", Format::Text)?;
        // Some libraries only speak OpenMetrics, whatever was asked for.
        let format = Format::of_content_type(&answer.content_type);
        exposition::parse(&answer.body, format).with_context(|| format!("self-metrics of {}", self.name()))
    }
}

fn fetch(client: &Client, query: &str, format: Format) -> Result<Answer> {
    let answer = client.get(&format!("/metrics{query}"), Some(format.accept()))?;
    if answer.status != 200 {
        bail!("{}/metrics{query} answered {}", client.base(), answer.status);
    }
    Ok(answer)
}

/// The two addresses in `metrics=URL telemetry=URL`.
fn addresses(line: &str) -> Option<(&str, &str)> {
    let field = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    Some((field("metrics")?.trim_end_matches('/'), field("telemetry")?.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_by_name() {
        let line = "metrics=http://127.0.0.1:1 telemetry=http://127.0.0.1:2/";
        assert_eq!(addresses(line), Some(("http://127.0.0.1:1", "http://127.0.0.1:2")));
        assert_eq!(addresses("metrics=http://127.0.0.1:1"), None);
    }
}

//! Bad input: each mistake gives one clear line and the exit code that a user expects.
//!
//! Invariant: no mistake ends in a panic, a backtrace or silence. Exit code 2 is for the command line, 1 for whatever
//! keeps a program from starting; a server that is away or forbids a resource keeps the program running.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::SHIPPED;
use crate::cluster::LIMITED_TOKEN;
use crate::e2e::world::World;
use crate::exposition::Format;
use crate::process::Process;
use crate::{kubeconfig, ports, wait};

/// Time for a program to give up on input that cannot be right.
const EXIT_LIMIT: Duration = Duration::from_secs(60);

/// Time for a program to notice what the API server says.
const NOTICE_LIMIT: Duration = Duration::from_secs(90);

/// How long a program without a server must keep trying.
const PATIENCE: Duration = Duration::from_secs(3);

/// A command line that must fail.
struct Mistake {
    name: &'static str,
    binary: &'static str,
    arguments: Vec<String>,
    code: i32,
    /// Words that the message must have.
    mentions: Vec<String>,
}

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let mistakes = mistakes(world.scratch.path())?;
    for mistake in &mistakes {
        check_mistake(world, mistake).with_context(|| format!("{} ({})", mistake.name, mistake.binary))?;
    }
    unreachable_server(world).context("unreachable server")?;
    let errors = missing_rights(world).context("missing rights")?;
    Ok(format!(
        "{} mistakes refused with one clear message; unreachable server: up, not ready; no right to secrets: the rest is \
         served, {errors} errors counted",
        mistakes.len()
    ))
}

fn mistakes(folder: &Path) -> Result<Vec<Mistake>> {
    let broken = folder.join("broken.kubeconfig");
    fs::write(&broken, "clusters: [\n").context("cannot write a broken kubeconfig")?;
    let absent = folder.join("absent.kubeconfig");
    let path = |path: &Path| path.display().to_string();
    let mistake = |name, binary, arguments: &[&str], code, mentions: &[&str]| Mistake {
        name,
        binary,
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        code,
        mentions: mentions.iter().map(|word| (*word).to_owned()).collect(),
    };
    let mut all: Vec<Mistake> =
        SHIPPED.map(|binary| mistake("unknown flag", binary, &["--no-such-flag"], 2, &["--no-such-flag"])).into();
    all.extend([
        mistake("shard is no number", "ksm-shard", &["--shard=one"], 2, &["one", "--shard"]),
        mistake("shard beyond the total", "ksm-shard", &["--shard=3", "--total-shards=3"], 2, &["3", "shard"]),
        mistake("no shards", "ksm-shard", &["--total-shards=0"], 2, &["0", "--total-shards"]),
        mistake("unknown scheme", "ksm-shard", &["--shard-by=sha1"], 2, &["sha1", "--shard-by"]),
        mistake("unknown resource", "ksm-rest", &["--resources=podz"], 2, &["podz"]),
        mistake("port out of range", "ksm-rest", &["--port=70000"], 2, &["70000", "--port"]),
        mistake("pattern that does not compile", "ksm-rest", &["--metric-opt-in-list=("], 2, &["metric-opt-in-list"]),
        mistake(
            "list without brackets",
            "ksm-rest",
            &["--metric-labels-allowlist=pods"],
            2,
            &["metric-labels-allowlist"],
        ),
        mistake("kubeconfig not there", "ksm-rest", &["--kubeconfig", &path(&absent)], 1, &["absent.kubeconfig"]),
        mistake("kubeconfig is a folder", "ksm-rest", &["--kubeconfig", &path(folder)], 1, &[&path(folder)]),
        mistake("kubeconfig is broken", "ksm-shard", &["--kubeconfig", &path(&broken)], 1, &["broken.kubeconfig"]),
    ]);
    Ok(all)
}

fn check_mistake(world: &World, mistake: &Mistake) -> Result<()> {
    let mut command = Command::new(world.binary(mistake.binary));
    command.args(&mistake.arguments);
    // A configuration found by accident would hide the mistake.
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").env("RUST_BACKTRACE", "1");
    let mut process = Process::start("mistake", command, &world.logs)?;
    let status = process.wait_for_exit(EXIT_LIMIT)?;
    let log = process.log();
    ensure!(
        status.code() == Some(mistake.code),
        "ended with {status}, want exit code {}; it said:\n{log}",
        mistake.code
    );
    check_message(&log, &mistake.mentions)
}

/// One line that says what is wrong; help may follow a usage error, a trace may not.
fn check_message(log: &str, mentions: &[String]) -> Result<()> {
    for word in ["panicked", "stack backtrace", "RUST_BACKTRACE"] {
        ensure!(!log.contains(word), "`{word}` in its message:\n{log}");
    }
    let is_error = |line: &&str| line.to_lowercase().contains("error");
    let lines: Vec<&str> = log.lines().filter(is_error).collect();
    let [line] = lines.as_slice() else { bail!("{} lines with an error, want one; it said:\n{log}", lines.len()) };
    for word in mentions {
        ensure!(line.contains(word.as_str()), "its message does not mention `{word}`: {line}");
    }
    Ok(())
}

fn unreachable_server(world: &World) -> Result<()> {
    let address = format!("http://127.0.0.1:{}", ports::free()?);
    let config = world.scratch.path().join("unreachable.kubeconfig");
    // The authority is never asked: the address is plain HTTP.
    let config = kubeconfig::write_plain(config, &address)?;
    let mut exporter = world.launch_ours(&config, "unreachable", "ksm-rest", &[])?;
    let log_mentions_it =
        |process: &Process| process.log().lines().any(|line| line.contains(&address["http://".len()..]));
    wait::until("the log names the server that cannot be reached", NOTICE_LIMIT, || {
        exporter.process.ensure_running()?;
        Ok(log_mentions_it(&exporter.process).then_some(()))
    })?;
    let started = std::time::Instant::now();
    loop {
        exporter.process.ensure_running()?;
        let answer = exporter.telemetry.get("/readyz", None)?;
        ensure!(answer.status == 503, "/readyz answers {}, want 503", answer.status);
        let alive = exporter.telemetry.get("/livez", None)?;
        ensure!(alive.status == 200, "/livez answers {}, want 200", alive.status);
        if started.elapsed() >= PATIENCE {
            break;
        }
        wait::pause()?;
    }
    let log = exporter.process.log();
    ensure!(!log.contains("panicked"), "it panicked:\n{log}");
    exporter.process.stop()?;
    Ok(())
}

/// Runs `ksm-rest` as a user who may not read Secrets; returns the errors that it counted.
fn missing_rights(world: &World) -> Result<f64> {
    let config = world.api.kubeconfig(LIMITED_TOKEN)?;
    let mut exporter = world.launch_ours(&config, "limited", "ksm-rest", &[])?;
    let served = wait::until("config maps are served although secrets are forbidden", NOTICE_LIMIT, || {
        exporter.process.ensure_running()?;
        let body = exporter.exposition(Format::Text)?;
        let has = |family: &str| body.select(family, &[]).next().is_some();
        Ok(["kube_configmap_info", "kube_node_info", "kube_job_info"].iter().all(|family| has(family)).then_some(body))
    })?;
    ensure!(served.select("kube_secret_info", &[]).next().is_none(), "secrets are served to a user without the right");
    let errors = wait::until("the errors for secrets are counted", NOTICE_LIMIT, || {
        exporter.process.ensure_running()?;
        let metrics = exporter.self_metrics()?;
        let errors = metrics.samples().filter(|sample| {
            let about_secrets = sample.labels.iter().any(|(_, value)| value.to_lowercase().contains("secret"));
            let is_error = sample.name.contains("error") || sample.label("result") == Some("error");
            about_secrets && is_error && sample.name.ends_with("_total")
        });
        let sum: f64 = errors.map(|sample| sample.value).sum();
        Ok((sum > 0.0).then_some(sum))
    })?;
    let log = exporter.process.log();
    ensure!(log.lines().any(|line| line.contains("secrets")), "the log does not name the forbidden resource:\n{log}");
    ensure!(!log.contains("panicked"), "it panicked:\n{log}");
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_message_is_one_line_about_the_mistake() {
        let mentions = ["--port".to_owned()];
        check_message("error: bad value for --port\n\nUsage: x\n", &mentions).unwrap();
        for bad in ["", "error: bad\n", "error: --port\nerror: --port\n", "thread 'main' panicked at --port error\n"] {
            assert!(check_message(bad, &mentions).is_err(), "{bad}");
        }
    }
}

//! `cargo xtask test`: everything that a machine with only Rust and a C compiler can check.
//!
//! Invariant: all steps run, also after a failed one, in one shared target folder; output of cargo is passed through.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::cli::TestArgs;
use crate::progress::elapsed;
use crate::{cargo, interrupt, table, tidy};

/// The steps, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StepName {
    /// `cargo fmt --check`
    Fmt,
    /// The house rules
    Tidy,
    /// `cargo clippy` with warnings denied
    Clippy,
    /// `cargo test`
    Test,
    /// `cargo doc` with warnings denied, broken links among them
    Doc,
}

/// Runs the command.
pub fn run(arguments: &TestArgs) -> Result<()> {
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    for step in StepName::value_variants() {
        if arguments.only.is_some_and(|only| only != *step) {
            continue;
        }
        let name = step.to_possible_value().expect("no step is hidden").get_name().to_owned();
        eprintln!("==> {name}");
        let started = Instant::now();
        let outcome = run_step(*step);
        // A child that was stopped by Ctrl-C looks like a failed one.
        interrupt::check()?;
        rows.push(summary(&name, outcome.is_ok(), started.elapsed()));
        if let Err(error) = outcome {
            eprintln!("error: {name}: {error:#}");
            failed.push(name);
        }
    }
    print!("\n{}", table::render(&["step", "result", "time"], &rows));
    if !failed.is_empty() {
        bail!("failed: {}; run one step again with `cargo xtask test --only {}`", failed.join(", "), failed[0]);
    }
    Ok(())
}

fn summary(name: &str, passed: bool, took: Duration) -> Vec<String> {
    vec![name.to_owned(), if passed { "ok" } else { "FAILED" }.to_owned(), elapsed(took)]
}

fn run_step(step: StepName) -> Result<()> {
    let mut command = cargo::command();
    match step {
        StepName::Fmt => {
            require_component("fmt", "rustfmt")?;
            command.args(["fmt", "--all", "--check"]);
        }
        StepName::Tidy => return tidy::run(),
        StepName::Clippy => {
            require_component("clippy", "clippy")?;
            command.args(["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]);
        }
        StepName::Test => {
            command.args(["test", "--locked", "--workspace", "--no-fail-fast"]);
        }
        StepName::Doc => {
            command.args(["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
            command.env("RUSTDOCFLAGS", "-D warnings");
        }
    }
    succeed(command)
}

/// A cargo subcommand that rustup may not have installed.
fn require_component(subcommand: &str, component: &str) -> Result<()> {
    let output = cargo::command().args([subcommand, "--version"]).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("`cargo {subcommand}` is not installed: run `rustup component add {component}`");
    }
    Ok(())
}

fn succeed(mut command: Command) -> Result<()> {
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        bail!("`cargo {}` failed ({status}): see above", arguments.join(" "));
    }
    Ok(())
}

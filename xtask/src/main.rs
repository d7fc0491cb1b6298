//! `cargo xtask <command>`: builds, tests, demonstrates and measures the workspace.
//!
//! Invariant: this file only dispatches; arguments live in `cli`, each command in a file of its own.

mod bench;
mod cargo;
mod cli;
mod cluster;
mod compare;
mod conformance;
mod demo;
mod deploy;
mod docs;
mod e2e;
mod exporter;
mod exposition;
mod flags;
mod http;
mod images;
mod instructions;
mod interrupt;
mod kubeconfig;
mod manifests;
mod plant;
mod ports;
mod process;
mod progress;
mod prometheus;
mod proxy;
mod strict;
mod table;
mod test;
mod testbed;
mod tidy;
mod tools;
mod wait;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = interrupt::install().and_then(|()| match &cli.command {
        Command::Bench(arguments) => bench::run(arguments),
        Command::BuildImages(arguments) => images::run(arguments),
        Command::Conformance(arguments) => conformance::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Deploy(arguments) => deploy::run(arguments),
        Command::Docs(arguments) => docs::run(arguments),
        Command::E2e(arguments) => e2e::run(arguments),
        Command::Instructions => instructions::run(),
        Command::Manifests(arguments) => manifests::run(arguments),
        Command::Test(arguments) => test::run(arguments),
        Command::Tidy => tidy::run(),
        Command::Tools(arguments) => tools::run(arguments),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

//! `ksm-testbed`: a simulated Kubernetes API server. Exits with 0 on SIGTERM and SIGINT, 1 on errors, 2 on wrong usage.

use std::process::ExitCode;

use clap::Parser;
use ksm_testbed::cli::Cli;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Cli::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

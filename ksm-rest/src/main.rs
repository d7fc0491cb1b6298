//! `ksm-rest`: every resource but pods.

use std::process::ExitCode;

use ksm_core::options::{self, SharedArgs};
use ksm_core::run::{self, Manner, Threads};

/// Serves metrics about every resource but pods, beside ksm-node and ksm-unscheduled.
#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    shared: SharedArgs,
}

fn main() -> ExitCode {
    let build = ksm_core::build!();
    run::install_crypto_provider();
    match options::parse(build, |args: Args| args.shared.rest_settings()) {
        Ok(job) => run::main(build, job, Manner { threads: Threads::Many, profiler: Some(run::cpu_profile) }),
        Err(exit) => exit,
    }
}

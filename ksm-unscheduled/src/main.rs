//! `ksm-unscheduled`: the pods that no node has yet.

use std::process::ExitCode;

use ksm_core::options::{self, SharedArgs};
use ksm_core::run::{self, Manner, Threads};

/// Serves metrics about pods that are bound to no node, beside ksm-node.
#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    shared: SharedArgs,
}

fn main() -> ExitCode {
    let build = ksm_core::build!();
    run::install_crypto_provider();
    match options::parse(build, |args: Args| args.shared.unscheduled_settings()) {
        Ok(job) => run::main(build, job, Manner { threads: Threads::One, profiler: Some(run::cpu_profile) }),
        Err(exit) => exit,
    }
}

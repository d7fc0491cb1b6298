//! `ksm-node`: the pods of one node, for a DaemonSet.

use std::process::ExitCode;

use ksm_core::options::{self, NodeArgs, SharedArgs};
use ksm_core::run::{self, Manner, Threads};

/// Serves metrics about the pods of one node, as one pod of a DaemonSet.
#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    node: NodeArgs,
}

fn main() -> ExitCode {
    let build = ksm_core::build!();
    run::install_crypto_provider();
    match options::parse(build, |args: Args| args.node.settings(&args.shared)) {
        // It is to be small; profiles are taken of the others.
        Ok(job) => run::main(build, job, Manner { threads: Threads::One, profiler: None }),
        Err(exit) => exit,
    }
}

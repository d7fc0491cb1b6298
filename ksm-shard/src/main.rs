//! `ksm-shard`: hash shards of a cluster; one shard of one is the whole.

use std::process::ExitCode;

use ksm_core::options::{self, ShardArgs, SharedArgs};
use ksm_core::run::{self, Manner, Threads};

/// Serves metrics about Kubernetes objects: all of them, or one shard of a set.
#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    shard: ShardArgs,
}

fn main() -> ExitCode {
    let build = ksm_core::build!();
    run::install_crypto_provider();
    match options::parse(build, |args: Args| args.shard.settings(&args.shared)) {
        Ok(job) => run::main(build, job, Manner { threads: Threads::Many, profiler: Some(run::cpu_profile) }),
        Err(exit) => exit,
    }
}

//! What each shard reads from an API server that filters for it.
//!
//! Invariant: shards run one after the other, so that what was read is that shard's alone.

use anyhow::{Context, Result, ensure};

use super::results::ShardsResult;
use super::server::Server;
use super::subject::{Programs, Side, flags};
use crate::progress::Progress;

/// Sizes of shard sets.
const SETS: [u32; 3] = [2, 4, 8];

/// Bytes of bodies that ours has read.
const READ_BYTES: &str = "kube_state_metrics_sharded_read_bytes_total";

/// Whether the API server filters.
const SERVER_SIDE: &str = "kube_state_metrics_sharded_server_side";

/// Measures all sets.
pub fn run(programs: &Programs, server: &Server) -> Result<ShardsResult> {
    let progress = Progress::start("bytes that shards read");
    let whole = read(programs, server, 0, 1)?;
    let mut sets = Vec::new();
    for total in SETS {
        progress.note(&format!("{total} shards"));
        let shards = (0..total)
            .map(|shard| read(programs, server, shard, total).with_context(|| format!("shard {shard} of {total}")));
        sets.push(shards.collect::<Result<Vec<u64>>>()?);
    }
    progress.done("");
    Ok(ShardsResult { pods: server.pods(), whole, sets })
}

fn read(programs: &Programs, server: &Server, shard: u32, total: u32) -> Result<u64> {
    let mut flags = flags("pods", false);
    flags.extend([format!("--shard={shard}"), format!("--total-shards={total}")]);
    server.reset_reads()?;
    let mut subject = programs.start(Side::Ours, "ksm-shard", server.kubeconfig(), &flags)?;
    subject.wait_ready_page()?;
    ensure!(total == 1 || subject.self_metric(SERVER_SIDE)? == 1.0, "the API server does not filter");
    let counted = subject.self_metric(READ_BYTES)? as u64;
    // The server's own count where it has one: it saw what was really sent.
    let bytes = server.read_bytes()?.unwrap_or(counted);
    subject.end()?;
    Ok(bytes)
}

//! The pods of one node, as a DaemonSet serves them.
//!
//! Invariant: both sides serve the same node of the same cluster, with a change now and then and regular scrapes.

use std::time::Instant;

use anyhow::{Context, Result};

use super::figures::Pair;
use super::format;
use super::plan::Plan;
use super::results::{NodeResult, NodeShare};
use super::server::{Sample, Server};
use super::subject::{Programs, Side, flags};
use crate::process::Scratch;
use crate::progress::Progress;
use crate::wait;

/// Pods a node: few, and as many as the kubelet allows by default.
const SIZES: [u32; 2] = [30, 110];

/// Nodes of the cluster: enough that one has about as many pods as wanted.
const NODES: u32 = 20;

/// Changes a second in the whole cluster, of which the node sees a few a minute.
const CHURN: f64 = 2.0;

/// Measures both sizes.
pub fn run(programs: &Programs, scratch: &Scratch, plan: &Plan) -> Result<Vec<NodeResult>> {
    let mut results = Vec::new();
    for (index, size) in SIZES.into_iter().enumerate() {
        let sample = Sample { pods: size * NODES, nodes: Some(NODES), churn: CHURN };
        let server = Server::simulated(programs, scratch.path(), sample)?;
        let (node, pods) = server.node_with(size as usize)?;
        let sides = Pair::measure(Side::first_in(index), |side| {
            let label = side.label();
            let progress = Progress::start(format!("a node with {pods} pods: {label}"));
            let share = measure(programs, &server, plan, side, &node)
                .with_context(|| format!("{label} for a node with {pods} pods"))?;
            progress.done(&format!("{} resident", format::mebibytes(share.memory.resident)));
            Ok(share)
        })?;
        results.push(NodeResult { pods, sides });
    }
    Ok(results)
}

fn measure(programs: &Programs, server: &Server, plan: &Plan, side: Side, node: &str) -> Result<NodeShare> {
    let mut all = flags("pods", false);
    all.push(format!("--node={node}"));
    let mut subject = programs.start(side, "ksm-node", server.kubeconfig(), &all)?;
    subject.wait_complete()?;
    let ready = subject.ready()?;
    let (start, cpu) = (Instant::now(), subject.cpu_seconds()?);
    // Half as long as sections that have more to see.
    let end = start + plan.span() / 2;
    let mut next = start + plan.interval();
    while next <= end {
        wait::until_moment(next)?;
        subject.scrape(false)?;
        next += plan.interval();
    }
    wait::until_moment(end)?;
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let cpu_seconds_per_minute = (subject.cpu_seconds()? - cpu) / minutes;
    let memory = subject.memory()?;
    let body_bytes = subject.scrape(false)?.bytes;
    subject.end()?;
    Ok(NodeShare { memory, cpu_seconds_per_minute, ready_seconds: ready.seconds, body_bytes })
}

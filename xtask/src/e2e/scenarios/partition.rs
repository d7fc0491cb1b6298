//! Partition: every way to split the work adds up to the unsplit output, and no series comes twice.
//!
//! Invariant: each part holds something, or the split was not tried.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use crate::compare::View;
use crate::e2e::world::{World, rest_resources};
use crate::exporter::Exporter;
use crate::exposition::Format;
use crate::flags::Flags;

/// Shards of a set.
const SHARDS: usize = 3;

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let flags = Flags::EVERYTHING;
    let unsplit = world.start_unsplit("unsplit", &flags)?;
    let mut figures = Vec::new();
    for scheme in ["range", "md5"] {
        let shards = world.start_shards(&world.api, scheme, SHARDS, &flags)?;
        figures.push(compare(world, &unsplit, &format!("{SHARDS} {scheme} shards"), &shards)?);
    }
    let parts = by_node(world, &flags)?;
    let what = format!("{} nodes + unscheduled + rest", parts.len() - 2);
    figures.push(compare(world, &unsplit, &what, &parts)?);
    Ok(figures.join("; "))
}

/// One `ksm-node` for each node that some pod names, one `ksm-unscheduled`, one `ksm-rest`.
fn by_node(world: &World, flags: &Flags) -> Result<Vec<Exporter>> {
    let pods = world.api.client()?.get_json("/api/v1/pods")?;
    let pods = pods["items"].as_array().context("a list of pods has items")?;
    let nodes: BTreeSet<&str> = pods.iter().filter_map(|pod| pod["spec"]["nodeName"].as_str()).collect();
    let mut parts = Vec::new();
    for node in nodes {
        let mut arguments = vec![format!("--node={node}")];
        arguments.extend(flags.arguments(&["pods"]));
        parts.push(world.start_ours(&format!("node-{node}"), "ksm-node", &arguments)?);
    }
    parts.push(world.start_ours("unscheduled", "ksm-unscheduled", &flags.arguments(&["pods"]))?);
    parts.push(world.start_ours("rest", "ksm-rest", &flags.arguments(&rest_resources()))?);
    Ok(parts)
}

fn compare(world: &World, unsplit: &Exporter, what: &str, parts: &[Exporter]) -> Result<String> {
    let parts: Vec<&Exporter> = parts.iter().collect();
    let mut shares = Vec::new();
    for format in Format::ALL {
        world.settle(&format!("{what}, {format}"), || {
            Ok((View::of([&unsplit.exposition(format)?]), world.read(&parts, format)?))
        })?;
    }
    for part in &parts {
        let samples = part.exposition(Format::Text)?.samples().count();
        if samples == 0 {
            bail!("{what}: {} serves nothing", part.name());
        }
        shares.push(samples.to_string());
    }
    Ok(format!("{what} = unsplit ({} samples)", shares.join(" + ")))
}

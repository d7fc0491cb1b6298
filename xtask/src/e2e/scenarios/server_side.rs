//! Server-side shards (KEP-5866): with the feature gate each range shard reads only its share, without it every shard
//! reads all and serves the same.
//!
//! Invariant: what a shard may read is judged against what its share of these very objects weighs, since a hash is
//! never perfectly even.

use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};

use crate::cluster::ApiServer;
use crate::compare::View;
use crate::e2e::world::World;
use crate::exporter::Exporter;
use crate::exposition::Format;
use crate::flags::Flags;
use crate::table::count;

/// Gauge of the exporter: 1 where the API server filters.
const SERVER_SIDE: &str = "kube_state_metrics_sharded_server_side";

/// Counter of the exporter: bytes of response bodies read from the API server.
const READ_BYTES: &str = "kube_state_metrics_sharded_read_bytes_total";

/// Counter of the exporter: objects read that other shards own.
const FOREIGN: &str = "kube_state_metrics_sharded_foreign_objects_total";

/// What a shard may read beyond its share, as a part of that share. The goal of 1/N + 5 % is meant so: of some hundred
/// pods, what one shard owns is off 1/N by more than that.
const ALLOWANCE: f64 = 0.05;

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let pods = pod_weights(world)?;
    let mut figures = format!("{} pods", pods.len());
    let flags = Flags::DEFAULT;
    let unsplit = world.start_unsplit("unsplit", &flags)?;
    let whole = read_bytes(&unsplit)?;
    ensure!(whole > 0.0, "{READ_BYTES}{{resource=\"pods\"}} of the unsplit exporter is 0");
    for total in [2, 4, 8] {
        let shards = world.start_shards(&world.api, "range", total, &flags)?;
        let mut parts = Vec::new();
        for (index, shard) in shards.iter().enumerate() {
            // Of config maps only metadata is read, and such answers are filtered without saying so.
            for resource in ["pods", "configmaps"] {
                let own = self_metric(shard, SERVER_SIDE, resource)? == 1.0;
                ensure!(own, "{}: {SERVER_SIDE}{{resource={resource:?}}} is not 1", shard.name());
                let foreign = self_metric(shard, FOREIGN, resource)?;
                ensure!(foreign == 0.0, "{} was sent {foreign} {resource} of other shards", shard.name());
            }
            let share = expected_share(&pods, index, total);
            let read = read_bytes(shard)? / whole;
            let limit = share * (1.0 + ALLOWANCE);
            let name = shard.name();
            ensure!(
                read <= limit,
                "{name} read {:.1} % of the unsplit bytes, allowed {:.1} %",
                read * 100.0,
                limit * 100.0
            );
            parts.push(format!("{:.1} % (its pods weigh {:.1} %)", read * 100.0, share * 100.0));
        }
        write!(figures, "; {total} shards read {}", parts.join(", "))?;
        check_sum(world, &unsplit, &shards, &format!("{total} shards with the gate on"))?;
    }
    let plain = ApiServer::start("kube-apiserver-without-gate", &world.etcd, false)?;
    let shards = world.start_shards(&plain, "range", 2, &flags)?;
    for shard in &shards {
        let own = self_metric(shard, SERVER_SIDE, "pods")?;
        ensure!(own == 0.0, "{}: {SERVER_SIDE}{{resource=\"pods\"}} is not 0", shard.name());
        let foreign = self_metric(shard, FOREIGN, "pods")?;
        ensure!(foreign > 0.0, "{}: {FOREIGN}{{resource=\"pods\"}} is 0 though it was sent them all", shard.name());
    }
    check_sum(world, &unsplit, &shards, "2 shards with the gate off")?;
    write!(figures, "; unsplit {} bytes; gate off: same output, local filter", count(whole as u64))?;
    Ok(figures)
}

fn check_sum(world: &World, unsplit: &Exporter, shards: &[Exporter], what: &str) -> Result<()> {
    let shards: Vec<&Exporter> = shards.iter().collect();
    let format = Format::Text;
    world.settle(what, || Ok((View::of([&unsplit.exposition(format)?]), world.read(&shards, format)?)))?;
    Ok(())
}

fn read_bytes(exporter: &Exporter) -> Result<f64> {
    self_metric(exporter, READ_BYTES, "pods")
}

/// The sum of a self-metric over its samples for a resource.
fn self_metric(exporter: &Exporter, name: &str, resource: &str) -> Result<f64> {
    let metrics = exporter.self_metrics()?;
    let values: Vec<f64> = metrics.select(name, &[("resource", resource)]).map(|sample| sample.value).collect();
    if values.is_empty() {
        bail!("{} has no self-metric {name}{{resource={resource:?}}}", exporter.name());
    }
    Ok(values.iter().sum())
}

/// UID and weight of each pod; the weight is the length of its JSON, which goes with the bytes on the wire.
fn pod_weights(world: &World) -> Result<Vec<(String, usize)>> {
    let list = world.api.client()?.get_json("/api/v1/pods")?;
    let pods = list["items"].as_array().context("a list of pods has items")?;
    pods.iter()
        .map(|pod| {
            let uid = pod["metadata"]["uid"].as_str().context("a pod has a UID")?;
            Ok((uid.to_owned(), pod.to_string().len()))
        })
        .collect()
}

/// The part of the weight that lies in the `index`-th of `total` equal ranges of the hash.
fn expected_share(pods: &[(String, usize)], index: usize, total: usize) -> f64 {
    let owned = |uid: &str| {
        let position = u128::from(fnv1a_64(uid.as_bytes())) * total as u128;
        (position >> 64) as usize == index
    };
    let sum = |weights: &mut dyn Iterator<Item = usize>| weights.sum::<usize>() as f64;
    sum(&mut pods.iter().filter(|(uid, _)| owned(uid)).map(|(_, weight)| *weight))
        / sum(&mut pods.iter().map(|(_, weight)| *weight))
}

/// FNV-1a, 64 bits: the hash that shard selectors are defined by.
fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_has_its_published_values() {
        assert_eq!(fnv1a_64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn shares_add_up() {
        let pods: Vec<(String, usize)> = (0..100).map(|n| (format!("uid-{n}"), 100 + n)).collect();
        let sum: f64 = (0..4).map(|index| expected_share(&pods, index, 4)).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}

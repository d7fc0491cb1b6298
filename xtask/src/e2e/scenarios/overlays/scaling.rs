//! A StatefulSet of ours, scaled by its controller, while every scrape of all its pods is looked through.
//!
//! Invariant: no object of the cluster that is there throughout is missing from any scrape of the whole set.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{NAMESPACE, Run};
use crate::e2e::scenarios::reshard;
use crate::exposition::{Exposition, Format};
use crate::progress::elapsed;

/// The set.
const SET: &str = "/apis/apps/v1/namespaces/kube-state-metrics/statefulsets/ksm-shard-auto";

/// Time for one change, with a grace of 30 s in it.
const LIMIT: Duration = Duration::from_secs(150);

/// From 3 to 5, and, as soon as all five are ready, to 2.
pub fn check(run: &mut Run<'_>, arguments: &[String]) -> Result<String> {
    let started = Instant::now();
    let throughout = objects_in(&run.reference(arguments)?.exposition(Format::Text)?);
    ensure!(throughout.len() > 50, "hardly an object to lose: {}", throughout.len());
    let client = run.api.client().clone();
    let mut scrapes = 0;
    for replicas in [5_u32, 2] {
        client.send_json("PATCH", SET, &json!({"spec": {"replicas": replicas}}))?;
        run.kubelet.until(&format!("the set has {replicas} shards"), LIMIT, |kubelet| {
            let mut served = BTreeSet::new();
            for instance in kubelet.instances() {
                match instance.exporter.exposition(Format::Text) {
                    Ok(exposition) => served.append(&mut objects_in(&exposition)),
                    // It ended between the two; what it had must come from another one.
                    Err(_) if instance.told_to_stop => {}
                    Err(error) => {
                        let (name, log) = (instance.name(), instance.exporter.process.log_tail());
                        return Err(error.context(format!("{name}, which was not told to stop, logged:\n{log}")));
                    }
                }
            }
            scrapes += 1;
            let missing: Vec<&String> = throughout.difference(&served).collect();
            ensure!(
                missing.is_empty(),
                "to {replicas} shards, scrape {scrapes}: {} of {} objects are missing, {} among them",
                missing.len(),
                throughout.len(),
                missing[0]
            );
            let status = client.get_json(SET)?["status"].clone();
            let there = status["readyReplicas"] == replicas && status["replicas"] == replicas;
            if !there || kubelet.instances().count() != replicas as usize {
                return Ok(None);
            }
            // The next change comes in the middle of the first; of the second, those that stay are asked.
            let enough = replicas == 5 || reshard::is_settled(kubelet.exporters(), replicas)?;
            Ok(enough.then_some(()))
        })?;
    }
    ensure!(scrapes > 20, "{scrapes} scrapes are too few to see a hole");
    run.compare("2 shards, scaled from 3 by way of 5", arguments).context("after scaling")?;
    Ok(format!(
        "3, 5, 2 shards in {} without one of {} objects missing in any of {scrapes} scrapes",
        elapsed(started.elapsed()),
        throughout.len()
    ))
}

/// A series for each object, but for those of our own namespace.
fn objects_in(exposition: &Exposition) -> BTreeSet<String> {
    exposition
        .samples()
        .filter(|sample| sample.name.ends_with("_info") || sample.name.ends_with("_created"))
        .filter(|sample| sample.label("namespace") != Some(NAMESPACE))
        .map(|sample| format!("{}{:?}", sample.name, sample.labels))
        .collect()
}

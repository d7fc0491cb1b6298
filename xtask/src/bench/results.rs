//! Everything that was measured, as it is written to `benchmarks.json`.
//!
//! Invariant: plain data; seconds, bytes and counts, never text made for people.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::figures::{Latency, Pair};
use super::machine::Machine;
use super::subject::ScrapeCost;
use super::usage::Memory;

/// One run. Sections that were not run are empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Where and with what.
    pub machine: Machine,
    /// Starts and scrapes by size.
    pub sizes: Vec<SizeResult>,
    /// A living cluster, by rate.
    pub churn: Vec<ChurnResult>,
    /// Lists that must be read anew.
    pub relist: Option<RelistResult>,
    /// What Prometheus itself says, by target.
    pub prometheus: Vec<PrometheusResult>,
    /// One node's pods, by their number.
    pub node: Vec<NodeResult>,
    /// What shards read.
    pub shards: Option<ShardsResult>,
    /// Sizes of binaries.
    pub binaries: Vec<Binary>,
    /// What was taken over from earlier runs: of which revision of ours, and when.
    #[serde(default)]
    pub taken_over: BTreeMap<String, String>,
}

/// How large a binary is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binary {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Bytes of it as gzip, which is what there is to an image but for the roots of certificates.
    #[serde(default)]
    pub packed: u64,
}

impl Results {
    /// Takes over from an earlier run what this one has not measured.
    pub fn add(&mut self, earlier: Self) {
        let source = format!("{}, {}", earlier.machine.ours, earlier.machine.date);
        let taken_over = &mut self.taken_over;
        let same = earlier.machine.ours == self.machine.ours;
        let mut note = |what: &str, taken: bool| {
            let before = earlier.taken_over.get(what).cloned().or_else(|| (!same).then(|| source.clone()));
            if let (true, Some(source)) = (taken, before) {
                taken_over.insert(what.to_owned(), source);
            }
        };
        for size in earlier.sizes {
            let is_it = |own: &SizeResult| (own.pods, own.pods_only) == (size.pods, size.pods_only);
            if !self.sizes.iter().any(is_it) {
                let resources = if size.pods_only { "" } else { ", all resources" };
                note(&format!("{} pods{resources}", size.pods), true);
                self.sizes.push(size);
            }
        }
        self.sizes.sort_by_key(|size| (size.pods, !size.pods_only));
        fn or_earlier<T>(own: &mut Vec<T>, earlier: Vec<T>) -> bool {
            let takes = own.is_empty() && !earlier.is_empty();
            if takes {
                *own = earlier;
            }
            takes
        }
        note("a cluster that changes", or_earlier(&mut self.churn, earlier.churn));
        note("Prometheus", or_earlier(&mut self.prometheus, earlier.prometheus));
        note("one node", or_earlier(&mut self.node, earlier.node));
        note("binaries", or_earlier(&mut self.binaries, earlier.binaries));
        note("relists", self.relist.is_none() && earlier.relist.is_some());
        self.relist = self.relist.take().or(earlier.relist);
        note("shards", self.shards.is_none() && earlier.shards.is_some());
        self.shards = self.shards.take().or(earlier.shards);
    }

    /// The start and scrapes of so many pods, pods only.
    pub fn size(&self, pods: u32) -> Option<&SizeResult> {
        self.sizes.iter().find(|size| size.pods == pods && size.pods_only)
    }

    /// The size of a binary.
    pub fn binary(&self, name: &str) -> Option<u64> {
        self.binaries.iter().find(|binary| binary.name == name).map(|binary| binary.bytes)
    }
}

/// Start and scrapes of one cluster: medians over rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SizeResult {
    /// Pods in the cluster.
    pub pods: u32,
    /// Whether only pods were served, or every resource that ours has.
    pub pods_only: bool,
    /// Rounds that the medians are of.
    pub rounds: usize,
    /// Both sides.
    pub lives: Pair<Life>,
}

/// One side from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// Seconds from the start until the data was complete.
    pub ready_seconds: f64,
    /// CPU seconds used by then.
    pub ready_cpu_seconds: f64,
    /// CPU seconds of the API server meanwhile.
    pub server_cpu_seconds: f64,
    /// Bytes read from the API server, where it counts them.
    pub read_bytes: Option<u64>,
    /// Memory some seconds after the start; its peak is that of the start.
    pub settled: Memory,
    /// The scrapes, if there were any.
    pub scrapes: Option<Scrapes>,
}

/// Scrapes of a cluster at rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scrapes {
    /// Samples in a body.
    pub samples: u64,
    /// Scrapes without compression.
    pub plain: ScrapeCost,
    /// Scrapes with compression.
    pub gzip: ScrapeCost,
    /// Memory after them.
    pub memory: Memory,
}

impl Life {
    /// Memory in use at rest: after scrapes, as in production, if there were any.
    pub fn steady(&self) -> Memory {
        self.scrapes.as_ref().map_or(self.settled, |scrapes| scrapes.memory)
    }
}

/// A cluster that changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChurnResult {
    /// Pods in the cluster.
    pub pods: u32,
    /// Changes of pods a second that were asked for.
    pub rate: u32,
    /// Both sides.
    pub sides: Pair<Churn>,
}

/// One side on a cluster that changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Churn {
    /// Seconds between two scrapes of the first pass.
    pub interval_seconds: f64,
    /// Changes of pods a second that arrived; ours counts them.
    pub events_per_second: Option<f64>,
    /// CPU seconds a minute, scrapes included.
    pub cpu_seconds_per_minute: f64,
    /// CPU seconds a minute of the API server.
    pub server_cpu_seconds_per_minute: f64,
    /// Packed scrapes at that interval.
    pub slow: Latency,
    /// Packed scrapes each second, or one after the other where one takes longer.
    pub fast: Latency,
    /// Memory at the end.
    pub memory: Memory,
    /// Seconds between a change and the last scrape that did not show it, the most of some.
    pub age_seconds: f64,
}

/// Lists that must be read anew.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RelistResult {
    /// Pods in the cluster.
    pub pods: u32,
    /// Both sides.
    pub sides: Pair<Relists>,
}

/// One side through relists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relists {
    /// Seconds from the 410 until the program rests again, pauses included: median.
    pub seconds: f64,
    /// CPU seconds of one: median.
    pub cpu_seconds: f64,
    /// CPU seconds of the API server for one: median.
    pub server_cpu_seconds: f64,
    /// Memory before the first one.
    pub before: Memory,
    /// The most that was resident during them, in bytes.
    pub peak: u64,
    /// Resident after each, in bytes.
    pub resident: Vec<u64>,
    /// Scrapes during further relists.
    pub scrapes: u64,
    /// How many of them lacked samples.
    pub incomplete: u64,
    /// The largest part of all samples that one of them lacked.
    pub lacked: f64,
}

/// What a Prometheus server says about its targets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PrometheusResult {
    /// Who was scraped, and how.
    pub target: String,
    /// Pods in the cluster.
    pub pods: u32,
    /// Scrapes that the figures are medians of; the first one of a target makes its series, and does not count.
    pub scrapes: u64,
    /// Targets that share the work.
    pub parts: u64,
    /// `scrape_duration_seconds` of the slowest part.
    pub seconds: f64,
    /// `scrape_body_size_bytes`, unpacked, of all parts together.
    pub body_bytes: f64,
    /// `scrape_samples_scraped` of all parts together.
    pub samples: f64,
    /// CPU seconds of Prometheus for one scrape of all parts.
    pub prometheus_cpu_seconds: f64,
    /// CPU seconds of the exporter for one scrape of all parts.
    pub exporter_cpu_seconds: f64,
}

/// One node's pods.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeResult {
    /// Pods of the node.
    pub pods: usize,
    /// Both sides.
    pub sides: Pair<NodeShare>,
}

/// One side for one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeShare {
    /// Memory after the time below.
    pub memory: Memory,
    /// CPU seconds a minute, with some changes and scrapes.
    pub cpu_seconds_per_minute: f64,
    /// Seconds from the start until the data was complete.
    pub ready_seconds: f64,
    /// Bytes of a plain body.
    pub body_bytes: u64,
}

/// What shards read from an API server that filters for them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShardsResult {
    /// Pods in the cluster.
    pub pods: u32,
    /// Bytes that one unsplit instance reads for pods.
    pub whole: u64,
    /// Bytes that each shard of a set reads.
    pub sets: Vec<Vec<u64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(pods: u32, rounds: usize) -> SizeResult {
        SizeResult { pods, pods_only: true, rounds, lives: Pair { ours: Life::default(), reference: Life::default() } }
    }

    #[test]
    fn what_a_run_has_not_measured_is_taken_over_and_what_it_has_is_not() {
        let binaries = |bytes| vec![Binary { name: "ksm-node".to_owned(), bytes, packed: bytes / 3 }];
        let earlier =
            Results { sizes: vec![size(1000, 3), size(50_000, 3)], binaries: binaries(1), ..Results::default() };
        let mut results = Results { sizes: vec![size(10_000, 1), size(1000, 1)], ..Results::default() };
        results.add(earlier.clone());
        let sizes: Vec<_> = results.sizes.iter().map(|size| (size.pods, size.rounds)).collect();
        assert_eq!(sizes, [(1000, 1), (10_000, 1), (50_000, 3)]);
        assert_eq!(results.binaries, binaries(1));
        let mut newer = Results { binaries: binaries(2), ..Results::default() };
        newer.add(earlier);
        assert_eq!(newer.binaries, binaries(2));
        assert_eq!(newer.taken_over, BTreeMap::new(), "of the same revision");
    }

    #[test]
    fn what_is_taken_over_from_another_revision_is_named() {
        let of = |ours: &str| Machine { ours: ours.to_owned(), date: "2026-01-02".to_owned(), ..Machine::default() };
        let first = Results {
            machine: of("0.1.0 (a)"),
            binaries: vec![Binary { name: "ksm-node".to_owned(), bytes: 1, packed: 1 }],
            ..Results::default()
        };
        let mut second = Results { machine: of("0.1.0 (b)"), sizes: vec![size(1000, 1)], ..Results::default() };
        second.add(first);
        assert_eq!(second.taken_over, BTreeMap::from([("binaries".to_owned(), "0.1.0 (a), 2026-01-02".to_owned())]));
        let mut third = Results { machine: of("0.1.0 (c)"), ..Results::default() };
        third.add(second);
        let expected = [("1000 pods", "0.1.0 (b), 2026-01-02"), ("binaries", "0.1.0 (a), 2026-01-02")];
        assert_eq!(third.taken_over, expected.map(|(what, of)| (what.to_owned(), of.to_owned())).into());
    }
}

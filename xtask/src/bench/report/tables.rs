//! The tables of the page, a function each.
//!
//! Invariant: one row a side or variant, so that both sides stand next to each other.

use super::Table;
use crate::bench::format::{mebibytes, megabytes, one_in, percent, seconds, times};
use crate::bench::results::{Binary, Churn, Life, NodeShare, Relists, Results, Scrapes, SizeResult};
use crate::bench::subject::Side;
use crate::table::count;

/// All tables, empty ones included.
pub fn all(results: &Results) -> Vec<Table> {
    vec![
        starts(results),
        scrapes(results),
        prometheus(results),
        churn(results),
        relists(results),
        nodes(results),
        shards(results),
        binaries(results),
    ]
}

const SIDES: [Side; 2] = [Side::Ours, Side::Reference];

fn cluster(size: &SizeResult) -> String {
    let resources = if size.pods_only { "" } else { ", all resources" };
    format!("{} pods{resources}", count(size.pods.into()))
}

fn life(size: &SizeResult, side: Side) -> &Life {
    match side {
        Side::Ours => &size.lives.ours,
        Side::Reference => &size.lives.reference,
    }
}

fn starts(results: &Results) -> Table {
    let row = |size: &SizeResult, side: Side| {
        let life = life(size, side);
        vec![
            cluster(size),
            side.label().to_owned(),
            seconds(life.ready_seconds),
            seconds(life.ready_cpu_seconds),
            seconds(life.server_cpu_seconds),
            life.read_bytes.map_or_else(|| "not counted".to_owned(), megabytes),
            mebibytes(life.settled.peak),
            mebibytes(life.settled.resident),
            mebibytes(life.settled.anonymous),
            life.scrapes.as_ref().map_or_else(|| "–".to_owned(), |scrapes| mebibytes(scrapes.memory.resident)),
        ]
    };
    Table {
        title: "From start to ready".to_owned(),
        note: "Ready is when a scrape first holds every container. Peak, resident and anonymous memory some seconds \
               later, and resident memory again after all scrapes."
            .to_owned(),
        header: vec![
            "cluster",
            "side",
            "ready after",
            "CPU until then",
            "CPU of the API server",
            "bytes read",
            "peak",
            "resident",
            "anonymous",
            "after scrapes",
        ],
        rows: results.sizes.iter().flat_map(|size| SIDES.map(|side| row(size, side))).collect(),
    }
}

fn scrapes(results: &Results) -> Table {
    let mut rows = Vec::new();
    for size in &results.sizes {
        let both = (size.lives.ours.scrapes.as_ref(), size.lives.reference.scrapes.as_ref());
        let (Some(ours), Some(reference)) = both else { continue };
        for encoding in ["plain", "gzip"] {
            let of = |scrapes: &Scrapes| if encoding == "gzip" { scrapes.gzip } else { scrapes.plain };
            for (side, scrapes) in [(Side::Ours, ours), (Side::Reference, reference)] {
                let cost = of(scrapes);
                let ratio = match side {
                    Side::Ours => times(of(reference).whole / cost.whole),
                    Side::Reference => String::new(),
                };
                rows.push(vec![
                    cluster(size),
                    encoding.to_owned(),
                    side.label().to_owned(),
                    seconds(cost.first_byte),
                    seconds(cost.whole),
                    ratio,
                    seconds(cost.cpu_seconds),
                    megabytes(cost.bytes),
                    count(scrapes.samples),
                ]);
            }
        }
    }
    Table {
        title: "Scrapes of a cluster at rest".to_owned(),
        note: "By a client that throws the body away. Medians; CPU is the exporter's, as a mean.".to_owned(),
        header: vec!["cluster", "encoding", "side", "first byte", "whole", "faster", "CPU", "body", "samples"],
        rows,
    }
}

fn prometheus(results: &Results) -> Table {
    let rows = results.prometheus.iter().map(|result| {
        vec![
            count(result.pods.into()),
            result.target.clone(),
            seconds(result.seconds),
            seconds(result.prometheus_cpu_seconds),
            seconds(result.exporter_cpu_seconds),
            megabytes(result.body_bytes as u64),
            count(result.samples as u64),
        ]
    });
    Table {
        title: "Scrapes by Prometheus".to_owned(),
        note: "Prometheus' own figures on the same machine; most of the time is its parsing and storing. Of parts the \
               time is the slowest part's, everything else the sum."
            .to_owned(),
        header: vec![
            "pods",
            "target",
            "scrape_duration_seconds",
            "CPU of Prometheus",
            "CPU of the exporter",
            "scrape_body_size_bytes",
            "scrape_samples_scraped",
        ],
        rows: rows.collect(),
    }
}

fn churn(results: &Results) -> Table {
    let row = |pods: u32, rate: u32, side: Side, churn: &Churn, ratio: String| {
        let latency = |l: &crate::bench::figures::Latency| {
            let [p50, p99, max] = [l.p50, l.p99, l.max].map(seconds);
            format!("{p50} / {p99} / {max} ({})", l.scrapes)
        };
        vec![
            format!("{} changes/s, {} pods", count(rate.into()), count(pods.into())),
            side.label().to_owned(),
            seconds(churn.cpu_seconds_per_minute),
            ratio,
            latency(&churn.slow),
            latency(&churn.fast),
            seconds(churn.age_seconds),
            mebibytes(churn.memory.resident),
            seconds(churn.server_cpu_seconds_per_minute),
            churn.events_per_second.map_or_else(String::new, |events| format!("{events:.0}")),
        ]
    };
    let rows = results.churn.iter().flat_map(|result| {
        let sides = &result.sides;
        let ratio = one_in(sides.ratio(|churn: &Churn| churn.cpu_seconds_per_minute));
        [
            row(result.pods, result.rate, Side::Ours, &sides.ours, ratio),
            row(result.pods, result.rate, Side::Reference, &sides.reference, String::new()),
        ]
    });
    let interval = results.churn.first().map_or(15.0, |result| result.sides.ours.interval_seconds);
    Table {
        title: "A cluster that changes".to_owned(),
        note: format!(
            "Gzip scrapes: p50 / p99 / slowest (how many); first every {interval} s, which CPU a minute includes, then \
             every second, or as fast as they come where one takes longer. Changes are of pods: replacements step by \
             step, restarts. Age is the time from a change to the last scrape that does not show it, the most of some."
        ),
        header: vec![
            "cluster",
            "side",
            "CPU a minute",
            "part",
            "slow scrapes",
            "fast scrapes",
            "age",
            "resident",
            "CPU of the API server a minute",
            "changes/s counted",
        ],
        rows: rows.collect(),
    }
}

fn relists(results: &Results) -> Table {
    let row = |pods: u32, side: Side, relists: &Relists| {
        let resident = |index: Option<&u64>| index.copied().map_or_else(String::new, mebibytes);
        vec![
            count(pods.into()),
            side.label().to_owned(),
            relists.resident.len().to_string(),
            seconds(relists.cpu_seconds),
            seconds(relists.seconds),
            mebibytes(relists.before.resident),
            mebibytes(relists.peak),
            resident(relists.resident.first()),
            resident(relists.resident.iter().max()),
            resident(relists.resident.last()),
            format!("{} of {}, {}", relists.incomplete, relists.scrapes, percent(relists.lacked)),
        ]
    };
    let rows = results.relist.iter().flat_map(|result| {
        let sides = &result.sides;
        [row(result.pods, Side::Ours, &sides.ours), row(result.pods, Side::Reference, &sides.reference)]
    });
    Table {
        title: "Relists".to_owned(),
        note:
            "The API server ends the watch with a 410, again and again. Time goes from there until the program rests, \
               pauses included. Scrapes go through further relists; the part is the largest that one of them lacked."
                .to_owned(),
        header: vec![
            "pods",
            "side",
            "relists",
            "CPU each",
            "time each",
            "resident before",
            "peak",
            "after the first",
            "most after one",
            "after the last",
            "incomplete scrapes",
        ],
        rows: rows.collect(),
    }
}

fn nodes(results: &Results) -> Table {
    let row = |pods: usize, side: Side, share: &NodeShare| {
        vec![
            count(pods as u64),
            side.label().to_owned(),
            mebibytes(share.memory.resident),
            mebibytes(share.memory.anonymous),
            mebibytes(share.memory.peak),
            seconds(share.cpu_seconds_per_minute),
            seconds(share.ready_seconds),
            megabytes(share.body_bytes),
        ]
    };
    let rows = results.node.iter().flat_map(|result| {
        let sides = &result.sides;
        [row(result.pods, Side::Ours, &sides.ours), row(result.pods, Side::Reference, &sides.reference)]
    });
    Table {
        title: "One node".to_owned(),
        note: "`ksm-node`, and the reference with `--node`, for the pods of one node.".to_owned(),
        header: vec!["pods", "side", "resident", "anonymous", "peak", "CPU a minute", "ready after", "body"],
        rows: rows.collect(),
    }
}

fn shards(results: &Results) -> Table {
    let rows = results.shards.iter().flat_map(|shards| {
        let part = |bytes: u64| percent(bytes as f64 / shards.whole as f64);
        let whole = vec!["1".to_owned(), megabytes(shards.whole), part(shards.whole), String::new()];
        let sets = shards.sets.iter().map(move |set| {
            let (least, most) =
                (set.iter().copied().min().unwrap_or_default(), set.iter().copied().max().unwrap_or_default());
            vec![set.len().to_string(), megabytes(set.iter().sum()), part(most), part(least)]
        });
        std::iter::once(whole).chain(sets).collect::<Vec<_>>()
    });
    Table {
        title: "Shards".to_owned(),
        note: "What shards of `ksm-shard` read from an API server that filters for them (KEP-5866), until they are \
               ready; parts of what one instance reads."
            .to_owned(),
        header: vec!["shards", "bytes of all", "most for one", "least for one"],
        rows: rows.collect(),
    }
}

fn binaries(results: &Results) -> Table {
    let row = |binary: &Binary| vec![binary.name.clone(), mebibytes(binary.bytes), mebibytes(binary.packed)];
    Table {
        title: "Binaries".to_owned(),
        note: "Ours as released: stripped, optimised over all crates. Packed as in an image, to which roots of \
               certificates add some 0.1 MiB."
            .to_owned(),
        header: vec!["binary", "size", "packed"],
        rows: results.binaries.iter().map(row).collect(),
    }
}

//! The page of a made-up run.

use expect_test::expect;

use super::*;
use crate::bench::figures::{Latency, Pair};
use crate::bench::machine::Machine;
use crate::bench::results::{
    Binary, Churn, ChurnResult, Life, NodeResult, NodeShare, PrometheusResult, RelistResult, Relists, Scrapes,
    ShardsResult, SizeResult,
};
use crate::bench::subject::ScrapeCost;
use crate::bench::usage::Memory;

const MEBIBYTE: u64 = 1024 * 1024;

fn binary(name: &str, mebibytes: u64) -> Binary {
    Binary { name: name.to_owned(), bytes: mebibytes * MEBIBYTE, packed: mebibytes * MEBIBYTE / 2 }
}

fn memory(resident: u64) -> Memory {
    Memory { resident: resident * MEBIBYTE, anonymous: resident * MEBIBYTE / 2, peak: resident * MEBIBYTE * 2 }
}

fn life(factor: f64) -> Life {
    let cost = |seconds: f64, bytes| ScrapeCost {
        scrapes: 5,
        first_byte: seconds / 10.0,
        whole: seconds,
        cpu_seconds: seconds * 1.5,
        bytes,
        has_length: true,
    };
    Life {
        ready_seconds: 0.5 * factor,
        ready_cpu_seconds: 0.25 * factor,
        server_cpu_seconds: 0.1,
        read_bytes: Some(64_100_000),
        settled: memory((30.0 * factor) as u64),
        scrapes: Some(Scrapes {
            samples: 500_000,
            plain: cost(0.08 * factor, 89_200_000),
            gzip: cost(0.002 * factor * factor * 8.0, 12_200_000),
            memory: memory((31.0 * factor) as u64),
        }),
    }
}

/// Every section once.
pub fn sample() -> Results {
    let size = |pods, pods_only, factor: f64| SizeResult {
        pods,
        pods_only,
        rounds: 3,
        lives: Pair { ours: life(factor), reference: life(factor * 11.0) },
    };
    let churn = |cpu, p99| Churn {
        interval_seconds: 15.0,
        events_per_second: Some(199.6),
        cpu_seconds_per_minute: cpu,
        server_cpu_seconds_per_minute: 0.5,
        slow: Latency { scrapes: 4, p50: p99 / 2.0, p99, max: p99 },
        fast: Latency { scrapes: 20, p50: p99 / 2.0, p99, max: p99 },
        memory: memory(40),
        age_seconds: 0.9,
    };
    let relists = |incomplete| Relists {
        seconds: 0.7,
        cpu_seconds: 0.3,
        server_cpu_seconds: 0.1,
        before: memory(30),
        peak: 60 * MEBIBYTE,
        resident: vec![31 * MEBIBYTE, 33 * MEBIBYTE, 32 * MEBIBYTE],
        scrapes: 9,
        incomplete,
        lacked: if incomplete > 0 { 0.75 } else { 0.0 },
    };
    let share = |resident| NodeShare {
        memory: memory(resident),
        cpu_seconds_per_minute: 0.02,
        ready_seconds: 0.05,
        body_bytes: 362_000,
    };
    let scraped = |target: &str, seconds| PrometheusResult {
        target: target.to_owned(),
        pods: 10_000,
        scrapes: 2,
        parts: 1,
        seconds,
        body_bytes: 89_200_000.0,
        samples: 500_000.0,
        prometheus_cpu_seconds: seconds,
        exporter_cpu_seconds: 0.1,
    };
    Results {
        machine: Machine {
            date: "2026-03-04".to_owned(),
            cores: 2,
            processor: "Some CPU".to_owned(),
            memory: 24 << 30,
            kernel: "6.1.0".to_owned(),
            ours: "0.1.0 (abcdef0)".to_owned(),
            reference: "v2.20.0".to_owned(),
            server: "simulated".to_owned(),
        },
        sizes: vec![size(1_000, true, 0.1), size(10_000, true, 1.0), size(10_000, false, 1.2)],
        churn: vec![ChurnResult {
            pods: 10_000,
            rate: 200,
            sides: Pair { ours: churn(2.0, 0.02), reference: churn(9.0, 0.3) },
        }],
        relist: Some(RelistResult { pods: 10_000, sides: Pair { ours: relists(0), reference: relists(4) } }),
        prometheus: vec![scraped("ours, gzip", 4.0), scraped("reference, plain", 6.1)],
        node: vec![NodeResult { pods: 110, sides: Pair { ours: share(6), reference: share(58) } }],
        shards: Some(ShardsResult { pods: 10_000, whole: 64_000_000, sets: vec![vec![32_500_000, 31_600_000]] }),
        binaries: vec![binary("ksm-node", 6), binary("kube-state-metrics", 87)],
        taken_over: [("one node".to_owned(), "0.0.9 (b1d), 2026-01-01".to_owned())].into(),
    }
}

#[test]
fn a_page_has_everything() {
    expect![[r#"
        <!-- Written by `cargo xtask bench`, apart from the section that says so. -->

        # Benchmarks

        Our binaries beside kube-state-metrics v2.20.0 (the reference), each figure beside the other's in one run, on the same API server (simulated) and the same machine, one at a time. Seconds depend on the machine and on what else it does; read ratios.

        | | |
        | --- | --- |
        | date | 2026-03-04 |
        | ours | 0.1.0 (abcdef0) |
        | reference | kube-state-metrics v2.20.0 |
        | machine | 2 cores, 24.0 GiB, Some CPU |
        | kernel | Linux 6.1.0 |
        | measured earlier: one node | 0.0.9 (b1d), 2026-01-01 |

        Run it again with `cargo xtask bench`; it needs Go once, for building the reference and Prometheus. All figures are in [benchmarks.json](benchmarks.json).

        ![Time of a scrape and resident memory by size of the cluster, log scales](benchmarks.svg)

        ## Goals

        Ratios of the reference's figure to ours, both measured in one run.

        | what | goal | reached | met |
        | --- | --- | --- | --- |
        | gzip scrape, 10 000 pods | ≥ 200 × faster | 121 × | no |
        | plain scrape, 10 000 pods | ≥ 8 × faster | 11.0 × | yes |
        | resident memory at rest, 10 000 pods | ≤ 1/10 | 1/11.0 | yes |
        | peak memory at start, 10 000 pods | ≤ 1.5 × steady + 16 MiB = 62.5 MiB | 60.0 MiB | yes |
        | CPU from start to ready, 10 000 pods | ≤ 1/3 | 1/11.0 | yes |
        | CPU at 200 changes a second, 10 000 pods | ≤ 1/4 | 1/4.50 | yes |
        | p99 of gzip scrapes at 200 changes a second, 10 000 pods | ≤ 1/20 | 1/15.0 | no |
        | age of data at 200 changes a second | ≤ 1 s | 900 ms | yes |
        | peak memory of a relist, 10 000 pods | ≤ 1.5 × steady + 16 MiB = 61.0 MiB | 60.0 MiB | yes |
        | scrapes that lack samples during relists | none | 0 of 9 scrapes, at most 0.0 % | yes |
        | bytes read by the largest of 2 shards | ≤ 1/2 + 5 % = 55.0 % | 50.8 % | yes |
        | resident memory of ksm-node, 110 pods | ≤ 10 MiB | 6.00 MiB | yes |
        | anonymous memory of ksm-node, 110 pods | ≤ 4 MiB | 3.00 MiB | yes |
        | binary of ksm-node | ≤ 9 MiB | 6.00 MiB | yes |

        <!-- written by hand: begin -->
        ### Goals not met

        - gzip scrape, 10 000 pods: reason not yet known.
        - p99 of gzip scrapes at 200 changes a second, 10 000 pods: reason not yet known.
        <!-- written by hand: end -->

        ## From start to ready

        Ready is when a scrape first holds every container. Peak, resident and anonymous memory some seconds later, and resident memory again after all scrapes.

        | cluster | side | ready after | CPU until then | CPU of the API server | bytes read | peak | resident | anonymous | after scrapes |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        | 1 000 pods | ours | 50.0 ms | 25.0 ms | 100 ms | 64.1 MB | 6.00 MiB | 3.00 MiB | 1.50 MiB | 3.00 MiB |
        | 1 000 pods | reference | 550 ms | 275 ms | 100 ms | 64.1 MB | 66.0 MiB | 33.0 MiB | 16.5 MiB | 34.0 MiB |
        | 10 000 pods | ours | 500 ms | 250 ms | 100 ms | 64.1 MB | 60.0 MiB | 30.0 MiB | 15.0 MiB | 31.0 MiB |
        | 10 000 pods | reference | 5.50 s | 2.75 s | 100 ms | 64.1 MB | 660 MiB | 330 MiB | 165 MiB | 341 MiB |
        | 10 000 pods, all resources | ours | 600 ms | 300 ms | 100 ms | 64.1 MB | 72.0 MiB | 36.0 MiB | 18.0 MiB | 37.0 MiB |
        | 10 000 pods, all resources | reference | 6.60 s | 3.30 s | 100 ms | 64.1 MB | 792 MiB | 396 MiB | 198 MiB | 409 MiB |

        ## Scrapes of a cluster at rest

        By a client that throws the body away. Medians; CPU is the exporter's, as a mean.

        | cluster | encoding | side | first byte | whole | faster | CPU | body | samples |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        | 1 000 pods | plain | ours | 800 µs | 8.00 ms | 11.0 × | 12.0 ms | 89.2 MB | 500 000 |
        | 1 000 pods | plain | reference | 8.80 ms | 88.0 ms |  | 132 ms | 89.2 MB | 500 000 |
        | 1 000 pods | gzip | ours | 16.0 µs | 160 µs | 121 × | 240 µs | 12.2 MB | 500 000 |
        | 1 000 pods | gzip | reference | 1.94 ms | 19.4 ms |  | 29.0 ms | 12.2 MB | 500 000 |
        | 10 000 pods | plain | ours | 8.00 ms | 80.0 ms | 11.0 × | 120 ms | 89.2 MB | 500 000 |
        | 10 000 pods | plain | reference | 88.0 ms | 880 ms |  | 1.32 s | 89.2 MB | 500 000 |
        | 10 000 pods | gzip | ours | 1.60 ms | 16.0 ms | 121 × | 24.0 ms | 12.2 MB | 500 000 |
        | 10 000 pods | gzip | reference | 194 ms | 1.94 s |  | 2.90 s | 12.2 MB | 500 000 |
        | 10 000 pods, all resources | plain | ours | 9.60 ms | 96.0 ms | 11.0 × | 144 ms | 89.2 MB | 500 000 |
        | 10 000 pods, all resources | plain | reference | 106 ms | 1.06 s |  | 1.58 s | 89.2 MB | 500 000 |
        | 10 000 pods, all resources | gzip | ours | 2.30 ms | 23.0 ms | 121 × | 34.6 ms | 12.2 MB | 500 000 |
        | 10 000 pods, all resources | gzip | reference | 279 ms | 2.79 s |  | 4.18 s | 12.2 MB | 500 000 |

        ## Scrapes by Prometheus

        Prometheus' own figures on the same machine; most of the time is its parsing and storing. Of parts the time is the slowest part's, everything else the sum.

        | pods | target | scrape_duration_seconds | CPU of Prometheus | CPU of the exporter | scrape_body_size_bytes | scrape_samples_scraped |
        | --- | --- | --- | --- | --- | --- | --- |
        | 10 000 | ours, gzip | 4.00 s | 4.00 s | 100 ms | 89.2 MB | 500 000 |
        | 10 000 | reference, plain | 6.10 s | 6.10 s | 100 ms | 89.2 MB | 500 000 |

        ## A cluster that changes

        Gzip scrapes: p50 / p99 / slowest (how many); first every 15 s, which CPU a minute includes, then every second, or as fast as they come where one takes longer. Changes are of pods: replacements step by step, restarts. Age is the time from a change to the last scrape that does not show it, the most of some.

        | cluster | side | CPU a minute | part | slow scrapes | fast scrapes | age | resident | CPU of the API server a minute | changes/s counted |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        | 200 changes/s, 10 000 pods | ours | 2.00 s | 1/4.50 | 10.0 ms / 20.0 ms / 20.0 ms (4) | 10.0 ms / 20.0 ms / 20.0 ms (20) | 900 ms | 40.0 MiB | 500 ms | 200 |
        | 200 changes/s, 10 000 pods | reference | 9.00 s |  | 150 ms / 300 ms / 300 ms (4) | 150 ms / 300 ms / 300 ms (20) | 900 ms | 40.0 MiB | 500 ms | 200 |

        ## Relists

        The API server ends the watch with a 410, again and again. Time goes from there until the program rests, pauses included. Scrapes go through further relists; the part is the largest that one of them lacked.

        | pods | side | relists | CPU each | time each | resident before | peak | after the first | most after one | after the last | incomplete scrapes |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        | 10 000 | ours | 3 | 300 ms | 700 ms | 30.0 MiB | 60.0 MiB | 31.0 MiB | 33.0 MiB | 32.0 MiB | 0 of 9, 0.0 % |
        | 10 000 | reference | 3 | 300 ms | 700 ms | 30.0 MiB | 60.0 MiB | 31.0 MiB | 33.0 MiB | 32.0 MiB | 4 of 9, 75.0 % |

        ## One node

        `ksm-node`, and the reference with `--node`, for the pods of one node.

        | pods | side | resident | anonymous | peak | CPU a minute | ready after | body |
        | --- | --- | --- | --- | --- | --- | --- | --- |
        | 110 | ours | 6.00 MiB | 3.00 MiB | 12.0 MiB | 20.0 ms | 50.0 ms | 362 kB |
        | 110 | reference | 58.0 MiB | 29.0 MiB | 116 MiB | 20.0 ms | 50.0 ms | 362 kB |

        ## Shards

        What shards of `ksm-shard` read from an API server that filters for them (KEP-5866), until they are ready; parts of what one instance reads.

        | shards | bytes of all | most for one | least for one |
        | --- | --- | --- | --- |
        | 1 | 64.0 MB | 100.0 % |  |
        | 2 | 64.1 MB | 50.8 % | 49.4 % |

        ## Binaries

        Ours as released: stripped, optimised over all crates. Packed as in an image, to which roots of certificates add some 0.1 MiB.

        | binary | size | packed |
        | --- | --- | --- |
        | ksm-node | 6.00 MiB | 3.00 MiB |
        | kube-state-metrics | 87.0 MiB | 43.5 MiB |
    "#]].assert_eq(&markdown(&sample(), "cargo xtask bench", ""));
}

#[test]
fn what_is_written_by_hand_survives() {
    let (results, command) = (sample(), "cargo xtask bench");
    let first = markdown(&results, command, "");
    let edited = first.replace("reason not yet known.", "the reason, at last.");
    assert_ne!(first, edited);
    assert_eq!(markdown(&results, command, &edited), edited);
}

#[test]
fn a_page_of_nothing_says_so_little() {
    let page = markdown(&Results::default(), "cargo xtask bench", "");
    assert!(!page.contains("## Shards") && !page.contains("benchmarks.svg"), "{page}");
    assert!(page.ends_with(&format!("{}\n", BY_HAND.1)), "{page}");
}

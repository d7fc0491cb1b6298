//! What list/watches say of themselves, summed over namespaces.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::catalogue::{Catalogue, Live, ServedResource};
use crate::watch::{Count, Filtering, Progress};

/// Reads one of the counters.
type Read = fn(&Progress) -> &Count;

/// A counter by resource.
struct Counter {
    /// Without `_total`.
    name: &'static str,
    help: &'static str,
    count: Read,
}

const COUNTERS: &[Counter] = &[
    Counter {
        name: "kube_state_metrics_sharded_read_bytes",
        help: "Bytes of bodies read from the API server.",
        count: |progress| &progress.read_bytes,
    },
    Counter {
        name: "kube_state_metrics_sharded_watch_cuts",
        help: "Watches that broke off, otherwise than by the API server's time limit or 410.",
        count: |progress| &progress.watches_cut,
    },
    Counter { name: "kube_state_metrics_sharded_events", help: "Events applied.", count: |progress| &progress.events },
    Counter {
        name: "kube_state_metrics_sharded_foreign_objects",
        help: "Objects received that another shard owns.",
        count: |progress| &progress.foreign_objects,
    },
    Counter {
        name: "kube_state_metrics_sharded_object_errors",
        help: "Objects that did not decode or render, each of which has no samples.",
        count: |progress| &progress.object_errors,
    },
    Counter {
        name: "kube_state_metrics_sharded_relists",
        help: "Lists after the first that replaced what was served.",
        count: |progress| &progress.relists,
    },
    Counter {
        name: "kube_state_metrics_sharded_folds",
        help: "Passes that folded changes into packed text.",
        count: |progress| &progress.folds,
    },
];

/// Counters of microseconds, served in seconds.
const TIMES: &[Counter] = &[Counter {
    name: "kube_state_metrics_sharded_fold_seconds",
    help: "Time that folding changes into packed text took.",
    count: |progress| &progress.folds_us,
}];

/// A gauge by resource.
struct Gauge {
    name: &'static str,
    help: &'static str,
    /// `None` leaves the sample out.
    value: fn(&ServedResource) -> Option<f64>,
}

const GAUGES: &[Gauge] = &[
    Gauge {
        name: "kube_state_metrics_list_objects",
        help: "Objects that the last list took, all namespaces together; no sample without --object-limit.",
        value: |resource| limited(resource, |progress| &progress.listed),
    },
    Gauge {
        name: "kube_state_metrics_list_objects_limit",
        help: "Objects that a list may take at most; no sample without --object-limit.",
        value: |resource| {
            let limits = resource.progress().iter().map(|progress| progress.list_limit.get());
            limits.max().filter(|&limit| limit > 0).map(|limit| limit as f64)
        },
    },
    Gauge {
        name: "kube_state_metrics_sharded_objects",
        help: "Objects kept, those of this shard.",
        // Not what was shown to readers last: without any, that may be long ago.
        value: |resource| Some(sum(resource, |progress| &progress.objects) as f64),
    },
    Gauge {
        name: "kube_state_metrics_sharded_text_bytes",
        help: "Bytes of sample text served, as it is without compression.",
        value: |resource| Some(resource.totals().1.bytes as f64),
    },
    Gauge {
        name: "kube_state_metrics_sharded_packed_bytes",
        help: "Bytes of sample text kept in packed form.",
        value: |resource| Some(resource.packed_bytes() as f64),
    },
    Gauge {
        name: "kube_state_metrics_sharded_behind_seconds",
        help: "For how long changes have been read that a scrape does not show yet, the longest of all namespaces.",
        value: |resource| {
            let behind = resource.progress().iter().filter_map(|progress| progress.freshness.behind());
            Some(behind.max().unwrap_or_default().as_secs_f64())
        },
    },
    Gauge {
        name: "kube_state_metrics_sharded_synced",
        help: "Whether the initial list is complete, in every namespace.",
        value: |resource| Some(f64::from(resource.progress().iter().all(|progress| progress.is_synced()))),
    },
    Gauge {
        name: "kube_state_metrics_sharded_resharding",
        help: "Whether a list of what the share has gained is not complete yet, in any namespace.",
        value: |resource| Some(f64::from(resource.progress().iter().any(|progress| progress.is_resharding()))),
    },
    Gauge {
        name: "kube_state_metrics_sharded_refused",
        help: "Whether the API server refuses lists, in any namespace.",
        value: |resource| Some(f64::from(resource.progress().iter().any(|progress| progress.is_refused()))),
    },
    Gauge {
        name: "kube_state_metrics_sharded_not_found",
        help: "Whether the API server answers lists with 404, in every namespace: it has no such resource in this version.",
        value: |resource| Some(f64::from(resource.progress().iter().all(|progress| progress.is_not_found()))),
    },
    Gauge {
        name: "kube_state_metrics_sharded_server_side",
        help: "Whether the API server sends this shard's objects only; no sample while nothing is filtered.",
        value: |resource| match resource.filtering() {
            Filtering::None => None,
            Filtering::Local => Some(0.0),
            Filtering::ServerSide => Some(1.0),
        },
    },
    Gauge {
        name: "kube_state_metrics_sharded_sync_duration_seconds",
        help: "How long the initial list took, the slowest namespace's; no sample before.",
        value: |resource| {
            let synced = resource.progress().iter().filter(|progress| progress.is_synced());
            synced.map(|progress| progress.sync_duration_ms.get()).max().map(seconds)
        },
    },
    Gauge {
        name: "kube_state_metrics_sharded_last_event_timestamp_seconds",
        help: "When the last event or bookmark arrived, since the Unix epoch; no sample before.",
        value: |resource| {
            let last = resource.progress().iter().map(|progress| progress.last_event_ms.get()).max();
            last.filter(|&last| last > 0).map(seconds)
        },
    },
    Gauge {
        name: "kube_state_metrics_sharded_last_list_timestamp_seconds",
        help: "When the last list was complete, since the Unix epoch; no sample before.",
        value: |resource| {
            let last = resource.progress().iter().map(|progress| progress.last_list_ms.get()).max();
            last.filter(|&last| last > 0).map(seconds)
        },
    },
];

/// A sum over namespaces, if the number of objects is limited.
fn limited(resource: &ServedResource, count: Read) -> Option<f64> {
    let limited = resource.progress().iter().any(|progress| progress.list_limit.get() > 0);
    limited.then(|| sum(resource, count) as f64)
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

pub(super) struct Resources {
    pub(super) live: Arc<Live>,
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resources")
    }
}

impl Resources {
    /// Lists or watches by outcome.
    fn outcomes(
        catalogue: &Catalogue,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help): (&str, &str),
        outcomes: [(&str, Read); 2],
    ) -> Result<(), std::fmt::Error> {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for resource in catalogue.resources() {
            for (result, count) in outcomes {
                let labels = [("resource", resource.plural()), ("result", result)];
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&sum(resource, count), None)?;
            }
        }
        Ok(())
    }
}

impl Collector for Resources {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let served = self.live.load_full();
        let catalogue = &served.catalogue;
        Self::outcomes(
            catalogue,
            &mut encoder,
            ("kube_state_metrics_list", "Lists by resource and result, refused ones being errors."),
            [("success", |progress| &progress.lists_succeeded), ("error", |progress| &progress.lists_failed)],
        )?;
        Self::outcomes(
            catalogue,
            &mut encoder,
            ("kube_state_metrics_watch", "Watches that were opened or could not be, by resource and result."),
            [("success", |progress| &progress.watches_succeeded), ("error", |progress| &progress.watches_failed)],
        )?;
        for counter in COUNTERS {
            let mut family = encoder.encode_descriptor(counter.name, counter.help, None, MetricType::Counter)?;
            for resource in catalogue.resources() {
                family
                    .encode_family(&[("resource", resource.plural())])?
                    .encode_counter::<NoLabelSet, _, f64>(&sum(resource, counter.count), None)?;
            }
        }
        for time in TIMES {
            let mut family = encoder.encode_descriptor(time.name, time.help, None, MetricType::Counter)?;
            for resource in catalogue.resources() {
                let seconds = sum(resource, time.count) as f64 / 1e6;
                family
                    .encode_family(&[("resource", resource.plural())])?
                    .encode_counter::<NoLabelSet, _, f64>(&seconds, None)?;
            }
        }
        for gauge in GAUGES {
            let mut family = encoder.encode_descriptor(gauge.name, gauge.help, None, MetricType::Gauge)?;
            for resource in catalogue.resources() {
                if let Some(value) = (gauge.value)(resource) {
                    family.encode_family(&[("resource", resource.plural())])?.encode_gauge(&value)?;
                }
            }
        }
        Ok(())
    }
}

fn sum(resource: &ServedResource, count: Read) -> u64 {
    resource.progress().iter().map(|progress| count(progress).get()).sum()
}

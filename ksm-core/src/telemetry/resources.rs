//! What list/watches say of themselves, summed over namespaces.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};

use super::begin;
use crate::catalogue::{Catalogue, Live, ServedResource};
use crate::self_metrics::{self, SelfMetric};
use crate::watch::{Count, Filtering, Progress};

/// Reads one of the counters.
type Read = fn(&Progress) -> &Count;

/// A counter by resource.
struct Counter {
    metric: SelfMetric,
    count: Read,
}

const COUNTERS: &[Counter] = &[
    Counter { metric: self_metrics::READ_BYTES, count: |progress| &progress.read_bytes },
    Counter { metric: self_metrics::WATCH_CUTS, count: |progress| &progress.watches_cut },
    Counter { metric: self_metrics::EVENTS, count: |progress| &progress.events },
    Counter { metric: self_metrics::FOREIGN_OBJECTS, count: |progress| &progress.foreign_objects },
    Counter { metric: self_metrics::OBJECT_ERRORS, count: |progress| &progress.object_errors },
    Counter { metric: self_metrics::RELISTS, count: |progress| &progress.relists },
    Counter { metric: self_metrics::FOLDS, count: |progress| &progress.folds },
];

/// Counters of microseconds, served in seconds.
const TIMES: &[Counter] = &[Counter { metric: self_metrics::FOLD_TIME, count: |progress| &progress.folds_us }];

/// A gauge by resource.
struct Gauge {
    metric: SelfMetric,
    /// `None` leaves the sample out.
    value: fn(&ServedResource) -> Option<f64>,
}

const GAUGES: &[Gauge] = &[
    Gauge { metric: self_metrics::LIST_OBJECTS, value: |resource| limited(resource, |progress| &progress.listed) },
    Gauge {
        metric: self_metrics::LIST_OBJECTS_LIMIT,
        value: |resource| {
            let limits = resource.progress().iter().map(|progress| progress.list_limit.get());
            limits.max().filter(|&limit| limit > 0).map(|limit| limit as f64)
        },
    },
    Gauge {
        metric: self_metrics::OBJECTS,
        // Not what was shown to readers last: without any, that may be long ago.
        value: |resource| Some(sum(resource, |progress| &progress.objects) as f64),
    },
    Gauge { metric: self_metrics::TEXT_BYTES, value: |resource| Some(resource.totals().1.bytes as f64) },
    Gauge { metric: self_metrics::PACKED_BYTES, value: |resource| Some(resource.packed_bytes() as f64) },
    Gauge {
        metric: self_metrics::BEHIND,
        value: |resource| {
            let behind = resource.progress().iter().filter_map(|progress| progress.freshness.behind());
            Some(behind.max().unwrap_or_default().as_secs_f64())
        },
    },
    Gauge {
        metric: self_metrics::SYNCED,
        value: |resource| Some(f64::from(resource.progress().iter().all(|progress| progress.is_synced()))),
    },
    Gauge {
        metric: self_metrics::RESHARDING,
        value: |resource| Some(f64::from(resource.progress().iter().any(|progress| progress.is_resharding()))),
    },
    Gauge {
        metric: self_metrics::REFUSED,
        value: |resource| Some(f64::from(resource.progress().iter().any(|progress| progress.is_refused()))),
    },
    Gauge {
        metric: self_metrics::NOT_FOUND,
        value: |resource| Some(f64::from(resource.progress().iter().all(|progress| progress.is_not_found()))),
    },
    Gauge {
        metric: self_metrics::SERVER_SIDE,
        value: |resource| match resource.filtering() {
            Filtering::None => None,
            Filtering::Local => Some(0.0),
            Filtering::ServerSide => Some(1.0),
        },
    },
    Gauge {
        metric: self_metrics::SYNC_DURATION,
        value: |resource| {
            let synced = resource.progress().iter().filter(|progress| progress.is_synced());
            synced.map(|progress| progress.sync_duration_ms.get()).max().map(seconds)
        },
    },
    Gauge {
        metric: self_metrics::LAST_EVENT,
        value: |resource| {
            let last = resource.progress().iter().map(|progress| progress.last_event_ms.get()).max();
            last.filter(|&last| last > 0).map(seconds)
        },
    },
    Gauge {
        metric: self_metrics::LAST_LIST,
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
        metric: SelfMetric,
        outcomes: [(&str, Read); 2],
    ) -> Result<(), std::fmt::Error> {
        let mut family = begin(encoder, metric)?;
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
            self_metrics::LIST,
            [("success", |progress| &progress.lists_succeeded), ("error", |progress| &progress.lists_failed)],
        )?;
        Self::outcomes(
            catalogue,
            &mut encoder,
            self_metrics::WATCH,
            [("success", |progress| &progress.watches_succeeded), ("error", |progress| &progress.watches_failed)],
        )?;
        for counter in COUNTERS {
            let mut family = begin(&mut encoder, counter.metric)?;
            for resource in catalogue.resources() {
                family
                    .encode_family(&[("resource", resource.plural())])?
                    .encode_counter::<NoLabelSet, _, f64>(&sum(resource, counter.count), None)?;
            }
        }
        for time in TIMES {
            let mut family = begin(&mut encoder, time.metric)?;
            for resource in catalogue.resources() {
                let seconds = sum(resource, time.count) as f64 / 1e6;
                family
                    .encode_family(&[("resource", resource.plural())])?
                    .encode_counter::<NoLabelSet, _, f64>(&seconds, None)?;
            }
        }
        for gauge in GAUGES {
            let mut family = begin(&mut encoder, gauge.metric)?;
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

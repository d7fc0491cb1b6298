//! What sharding says of itself: its place in the set, and changes of it.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::catalogue::Live;

/// Place, scheme and reshards.
pub(super) struct Sharding {
    pub(super) live: Arc<Live>,
}

impl std::fmt::Debug for Sharding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sharding")
    }
}

impl Collector for Sharding {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let status = self.live.load().about.shares.status();
        // Of a place that is not known yet nothing is said.
        if let Some((ordinal, total)) = status.place {
            let label = [("shard_ordinal", ordinal.to_string())];
            encoder
                .encode_descriptor(
                    "kube_state_metrics_shard_ordinal",
                    "Which shard of the set this is, counted from 0.",
                    None,
                    MetricType::Gauge,
                )?
                .encode_family(&label)?
                .encode_gauge(&ordinal)?;
            encoder
                .encode_descriptor(
                    "kube_state_metrics_total_shards",
                    "How many shards the set has.",
                    None,
                    MetricType::Gauge,
                )?
                .encode_gauge(&total)?;
        }
        encoder
            .encode_descriptor(
                "kube_state_metrics_sharded_scheme_info",
                "How objects are spread over shards, as a label; always 1.",
                None,
                MetricType::Gauge,
            )?
            .encode_family(&[("scheme", status.scheme.word())])?
            .encode_gauge(&1_u32)?;
        encoder
            .encode_descriptor(
                "kube_state_metrics_sharded_reshard_overlap",
                "Whether objects that were given away to other shards are served still.",
                None,
                MetricType::Gauge,
            )?
            .encode_gauge(&u32::from(status.overlapping))?;
        let counters = [
            (
                "kube_state_metrics_sharded_reshards",
                "Changes of the place in the set that were carried through.",
                status.reshards as f64,
            ),
            (
                "kube_state_metrics_sharded_reshard_seconds",
                "Time from each such change until nothing more was to do for it.",
                status.reshard_time.as_secs_f64(),
            ),
            (
                "kube_state_metrics_sharded_given_away_objects",
                "Objects that other shards own by now and that are no longer served.",
                status.given_away as f64,
            ),
        ];
        for (name, help, value) in counters {
            encoder
                .encode_descriptor(name, help, None, MetricType::Counter)?
                .encode_counter::<NoLabelSet, _, f64>(&value, None)?;
        }
        Ok(())
    }
}

//! What sharding says of itself: its place in the set, and changes of it.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};

use super::begin;
use crate::catalogue::Live;
use crate::self_metrics;

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
            begin(&mut encoder, self_metrics::SHARD_ORDINAL)?.encode_family(&label)?.encode_gauge(&ordinal)?;
            begin(&mut encoder, self_metrics::TOTAL_SHARDS)?.encode_gauge(&total)?;
        }
        begin(&mut encoder, self_metrics::SCHEME_INFO)?
            .encode_family(&[("scheme", status.scheme.word())])?
            .encode_gauge(&1_u32)?;
        begin(&mut encoder, self_metrics::RESHARD_OVERLAP)?.encode_gauge(&u32::from(status.overlapping))?;
        let counters = [
            (self_metrics::RESHARDS, status.reshards as f64),
            (self_metrics::RESHARD_TIME, status.reshard_time.as_secs_f64()),
            (self_metrics::GIVEN_AWAY, status.given_away as f64),
        ];
        for (metric, value) in counters {
            begin(&mut encoder, metric)?.encode_counter::<NoLabelSet, _, f64>(&value, None)?;
        }
        Ok(())
    }
}

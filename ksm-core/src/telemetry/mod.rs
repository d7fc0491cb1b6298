//! Self-metrics: what the process says of itself on the telemetry port.
//!
//! Numbers are read when they are scraped, from the counters that list/watches keep anyway; only requests are counted
//! here. Names that kube-state-metrics has are kept, with the plural name of the resource as `resource`.

mod files;
mod process;
mod resources;
mod sharding;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Method;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub use files::Files;

use crate::catalogue::Live;
use crate::exposition::Format;
use crate::self_metrics::{self, SelfKind, SelfMetric};

/// Upper bounds in seconds, the usual ones of Prometheus client libraries.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

type RequestLabels = [(&'static str, &'static str); 2];
type Requests = Family<RequestLabels, Histogram, fn() -> Histogram>;

/// Everything the process says of itself.
#[derive(Debug)]
pub struct Telemetry {
    registry: Registry,
    requests: Requests,
}

impl Telemetry {
    /// Self-metrics of a process that serves what is in `live`, as `files` say.
    pub fn new(live: Arc<Live>, files: Arc<Files>) -> Self {
        let mut registry = Registry::default();
        let requests = Requests::new_with_constructor(|| Histogram::new(BUCKETS));
        // The registry ends a help text with a full stop itself.
        let SelfMetric { name, help, .. } = self_metrics::REQUEST_DURATION;
        registry.register(name, help.trim_end_matches('.'), requests.clone());
        registry.register_collector(Box::new(Identity { live: Arc::clone(&live) }));
        registry.register_collector(Box::new(sharding::Sharding { live: Arc::clone(&live) }));
        registry.register_collector(Box::new(files::FilesCollector { files }));
        registry.register_collector(Box::new(resources::Resources { live }));
        registry.register_collector(Box::new(process::Process { started: unix_seconds(SystemTime::now()) }));
        Self { registry, requests }
    }

    /// Notes that a scrape with that method took so long.
    pub fn observe_request(&self, method: &Method, duration: Duration) {
        let method = if *method == Method::HEAD { "head" } else { "get" };
        let labels = [("handler", "metrics"), ("method", method)];
        self.requests.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    /// The exposition.
    pub fn encode(&self, format: Format) -> String {
        let mut out = String::with_capacity(16 * 1024);
        let encoded = match format {
            Format::Text => prometheus_text::encode(&mut out, &self.registry),
            Format::OpenMetrics => text::encode(&mut out, &self.registry),
        };
        encoded.expect("writing to a string does not fail");
        out
    }
}

/// Begins a family of the table of self-metrics.
fn begin<'a>(encoder: &'a mut DescriptorEncoder<'_>, metric: SelfMetric) -> Result<MetricEncoder<'a>, std::fmt::Error> {
    let kind = match metric.kind {
        SelfKind::Counter => MetricType::Counter,
        SelfKind::Gauge => MetricType::Gauge,
        SelfKind::Histogram => MetricType::Histogram,
    };
    encoder.encode_descriptor(metric.name, metric.help, None, kind)
}

fn unix_seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Version.
struct Identity {
    live: Arc<Live>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity")
    }
}

impl Collector for Identity {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let build = self.live.load().about.build;
        let build = [
            ("program", build.name),
            ("version", build.version),
            ("revision", build.revision),
            ("date", build.date),
            ("os", std::env::consts::OS),
            ("arch", std::env::consts::ARCH),
        ];
        begin(&mut encoder, self_metrics::BUILD_INFO)?.encode_family(&build)?.encode_gauge(&1_u32)
    }
}

#[cfg(test)]
mod tests;

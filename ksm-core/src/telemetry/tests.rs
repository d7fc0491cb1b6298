//! Self-metrics in both formats.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::build::Build;
use crate::catalogue::{About, Catalogue, Served, ServedResource};
use crate::self_metrics::TOPICS;
use crate::shard::{Scheme, Shard};
use crate::store::{ObjectKey, Store};
use crate::watch::{Filtering, Progress, Shares};

const BUILD: Build = Build { name: "ksm-test", version: "1.2.3", revision: "abc", date: "2026-01-02T03:04:05Z" };

/// Two namespaces of a resource, the second of which holds two objects.
fn telemetry() -> Telemetry {
    let resource = crate::resources::find("daemonsets").unwrap();
    let plan = crate::family::Plan::new(
        &resource.families(),
        |_| false,
        crate::family::KeyFilter::None,
        crate::family::KeyFilter::None,
    );
    let (mut empty, mut full) = (Store::new(0), Store::new(0));
    for uid in ["a", "b"] {
        full.apply(ObjectKey::from_uid(uid), &crate::resource::Rendered::default());
    }
    full.publish();
    empty.publish();
    let progress = [Arc::new(Progress::default()), Arc::new(Progress::default())];
    progress[0].lists_failed.add(3);
    progress[1].lists_failed.add(1);
    progress[1].lists_succeeded.add(1);
    progress[0].folds.add(3);
    progress[1].folds.add(4);
    progress[1].folds_us.add(250_000);
    progress[1].set_synced();
    progress[1].set_filtering(Filtering::ServerSide);
    progress[1].sync_duration_ms.set(1500);
    progress[1].last_event_ms.set(1_700_000_000_250);
    progress[1].read_bytes.add(1000);
    progress[1].objects.set(2);
    progress[1].last_list_ms.set(1_700_000_000_000);
    progress[1].list_limit.set(10);
    let served = ServedResource::new(Arc::new(resource), &plan, vec![empty.reader(), full.reader()], progress.to_vec());
    let shard = Shard::new(1, 3, Scheme::Range).unwrap();
    let about = About { build: BUILD, part: String::new(), shares: shard.into() };
    let served = Served { about, catalogue: Arc::new(Catalogue::new(vec![served])), gzip: false };
    let files = Arc::new(Files::default());
    files.succeeded("config", Path::new("f.yaml"), b"port: 1\n");
    files.failed("tls_config", Path::new("w.yaml"));
    files.set_pending(vec!["port"]);
    files.set_waiting(BTreeMap::from([("pods".to_owned(), 1)]));
    Telemetry::new(Arc::new(Live::from_pointee(served)), files)
}

#[track_caller]
fn check(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|other| other == *line), "no line {line} in\n{text}");
    }
}

/// Names of a sample's labels, but for the bound of a bucket.
fn labels(sample: &str) -> Vec<&str> {
    let labels = sample.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map_or("", |(labels, _)| labels);
    labels.split(',').filter_map(|label| Some(label.split_once('=')?.0)).filter(|name| *name != "le").collect()
}

#[test]
fn what_is_said_is_what_the_table_says() {
    let telemetry = telemetry();
    telemetry.observe_request(&Method::GET, Duration::from_millis(30));
    let text = telemetry.encode(Format::Text);
    let said = text.split("# HELP ").skip(1).map(|family| {
        let [head, kind, samples] = family.splitn(3, '\n').collect::<Vec<_>>()[..] else { panic!("{family}") };
        let (name, help) = head.split_once(' ').unwrap();
        let labels: BTreeSet<_> = samples.lines().map(labels).collect();
        (name.to_owned(), format!("{} {labels:?} {help}", kind.rsplit(' ').next().unwrap()))
    });
    let table = TOPICS.iter().flat_map(|(_, metrics)| *metrics).map(|metric| {
        let labels = BTreeSet::from([metric.labels.to_vec()]);
        (metric.full_name(), format!("{} {labels:?} {}", metric.kind.word(), metric.help))
    });
    assert_eq!(said.collect::<BTreeMap<_, _>>(), table.collect::<BTreeMap<_, _>>());
}

#[test]
fn names_of_kube_state_metrics_are_kept() {
    let telemetry = telemetry();
    telemetry.observe_request(&Method::GET, Duration::from_millis(30));
    check(
        &telemetry.encode(Format::Text),
        &[
            "# TYPE kube_state_metrics_list_total counter",
            "kube_state_metrics_list_total{resource=\"daemonsets\",result=\"error\"} 4",
            "kube_state_metrics_list_total{resource=\"daemonsets\",result=\"success\"} 1",
            "kube_state_metrics_watch_total{resource=\"daemonsets\",result=\"success\"} 0",
            "# TYPE kube_state_metrics_shard_ordinal gauge",
            "kube_state_metrics_shard_ordinal{shard_ordinal=\"1\"} 1",
            "kube_state_metrics_total_shards 3",
            "kube_state_metrics_sharded_scheme_info{scheme=\"range\"} 1",
            "kube_state_metrics_sharded_reshard_overlap 0",
            "kube_state_metrics_sharded_reshards_total 0.0",
            "kube_state_metrics_sharded_resharding{resource=\"daemonsets\"} 0.0",
            // As Prometheus servers hash their configuration: six bytes of the MD5 sum.
            "kube_state_metrics_config_hash{type=\"config\",filename=\"f.yaml\"} 216709066082935.0",
            "kube_state_metrics_last_config_reload_successful{type=\"config\",filename=\"f.yaml\"} 1",
            "kube_state_metrics_last_config_reload_successful{type=\"tls_config\",filename=\"w.yaml\"} 0",
            "# TYPE http_request_duration_seconds histogram",
            "http_request_duration_seconds_bucket{handler=\"metrics\",method=\"get\",le=\"0.025\"} 0",
            "http_request_duration_seconds_bucket{handler=\"metrics\",method=\"get\",le=\"0.05\"} 1",
            "http_request_duration_seconds_count{handler=\"metrics\",method=\"get\"} 1",
        ],
    );
}

#[test]
fn numbers_are_sums_over_namespaces() {
    check(
        &telemetry().encode(Format::Text),
        &[
            "# TYPE kube_state_metrics_sharded_objects gauge",
            "kube_state_metrics_sharded_objects{resource=\"daemonsets\"} 2.0",
            "kube_state_metrics_sharded_synced{resource=\"daemonsets\"} 0.0",
            "kube_state_metrics_sharded_folds_total{resource=\"daemonsets\"} 7",
            "kube_state_metrics_sharded_fold_seconds_total{resource=\"daemonsets\"} 0.25",
            "kube_state_metrics_sharded_behind_seconds{resource=\"daemonsets\"} 0.0",
            "kube_state_metrics_sharded_packed_bytes{resource=\"daemonsets\"} 0.0",
            "kube_state_metrics_sharded_server_side{resource=\"daemonsets\"} 1.0",
            "kube_state_metrics_sharded_sync_duration_seconds{resource=\"daemonsets\"} 1.5",
            "kube_state_metrics_sharded_last_event_timestamp_seconds{resource=\"daemonsets\"} 1700000000.25",
            "kube_state_metrics_sharded_read_bytes_total{resource=\"daemonsets\"} 1000",
        ],
    );
}

#[test]
fn openmetrics_is_ended_and_text_is_not() {
    let telemetry = telemetry();
    let (text, openmetrics) = (telemetry.encode(Format::Text), telemetry.encode(Format::OpenMetrics));
    assert!(openmetrics.ends_with("# EOF\n"));
    check(&openmetrics, &["# TYPE kube_state_metrics_list counter"]);
    assert!(!text.contains("# EOF"));
    for text in [text, openmetrics] {
        check(
            &text,
            &[
                "kube_state_metrics_build_info{program=\"ksm-test\",version=\"1.2.3\",revision=\"abc\",date=\"2026-01-02T03:04:05Z\",os=\"linux\",arch=\"x86_64\"} 1",
            ],
        );
        assert!(text.contains("\nprocess_resident_memory_bytes "));
        assert!(text.contains("\nprocess_cpu_seconds_total "));
    }
}

#[test]
fn reshards_are_counted_and_an_unknown_place_is_not_made_up() {
    let shares = Shares::unknown(Scheme::Md5);
    let about = About { build: BUILD, part: String::new(), shares: shares.clone() };
    let served = Served { about, catalogue: Arc::new(Catalogue::new(Vec::new())), gzip: false };
    let telemetry = Telemetry::new(Arc::new(Live::from_pointee(served)), Arc::new(Files::default()));
    let before = telemetry.encode(Format::Text);
    assert!(!before.contains("kube_state_metrics_total_shards"), "{before}");
    assert!(!before.contains("kube_state_metrics_shard_ordinal"), "{before}");
    shares.update(|status| {
        status.place = Some((2, 4));
        status.overlapping = true;
        status.reshards = 3;
        status.reshard_time = Duration::from_millis(1500);
        status.given_away = 7;
    });
    check(
        &telemetry.encode(Format::Text),
        &[
            "kube_state_metrics_shard_ordinal{shard_ordinal=\"2\"} 2",
            "kube_state_metrics_total_shards 4",
            "kube_state_metrics_sharded_scheme_info{scheme=\"md5\"} 1",
            "kube_state_metrics_sharded_reshard_overlap 1",
            "kube_state_metrics_sharded_reshards_total 3.0",
            "kube_state_metrics_sharded_reshard_seconds_total 1.5",
            "kube_state_metrics_sharded_given_away_objects_total 7.0",
        ],
    );
}

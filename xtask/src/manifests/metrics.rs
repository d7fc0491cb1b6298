//! Which metrics the rules and dashboards in `deploy/monitoring` read.
//!
//! Invariant: every name in an expression is found, and nothing that is a label, a function or a keyword.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::dashboards;
use crate::cargo;

/// What every exporter says of itself; the scenario `overlays` of `cargo xtask e2e` compares this with what one serves.
pub const SELF_METRICS: [&str; 34] = [
    "http_request_duration_seconds_bucket",
    "http_request_duration_seconds_count",
    "http_request_duration_seconds_sum",
    "kube_state_metrics_build_info",
    "kube_state_metrics_list_total",
    "kube_state_metrics_shard_ordinal",
    "kube_state_metrics_sharded_behind_seconds",
    "kube_state_metrics_sharded_events_total",
    "kube_state_metrics_sharded_fold_seconds_total",
    "kube_state_metrics_sharded_folds_total",
    "kube_state_metrics_sharded_foreign_objects_total",
    "kube_state_metrics_sharded_last_event_timestamp_seconds",
    "kube_state_metrics_sharded_last_list_timestamp_seconds",
    "kube_state_metrics_sharded_not_found",
    "kube_state_metrics_sharded_object_errors_total",
    "kube_state_metrics_sharded_objects",
    "kube_state_metrics_sharded_packed_bytes",
    "kube_state_metrics_sharded_read_bytes_total",
    "kube_state_metrics_sharded_refused",
    "kube_state_metrics_sharded_relists_total",
    "kube_state_metrics_sharded_reshard_overlap",
    "kube_state_metrics_sharded_reshards_total",
    "kube_state_metrics_sharded_server_side",
    "kube_state_metrics_sharded_sync_duration_seconds",
    "kube_state_metrics_sharded_synced",
    "kube_state_metrics_sharded_text_bytes",
    "kube_state_metrics_sharded_watch_cuts_total",
    "kube_state_metrics_total_shards",
    "kube_state_metrics_watch_total",
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
];

/// What one with a configuration file says as well.
const FILE_METRICS: [&str; 1] = ["kube_state_metrics_last_config_reload_successful"];

/// What Prometheus itself writes about a target.
const SCRAPE_METRICS: [&str; 3] = ["up", "scrape_duration_seconds", "scrape_samples_scraped"];

/// Words of PromQL that stand where a metric could.
const KEYWORDS: [&str; 11] =
    ["and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left", "group_right"];

/// Keywords that a list of labels follows.
const BEFORE_LABELS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

/// Names of metrics in a PromQL expression.
fn names(expression: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut rest = expression;
    let mut labels_follow = false;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '{' => until(rest, '}'),
            '[' => until(rest, ']'),
            '"' => until(rest, '"'),
            '(' if labels_follow => until(rest, ')'),
            _ if first.is_ascii_digit() => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len())
            }
            _ if is_word(first) => {
                let end = rest.find(|c: char| !is_word(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
                let (word, behind) = rest.split_at(end);
                let called = behind.trim_start().starts_with('(');
                // An aggregation's labels may stand between its name and its brackets.
                let next = behind.trim_start().split(|c: char| !is_word(c)).next().unwrap_or_default();
                if !KEYWORDS.contains(&word) && !called && !["by", "without"].contains(&next) {
                    names.insert(word.to_owned());
                }
                labels_follow = BEFORE_LABELS.contains(&word);
                rest = behind;
                continue;
            }
            _ => first.len_utf8(),
        };
        labels_follow &= first.is_whitespace();
        rest = &rest[skipped..];
    }
    names
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == ':'
}

/// The length of `text` up to and with the first `end` behind its start and outside of quotes.
fn until(text: &str, end: char) -> usize {
    let mut quoted = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == end && !quoted {
            return at + c.len_utf8();
        }
        quoted ^= c == '"';
    }
    text.len()
}

/// Every expression of a file of rules or a dashboard.
pub fn expressions(document: &Value) -> Vec<String> {
    strings(document, "expr")
}

/// Every string that has this key, at any depth.
fn strings(document: &Value, key: &str) -> Vec<String> {
    match document {
        Value::Array(items) => items.iter().flat_map(|item| strings(item, key)).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match value {
                Value::String(text) if name == key => vec![text.clone()],
                _ => strings(value, key),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The rules in `deploy/monitoring`.
pub fn rules() -> Result<Value> {
    let path = cargo::workspace_root().join("deploy/monitoring/rules.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_norway::from_str(&text).with_context(|| path.display().to_string())
}

/// Fails if the rules or a dashboard in `deploy/monitoring` read a metric that nobody serves.
pub fn check_files() -> Result<()> {
    let mut documents = vec![rules()?];
    for (path, text) in dashboards::files()? {
        documents.push(serde_json::from_str(&text).context(path)?);
    }
    let unknown = unknown(&documents);
    ensure!(unknown.is_empty(), "deploy/monitoring reads metrics that do not exist: {}", unknown.join(", "));
    Ok(())
}

/// Metrics that rules or dashboards read, and that neither exist nor are recorded by the rules.
fn unknown(documents: &[Value]) -> Vec<String> {
    let recorded: Vec<String> = documents.iter().flat_map(|document| strings(document, "record")).collect();
    let read: BTreeSet<String> = documents.iter().flat_map(expressions).flat_map(|text| names(&text)).collect();
    read.into_iter().filter(|name| !is_known(name) && !recorded.contains(name)).collect()
}

/// Whether a metric is one of ours or of Prometheus about us.
fn is_known(name: &str) -> bool {
    let of_cluster = |name: &str| {
        ksm_core::resources::all().iter().any(|resource| resource.families().iter().any(|family| family.name == name))
    };
    SELF_METRICS.contains(&name) || FILE_METRICS.contains(&name) || SCRAPE_METRICS.contains(&name) || of_cluster(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: &[&str]) {
        assert_eq!(names(expression).iter().map(String::as_str).collect::<Vec<_>>(), expected, "{expression}");
    }

    #[test]
    fn names_are_told_from_labels_and_functions() {
        check("up", &["up"]);
        check("sum by (a, b) (rate(x_total{c=\"d\",e=~\"f}g\"}[5m])) > 0", &["x_total"]);
        check("a / on (pod) group_left max by (x) (b) unless c == bool 1", &["a", "b", "c"]);
        check("topk(10, ns:rec:rate5m) offset 5m", &["ns:rec:rate5m"]);
        check("count(a) > on () count(b)", &["a", "b"]);
        check("time() - sum(x) by (le) > 1e3", &["x"]);
    }

    #[test]
    fn rules_and_dashboards_read_only_metrics_that_exist() {
        check_files().unwrap();
    }

    #[test]
    fn an_unknown_metric_is_reported_and_a_recorded_one_is_not() {
        let rules = serde_json::json!({"groups": [{"rules": [
            {"record": "ksm:a:sum", "expr": "sum(kube_pod_info) + kube_pod_nonsense"},
            {"alert": "A", "expr": "ksm:a:sum > 1 or ksm:b:sum"},
        ]}]});
        assert_eq!(unknown(&[rules]), ["ksm:b:sum", "kube_pod_nonsense"]);
    }

    /// Someone who is woken at night reads these.
    #[test]
    fn every_alert_says_what_it_means_and_what_to_do() {
        let rules = rules().unwrap();
        let mut alerts = 0;
        for rule in rules["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap()) {
            let Some(name) = rule["alert"].as_str() else { continue };
            alerts += 1;
            for field in ["summary", "description", "runbook"] {
                assert!(rule["annotations"][field].as_str().is_some_and(|text| text.len() > 10), "{name}: {field}");
            }
            assert!(["info", "warning", "critical"].contains(&rule["labels"]["severity"].as_str().unwrap()), "{name}");
        }
        assert!(alerts > 10);
    }

    /// promtool runs the tests; that none is missing it cannot know.
    #[test]
    fn every_alert_is_tested_to_fire_and_to_keep_quiet() {
        let text = fs::read_to_string(cargo::workspace_root().join("deploy/monitoring/rules.test.yaml")).unwrap();
        let tests: Value = serde_norway::from_str(&text).unwrap();
        let each = |document: &Value, key: &str| document[key].as_array().cloned().unwrap_or_default();
        let groups = each(&tests, "tests");
        let firing: Vec<String> = groups
            .iter()
            .flat_map(|group| each(group, "promql_expr_test"))
            .flat_map(|test| each(&test, "exp_samples"))
            .filter_map(|sample| sample["labels"].as_str().map(str::to_owned))
            .collect();
        let quiet: Vec<Value> = groups
            .iter()
            .flat_map(|group| each(group, "alert_rule_test"))
            .filter(|test| test["exp_alerts"] == serde_json::json!([]))
            .collect();
        for name in strings(&rules().unwrap(), "alert") {
            let fires = format!("ALERTS{{alertname=\"{name}\",alertstate=\"firing\",");
            assert!(firing.iter().any(|labels| labels.starts_with(&fires)), "{name} is not tested to fire");
            assert!(quiet.iter().any(|test| test["alertname"] == name), "{name} is not tested to keep quiet");
        }
    }
}

//! `docs/self-metrics.md`: every family in which a process speaks of itself, from the table of self-metrics.
//!
//! Invariant: what is in the table is in the page, in its words.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ksm_core::self_metrics::{SelfMetric, TOPICS};

use super::escape;
use crate::cargo;

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs` from the table of self-metrics. -->

# Self-metrics

What a process says of itself: `/metrics` of the telemetry port, 8081 by default. What it says about the cluster is in \
[metrics.md](metrics.md).

- Names are as in queries: those of counters end in `_total`, and a histogram has `_bucket`, `_count` and `_sum`. \
OpenMetrics names the family of a counter without `_total`.
- `kube_state_metrics_sharded_*` are our own; the others are those of kube-state-metrics, with the differences in \
[migrating.md](migrating.md#self-metrics).
- With the label `resource`, its plural name, there is a sample for each resource that is served.
- What says \"whether\" is 1 or 0. Files have samples only where one is used. `process_*` are there on Linux.

The alerts in `deploy/monitoring/rules.yaml` and the dashboard `exporter.json` read them; \
[troubleshooting.md](troubleshooting.md) says which to look at first.
";

/// Writes the page.
pub fn write() -> Result<()> {
    let path = path();
    std::fs::write(&path, page(TOPICS)).with_context(|| format!("cannot write {}", path.display()))
}

/// Fails if the page is not what the table says.
pub fn compare() -> Result<()> {
    let path = path();
    let found = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if found != page(TOPICS) {
        bail!("{} is not what the table of self-metrics says: run `cargo xtask docs`", path.display());
    }
    Ok(())
}

fn path() -> PathBuf {
    cargo::workspace_root().join("docs/self-metrics.md")
}

fn page(topics: &[(&str, &[SelfMetric])]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for (topic, metrics) in topics {
        let _ = write!(text, "\n## {topic}\n\n| name | type | labels | meaning |\n|---|---|---|---|\n");
        for metric in *metrics {
            let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, kind, help) = (metric.full_name(), metric.kind.word(), escape(metric.help));
            let _ = writeln!(text, "| `{name}` | {kind} | {} | {help} |", labels.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use ksm_core::self_metrics::SelfKind;

    use super::*;

    #[test]
    fn the_page_in_docs_is_what_the_table_of_self_metrics_says() {
        compare().unwrap();
    }

    #[test]
    fn a_row_says_all_that_the_table_says() {
        let metric = |name, kind, labels| SelfMetric { name, kind, labels, help: "One | two." };
        let metrics = [metric("a", SelfKind::Counter, &["x", "y"][..]), metric("b_seconds", SelfKind::Gauge, &[])];
        let text = page(&[("Some", &metrics)]);
        let (_, section) = text.split_once("\n## ").unwrap();
        assert_eq!(
            section,
            "Some\n\n| name | type | labels | meaning |\n|---|---|---|---|\n\
             | `a_total` | counter | `x`, `y` | One \\| two. |\n| `b_seconds` | gauge |  | One \\| two. |\n"
        );
    }
}

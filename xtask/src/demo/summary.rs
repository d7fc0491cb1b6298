//! What one exporter serves, counted without keeping the body.
//!
//! Invariant: pure over the text, apart from the scrape itself; works on bodies of hundreds of megabytes.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::exporter::Exporter;
use crate::exposition::{Format, parse_sample};
use crate::progress::elapsed;
use crate::table;

/// Objects held, by resource.
const OBJECTS: &str = "kube_state_metrics_sharded_objects";

/// Seconds from start to a complete initial list, by resource.
const SYNC_SECONDS: &str = "kube_state_metrics_sharded_sync_duration_seconds";

/// Figures of one body.
#[derive(Debug, Default, PartialEq)]
pub struct Summary {
    /// TYPE lines.
    pub families: u64,
    /// Sample lines.
    pub samples: u64,
    /// Length of the body.
    pub bytes: u64,
    /// Objects other than pods, by their `*_created` family.
    pub others: u64,
    /// Pods by the node they name, empty for none.
    nodes: BTreeMap<String, u64>,
}

impl Summary {
    /// Scrapes and counts.
    pub fn read(exporter: &Exporter) -> Result<Self> {
        Ok(Self::of(&exporter.scrape(Format::Text)?.body))
    }

    fn of(body: &str) -> Self {
        let mut summary = Self { bytes: body.len() as u64, ..Self::default() };
        for line in body.lines() {
            if line.starts_with('#') {
                summary.families += u64::from(line.starts_with("# TYPE "));
                continue;
            }
            summary.samples += 1;
            if line.starts_with("kube_pod_info{") {
                let node = parse_sample(line, Format::Text).ok().and_then(|info| info.label("node").map(str::to_owned));
                *summary.nodes.entry(node.unwrap_or_default()).or_default() += 1;
            } else if let Some((name, _)) = line.split_once('{') {
                summary.others += u64::from(name.ends_with("_created") && name != "kube_pod_created");
            }
        }
        summary
    }

    /// All pods.
    pub fn pods(&self) -> u64 {
        self.nodes.values().sum()
    }

    /// Pods of one node.
    pub fn pods_on(&self, node: &str) -> u64 {
        self.nodes.get(node).copied().unwrap_or_default()
    }

    /// The node with the most pods.
    pub fn busiest_node(&self) -> Option<&str> {
        let named = self.nodes.iter().filter(|(node, _)| !node.is_empty());
        named.max_by_key(|(_, pods)| **pods).map(|(node, _)| node.as_str())
    }
}

/// A line of the table.
pub struct Row {
    /// The name of the binary.
    pub binary: String,
    /// What it is responsible for.
    pub share: String,
    /// What it serves.
    pub summary: Summary,
    objects: u64,
    synced: String,
}

impl Row {
    /// Reads both ports of an exporter.
    pub fn of(exporter: &Exporter, share: &str) -> Result<Self> {
        let summary = Summary::read(exporter)?;
        let own = exporter.self_metrics()?;
        let objects: f64 = own.select(OBJECTS, &[]).map(|sample| sample.value).sum();
        let seconds = own.select(SYNC_SECONDS, &[]).map(|sample| sample.value).reduce(f64::max);
        Ok(Self {
            binary: exporter.name().to_owned(),
            share: share.to_owned(),
            objects: if objects > 0.0 { objects as u64 } else { summary.pods() + summary.others },
            synced: seconds.map_or_else(
                || "?".to_owned(),
                |seconds| elapsed(std::time::Duration::from_secs_f64(seconds.max(0.0))),
            ),
            summary,
        })
    }
}

/// All rows, with a header.
pub fn table(rows: &[Row]) -> String {
    let header = ["binary", "responsible for", "objects", "families", "samples", "bytes", "synced in"];
    let cells = |row: &Row| {
        let counts = [row.objects, row.summary.families, row.summary.samples, row.summary.bytes].map(table::count);
        [&[row.binary.clone(), row.share.clone()], counts.as_slice(), std::slice::from_ref(&row.synced)].concat()
    };
    table::render(&header, &rows.iter().map(cells).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "# HELP kube_pod_info Information.
# TYPE kube_pod_info gauge
kube_pod_info{namespace=\"a\",pod=\"x\",node=\"n1\"} 1
kube_pod_info{namespace=\"a\",pod=\"y\",node=\"n2\"} 1
kube_pod_info{namespace=\"a\",pod=\"z\",node=\"n2\"} 1
kube_pod_info{namespace=\"a\",pod=\"q\",node=\"\"} 1
# HELP kube_pod_created Time.
# TYPE kube_pod_created gauge
kube_pod_created{namespace=\"a\",pod=\"x\"} 1
# HELP kube_job_created Time.
# TYPE kube_job_created gauge
kube_job_created{namespace=\"a\",job_name=\"x\"} 1
";

    #[test]
    fn pods_are_counted_by_node_and_other_objects_by_creation() {
        let summary = Summary::of(BODY);
        assert_eq!((summary.families, summary.samples, summary.others), (3, 6, 1));
        assert_eq!((summary.pods(), summary.pods_on("n2"), summary.pods_on("")), (4, 2, 1));
        assert_eq!(summary.busiest_node(), Some("n2"));
    }
}

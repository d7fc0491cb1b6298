//! The scrapes of `deploy/` that are made from others: over TLS, in parts, and by a PodMonitor.
//!
//! Invariant: what a scrape is stands in two files written by hand, `scrape.yaml` for plain Prometheus and the
//! ServiceMonitor for the operator, and a test holds these two together.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

use super::generated::NOTE;
use crate::cargo;

/// Where the scrape configurations are.
const CONFIGS: &str = "deploy/prometheus-config";

/// The monitor written by hand.
const MONITOR: &str = "deploy/components/prometheus-operator/service-monitor.yaml";

/// Parts of a scrape.
const PARTS: usize = 4;

/// The end of the first scrape of a file, that of the cluster.
const NEXT: &str = "# Of the exporters themselves";

/// What a scrape of a workload with the component `tls-auth` needs.
const TLS: &str = "    scheme: https
    tls_config:
      # The `ca.crt` of the Secret with the certificate, mounted here.
      ca_file: /etc/prometheus/kube-state-metrics-sharded/ca.crt
      server_name: kube-state-metrics-sharded.kube-state-metrics.svc
    authorization:
      credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token
";

/// Texts by path from the root of the workspace.
pub fn files() -> Result<BTreeMap<String, String>> {
    let (scrape, monitor) = (read(&format!("{CONFIGS}/scrape.yaml"))?, read(MONITOR)?);
    let parts = config_in_parts(&scrape)?;
    Ok(BTreeMap::from([
        (format!("{CONFIGS}/scrape-tls.yaml"), over_tls("scrape.yaml", &scrape)),
        (format!("{CONFIGS}/scrape-parts-tls.yaml"), over_tls("scrape-parts.yaml", &parts)),
        (format!("{CONFIGS}/scrape-parts.yaml"), parts),
        ("deploy/components/pod-monitor/pod-monitor.yaml".to_owned(), pod_monitor(&monitor)?),
        ("deploy/components/scrape-parts/kustomization.yaml".to_owned(), monitors_in_parts(&monitor)?),
    ]))
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(cargo::workspace_root().join(path)).with_context(|| format!("cannot read {path}"))
}

/// A text as it is before, in and behind the scrape of the cluster, which begins with a line.
fn around<'a>(text: &'a str, first: &str) -> Result<[&'a str; 3]> {
    let start = text.find(first).with_context(|| format!("there is no line `{}`", first.trim()))?;
    let next = text[start..].find(NEXT).with_context(|| format!("there is no line `{NEXT}`"))?;
    // With the blanks before it.
    let end = text[..start + next].rfind('\n').map_or(start, |at| at + 1);
    Ok([&text[..start], &text[start..end], &text[end..]])
}

/// The lines of a block that are no comments.
fn bare(block: &str) -> impl Iterator<Item = &str> {
    block.lines().filter(|line| !line.trim_start().starts_with('#'))
}

/// A scrape configuration, over TLS and with a token.
fn over_tls(name: &str, plain: &str) -> String {
    let mut text = format!("{NOTE} from {name}: the same for workloads with the component tls-auth.\n");
    for line in plain.split_inclusive('\n').filter(|line| !line.starts_with(NOTE)) {
        text.push_str(line);
        if line.starts_with("  - job_name: ") {
            text.push_str(TLS);
        }
    }
    text
}

fn config_in_parts(scrape: &str) -> Result<String> {
    let [_, block, rest] = around(scrape, "  - job_name: ")?;
    let mut text = format!(
        "{NOTE} from scrape.yaml.\n\
         # The same with each scrape in {PARTS} parts, for instances whose answer is too large to read within a scrape timeout.\n\
         # `/metrics?part=i/{PARTS}` is every {PARTS}th family, always the same, so no series ever changes its target. `up` and its\n\
         # like keep the label `part`, samples lose it: they are the same with parts and without.\n\
         scrape_configs:\n"
    );
    for part in 1..=PARTS {
        for line in bare(block) {
            if line.starts_with("  - job_name: ") {
                let _ = writeln!(text, "{line}-part-{part}");
            } else {
                let _ = writeln!(text, "{line}");
            }
            if line.starts_with("    scrape_timeout: ") {
                let _ = write!(text, "    params:\n      part: [\"{part}/{PARTS}\"]\n");
            }
        }
        let _ = write!(
            text,
            "      - target_label: part\n        replacement: \"{part}/{PARTS}\"\n\
             \x20   metric_relabel_configs:\n      - action: labeldrop\n        regex: part\n"
        );
    }
    text.push_str(rest);
    Ok(text)
}

fn pod_monitor(monitor: &str) -> Result<String> {
    let mut text = format!("{NOTE} from the ServiceMonitor of the component prometheus-operator.\n");
    for line in without_terminating(monitor)?.lines() {
        let line = line.replace("kind: ServiceMonitor", "kind: PodMonitor");
        let _ = writeln!(text, "{}", line.replace("  endpoints:", "  podMetricsEndpoints:"));
    }
    Ok(text)
}

/// Discovery of pods does not tell which are about to end.
fn without_terminating(monitor: &str) -> Result<String> {
    let (mut text, mut within, mut left_out) = (String::new(), false, 0);
    let mut comments = String::new();
    for line in monitor.split_inclusive('\n') {
        let inner = line.trim_start();
        if inner.starts_with('#') {
            comments.push_str(line);
            continue;
        }
        if inner.starts_with("- action: drop") {
            (within, left_out) = (true, left_out + 1);
        } else if inner.starts_with("- ") && !inner.starts_with("- __") {
            within = false;
        }
        if !within {
            text.push_str(&comments);
            text.push_str(line);
        }
        comments.clear();
    }
    ensure!(left_out > 0, "the monitor drops no target");
    Ok(text)
}

/// The component that makes one scrape of a monitor several.
fn monitors_in_parts(monitor: &str) -> Result<String> {
    let mut text = format!(
        "{NOTE} from the ServiceMonitor of the component prometheus-operator.\n\
         # A scrape in {PARTS} parts, each a target of its own: `/metrics?part=i/{PARTS}` is every {PARTS}th family. For a shard whose answer is\n\
         # too large to read within a scrape timeout. Goes after `prometheus-operator` or `pod-monitor`, whose monitor it changes.\n\
         #\n\
         # Only `up` and the other series about a scrape tell the parts apart, by the label `part`; the rest keeps the labels it has\n\
         # without parts. A family is always in the same part, so no series ever changes its target.\n\
         apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n"
    );
    let of_pods = without_terminating(monitor)?;
    for (kind, field, monitor) in
        [("ServiceMonitor", "endpoints", monitor), ("PodMonitor", "podMetricsEndpoints", of_pods.as_str())]
    {
        let [_, block, _] = around(monitor, "    - port: metrics\n")?;
        let _ = write!(text, "  - target:\n      kind: {kind}\n      name: kube-state-metrics-sharded\n    patch: |\n");
        for part in 1..=PARTS {
            let (operation, place) = if part == 1 { ("replace", "0") } else { ("add", "-") };
            let _ = write!(text, "      - op: {operation}\n        path: /spec/{field}/{place}\n        value:\n");
            for line in bare(block) {
                let _ = writeln!(text, "          {}", line.get(6..).unwrap_or_default());
                if line.starts_with("      scrapeTimeout: ") {
                    let _ = write!(text, "          params:\n            part: [\"{part}/{PARTS}\"]\n");
                }
            }
            let _ = write!(
                text,
                "            - targetLabel: part\n              replacement: \"{part}/{PARTS}\"\n\
                 \x20         metricRelabelings:\n            - action: labeldrop\n              regex: part\n"
            );
        }
    }
    Ok(text)
}

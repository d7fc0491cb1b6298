//! A Prometheus server on static targets.
//!
//! Invariant: its data lies in a folder of the run, and it listens on 127.0.0.1 only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::http::Client;
use crate::process::Process;
use crate::{ports, tools};

/// Time for it to start.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running server.
pub struct Prometheus {
    /// The child process.
    pub process: Process,
    client: Client,
    config: PathBuf,
}

impl Prometheus {
    /// Starts one with `config` (JSON is YAML) in an empty `folder` and waits until it answers.
    pub fn start(config: &Value, flags: &[&str], folder: &Path, logs: &Path) -> Result<Self> {
        Self::start_by(Command::new(tools::ensure(&tools::PROMETHEUS)?), config, flags, folder, logs)
    }

    /// The same by a command that takes the arguments of Prometheus.
    pub fn start_by(mut command: Command, config: &Value, flags: &[&str], folder: &Path, logs: &Path) -> Result<Self> {
        let file = folder.join("prometheus.yml");
        fs::write(&file, config.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
        let port = ports::free()?;
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.display()));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}")).args(flags);
        let mut process = Process::start("prometheus", command, logs)?;
        let client = Client::plain(format!("http://127.0.0.1:{port}"));
        process.wait_for("answers /-/ready", START_LIMIT, || {
            Ok(client.get("/-/ready", None).ok().filter(|answer| answer.status == 200).map(|_| ()))
        })?;
        Ok(Self { process, client, config: file })
    }

    /// Has it take another configuration, which it does within moments.
    pub fn reload(&self, config: &Value) -> Result<()> {
        fs::write(&self.config, config.to_string())
            .with_context(|| format!("cannot write {}", self.config.display()))?;
        self.process.ask_to_reload();
        Ok(())
    }

    /// Values of an expression from `start` to `end`, both in seconds of Unix time, one each tenth of a second: of each
    /// label set the times and values.
    pub fn query_tenths(&self, expression: &str, start: f64, end: f64) -> Result<Vec<Vec<(f64, f64)>>> {
        let expression = percent_encode(expression);
        let path = format!("/api/v1/query_range?query={expression}&start={start}&end={end}&step=0.1");
        let answer = self.client.get_json(&path)?;
        let results = answer["data"]["result"].as_array().context("a query has a result")?;
        results
            .iter()
            .map(|result| {
                let values = result["values"].as_array().context("a range has values")?;
                let pair = |pair: &Value| Ok((pair[0].as_f64().context("a sample has a time")?, number(pair)?));
                values.iter().map(pair).collect()
            })
            .collect()
    }

    /// The instant value of an expression: label sets as JSON, and numbers.
    pub fn query(&self, expression: &str) -> Result<Vec<(Value, f64)>> {
        let results = self.results(expression)?;
        results.iter().map(|result| Ok((result["metric"].clone(), number(&result["value"])?))).collect()
    }

    /// The values of a range expression such as `up[5m]`, oldest first, with their label sets.
    pub fn query_range(&self, expression: &str) -> Result<Vec<(Value, Vec<f64>)>> {
        let results = self.results(expression)?;
        results
            .iter()
            .map(|result| {
                let values = result["values"].as_array().context("a range has values")?;
                Ok((result["metric"].clone(), values.iter().map(number).collect::<Result<_>>()?))
            })
            .collect()
    }

    fn results(&self, expression: &str) -> Result<Vec<Value>> {
        let answer = self.client.get_json(&format!("/api/v1/query?query={}", percent_encode(expression)))?;
        answer["data"]["result"].as_array().cloned().context("a query has a result")
    }

    /// Values of a label of the series that a selector finds.
    pub fn label_values(&self, label: &str, selector: &str) -> Result<Vec<String>> {
        let path = format!("/api/v1/label/{label}/values?match%5B%5D={}", percent_encode(selector));
        let answer = self.client.get_json(&path)?;
        let values = answer["data"].as_array().context("a label has values")?;
        Ok(values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect())
    }

    /// The selectors of series in an expression, in order.
    pub fn selectors(&self, expression: &str) -> Result<Vec<String>> {
        let answer = self.client.get_json(&format!("/api/v1/parse_query?query={}", percent_encode(expression)))?;
        let mut found = Vec::new();
        collect_selectors(&answer["data"], &mut found);
        Ok(found)
    }

    /// Rules of all groups, with their state.
    pub fn rules(&self) -> Result<Vec<Value>> {
        let answer = self.client.get_json("/api/v1/rules")?;
        let groups = answer["data"]["groups"].as_array().context("Prometheus lists its rules")?;
        Ok(groups.iter().flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default()).collect())
    }

    /// What it says about targets that are down.
    pub fn target_errors(&self) -> Result<String> {
        let answer = self.client.get_json("/api/v1/targets?state=active")?;
        let targets = answer["data"]["activeTargets"].as_array().context("Prometheus lists its targets")?;
        let errors: Vec<String> = targets
            .iter()
            .filter_map(|target| {
                let error = target["lastError"].as_str().filter(|error| !error.is_empty())?;
                Some(format!("{}: {error}", target["scrapeUrl"].as_str().unwrap_or_default()))
            })
            .collect();
        Ok(errors.join("; "))
    }
}

/// Selectors in a parsed expression.
fn collect_selectors(node: &Value, found: &mut Vec<String>) {
    match node {
        Value::Array(nodes) => nodes.iter().for_each(|node| collect_selectors(node, found)),
        Value::Object(fields) => {
            if let Some(matchers) = fields.get("matchers").and_then(Value::as_array) {
                // A value's JSON is its PromQL too.
                let text = |matcher: &Value, key: &str| matcher[key].as_str().unwrap_or_default().to_owned();
                let matchers: Vec<String> = matchers
                    .iter()
                    .map(|matcher| format!("{}{}{}", text(matcher, "name"), text(matcher, "type"), matcher["value"]))
                    .collect();
                found.push(format!("{{{}}}", matchers.join(",")));
            }
            fields.values().for_each(|node| collect_selectors(node, found));
        }
        _ => {}
    }
}

/// The number in a pair of time and value.
fn number(pair: &Value) -> Result<f64> {
    pair[1].as_str().and_then(|text| text.parse().ok()).context("a sample has a number")
}

/// Everything but letters and digits as `%XX`.
fn percent_encode(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_found_at_any_depth() {
        let matcher =
            |name: &str, kind: &str, value: &str| serde_json::json!({"name": name, "type": kind, "value": value});
        let tree = serde_json::json!({"type": "binaryExpr", "op": "/",
            "lhs": {"type": "call", "args": [{"type": "matrixSelector", "name": "a_total",
                "matchers": [matcher("b", "=~", "c|\\d"), matcher("__name__", "=", "a_total")]}]},
            "rhs": {"type": "aggregation", "expr": {"type": "vectorSelector", "matchers": [matcher("__name__", "=", "e")]}}});
        let mut found = Vec::new();
        collect_selectors(&tree, &mut found);
        found.sort();
        assert_eq!(found, ["{__name__=\"e\"}", "{b=~\"c|\\\\d\",__name__=\"a_total\"}"]);
    }

    #[test]
    fn expressions_survive_an_address() {
        assert_eq!(percent_encode("up{a=\"b\"}"), "up%7Ba%3D%22b%22%7D");
    }
}

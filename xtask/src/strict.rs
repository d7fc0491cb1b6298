//! Strict readers of others: promtool's linter and the parsers of Prometheus.
//!
//! Invariant: a body that either does not understand is an error; remarks on style are returned.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use crate::http::Answer;
use crate::tools::{self, Component};

/// Lint complaints exit with this code; anything else but 0 means the body was not understood.
const LINT: i32 = 3;

/// promtool's time grows with the square of a family's samples, and what it remarks on shows in a few.
const LINTED_SAMPLES: usize = 100;

/// `promtool check metrics` on the first samples of each family of a text body: its remarks, and the bytes checked.
pub fn promtool(body: &str, scratch: &Path) -> Result<(BTreeSet<String>, usize)> {
    let body = first_samples(body);
    let output = feed(&tools::PROMTOOL, &["check", "metrics"], &body, scratch)?;
    let text = said(&output);
    if !output.status.success() && output.status.code() != Some(LINT) {
        bail!("promtool does not understand it ({}):\n{text}", output.status);
    }
    Ok((text.lines().map(str::to_owned).collect(), body.len()))
}

/// Reads a whole body with the parser that Prometheus takes for its content type; returns the number of samples.
pub fn prometheus(answer: &Answer, scratch: &Path) -> Result<usize> {
    let output = feed(&tools::PARSE_EXPOSITION, &[&answer.content_type], &answer.body, scratch)?;
    let text = said(&output);
    if !output.status.success() {
        bail!("Prometheus does not understand it ({}): {}", answer.content_type, text.trim_end());
    }
    text.trim_end().parse().with_context(|| format!("parse-exposition printed `{text}`: want a number"))
}

fn feed(component: &Component, arguments: &[&str], body: &str, scratch: &Path) -> Result<Output> {
    let program = tools::ensure(component)?;
    let file = scratch.join(format!("{}.input", component.name));
    fs::write(&file, body).with_context(|| format!("cannot write {}", file.display()))?;
    let input = File::open(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let output = Command::new(program).args(arguments).stdin(input).output();
    output.with_context(|| format!("cannot run {}", component.name))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// The body with the first samples of each family only.
fn first_samples(body: &str) -> String {
    let mut samples = 0;
    let mut short = String::new();
    for line in body.split_inclusive('\n') {
        samples = if line.starts_with('#') { 0 } else { samples + 1 };
        if samples <= LINTED_SAMPLES {
            short.push_str(line);
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_families_are_cut_and_headers_kept() {
        let samples = "a 1\n".repeat(LINTED_SAMPLES + 5);
        let short = first_samples(&format!("# TYPE a gauge\n{samples}# TYPE b gauge\nb 1\n"));
        assert_eq!(short.lines().count(), LINTED_SAMPLES + 3);
        assert!(short.ends_with("# TYPE b gauge\nb 1\n"));
    }
}

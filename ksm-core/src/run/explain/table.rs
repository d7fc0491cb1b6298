//! A tally as text for a terminal.

use std::fmt::Write;

use super::tally::{FamilyTally, Sums, Tally};
use crate::options::Settings;

/// Families and labels that are named.
const FAMILIES: usize = 30;
const LABELS: usize = 15;

/// How many families a denylist is proposed for, where none is given.
const PROPOSED: usize = 5;

/// The whole report.
pub(super) fn report(tally: &Tally, settings: &Settings) -> String {
    let all = tally.sums(|_| true);
    let mut out = format!("{} families, {} samples, {}\n", tally.families.len(), grouped(all.samples), size(all.bytes));
    if all.samples == 0 {
        return out;
    }
    families(tally, all, &mut out);
    labels(tally, all, &mut out);
    savings(tally, all, settings, &mut out);
    out
}

fn families(tally: &Tally, all: Sums, out: &mut String) {
    let filled = tally.families.iter().filter(|family| family.sums.samples > 0).count();
    let shown = &tally.families[..filled.min(FAMILIES)];
    let width = shown.iter().map(|family| family.name.len()).max().unwrap_or(0).max("family".len());
    let _ = writeln!(
        out,
        "\n{:width$}  {:>12} {:>7}  {:>9} {:>7}  labels that take most",
        "family", "samples", "of all", "bytes", "of all"
    );
    for family in shown {
        let Sums { samples, bytes } = family.sums;
        let _ = writeln!(
            out,
            "{:width$}  {:>12} {:>7}  {:>9} {:>7}  {}",
            family.name,
            grouped(samples),
            share(samples, all.samples),
            size(bytes),
            share(bytes, all.bytes),
            costly_labels(family)
        );
    }
    if tally.families.len() > shown.len() {
        let _ = writeln!(out, "and {} more", tally.families.len() - shown.len());
    }
}

/// The two labels that take most bytes.
fn costly_labels(family: &FamilyTally) -> String {
    let label = |label: &super::tally::LabelSums<'_>| {
        format!("{} ({} values, {})", label.name, grouped(label.values as u64), size(label.bytes))
    };
    family.labels().iter().take(2).map(label).collect::<Vec<_>>().join(", ")
}

fn labels(tally: &Tally, all: Sums, out: &mut String) {
    let labels = tally.labels();
    let shown = &labels[..labels.len().min(LABELS)];
    let width = shown.iter().map(|label| label.name.len()).max().unwrap_or(0).max("label".len());
    let _ = writeln!(out, "\n{:width$}  {:>12}  {:>9} {:>7}", "label", "values", "bytes", "of all");
    for label in shown {
        let (values, bytes) = (grouped(label.values as u64), size(label.bytes));
        let _ = writeln!(out, "{:width$}  {values:>12}  {bytes:>9} {:>7}", label.name, share(label.bytes, all.bytes));
    }
}

/// What the lists that were given save, or a denylist of the largest families would.
fn savings(tally: &Tally, all: Sums, settings: &Settings, out: &mut String) {
    let saved = |out: &mut String, what: &str, saved: Sums, families: usize| {
        let _ = writeln!(
            out,
            "\n{what} {families} families, {} samples ({}), {} ({})",
            grouped(saved.samples),
            share(saved.samples, all.samples),
            size(saved.bytes),
            share(saved.bytes, all.bytes)
        );
    };
    if settings.lists.has_any() {
        // A pattern that takes too long was refused when the settings were made.
        let leaves_out = |family: &FamilyTally| !settings.lists.admits(&family.name).unwrap_or(true);
        let count = tally.families.iter().filter(|family| leaves_out(family)).count();
        return saved(out, "the lists given save", tally.sums(leaves_out), count);
    }
    let largest: Vec<&str> = tally.families.iter().take(PROPOSED).map(|family| family.name.as_str()).collect();
    let sums = tally.sums(|family| largest.contains(&family.name.as_str()));
    let flag = format!("--metric-denylist='^({})$' would save", largest.join("|"));
    saved(out, &flag, sums, largest.len());
}

fn share(part: u64, all: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / all.max(1) as f64)
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

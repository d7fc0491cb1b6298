//! `benchmarks.md`: everything that was measured, for people.
//!
//! Invariant: made from the results alone, apart from one section between two marker lines, which is written by hand
//! and survives.

mod tables;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::format::mebibytes;
use super::goals::{self, Goal};
use super::results::Results;
use crate::table;

#[cfg(test)]
pub use tests::sample;

/// Between these lines everything is written by hand.
const BY_HAND: (&str, &str) = ("<!-- written by hand: begin -->", "<!-- written by hand: end -->");

/// A table with its caption.
pub struct Table {
    /// What it shows.
    pub title: String,
    /// What a reader must know.
    pub note: String,
    /// Names of columns.
    pub header: Vec<&'static str>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let header: Vec<String> = self.header.iter().map(|cell| (*cell).to_owned()).collect();
        let rule: Vec<String> = self.header.iter().map(|_| "---".to_owned()).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("## {}\n\n{}\n\n{}{}{rows}\n", self.title, self.note, line(&header), line(&rule))
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.title, table::render(&self.header, &self.rows))
    }
}

/// The table of goals.
pub fn goal_table(goals: &[Goal]) -> Table {
    let row = |goal: &Goal| {
        let met = if goal.met { "yes" } else { "no" };
        vec![goal.what.clone(), goal.goal.clone(), goal.reached.clone(), met.to_owned()]
    };
    Table {
        title: "Goals".to_owned(),
        note: "Ratios of the reference's figure to ours, both measured in one run.".to_owned(),
        header: vec!["what", "goal", "reached", "met"],
        rows: goals.iter().map(row).collect(),
    }
}

/// All other tables; sections that were not run have none.
pub fn tables(results: &Results) -> Vec<Table> {
    tables::all(results).into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// The whole page. `previous` is what the file held before, if there was one.
pub fn markdown(results: &Results, command: &str, previous: &str) -> String {
    let goals = goals::judge(results);
    let machine = &results.machine;
    let mut page = String::from(
        "<!-- Written by `cargo xtask bench`, apart from the section that says so. -->\n\n# Benchmarks\n\n",
    );
    let _ = write!(
        page,
        "Our binaries beside kube-state-metrics {} (the reference), each figure beside the other's in one run, on the same API server ({}) \
         and the same machine, one at a time. Seconds depend on the machine and on what else it does; read ratios.\n\n\
         | | |\n| --- | --- |\n| date | {} |\n| ours | {} |\n| reference | kube-state-metrics {} |\n| machine | {} cores, {}, {} |\n\
         | kernel | Linux {} |\n{}\n\
         Run it again with `{command}`; it needs Go once, for building the reference and Prometheus. \
         All figures are in [benchmarks.json](benchmarks.json).\n\n",
        machine.reference,
        machine.server,
        machine.date,
        machine.ours,
        machine.reference,
        machine.cores,
        mebibytes(machine.memory),
        machine.processor,
        machine.kernel,
        taken_over(results),
    );
    if !results.sizes.is_empty() {
        page += "![Time of a scrape and resident memory by size of the cluster, log scales](benchmarks.svg)\n\n";
    }
    page += &goal_table(&goals).markdown();
    page += &by_hand(&goals, previous);
    for table in tables(results) {
        page += &table.markdown();
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

/// Rows about what an earlier run has measured.
fn taken_over(results: &Results) -> String {
    results.taken_over.iter().map(|(what, of)| format!("| measured earlier: {what} | {of} |\n")).collect()
}

/// The section written by hand: the one there is, or a beginning of one.
fn by_hand(goals: &[Goal], previous: &str) -> String {
    let (begin, end) = BY_HAND;
    let kept = previous.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map(|(kept, _)| kept.trim());
    let text = match kept {
        Some(kept) => kept.to_owned(),
        None => beginning(goals),
    };
    format!("{begin}\n{text}\n{end}\n\n")
}

fn beginning(goals: &[Goal]) -> String {
    let missed: Vec<String> =
        goals.iter().filter(|goal| !goal.met).map(|goal| format!("- {}: reason not yet known.", goal.what)).collect();
    if missed.is_empty() {
        return "### Goals not met\n\nNone.".to_owned();
    }
    format!("### Goals not met\n\n{}", missed.join("\n"))
}

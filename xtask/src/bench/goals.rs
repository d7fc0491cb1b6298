//! The goals, and whether a run has reached them.
//!
//! Invariant: pure; a goal whose section was not run, or not at its size, is not judged.

use super::figures::Pair;
use super::format::{mebibytes, one_in, percent, seconds, times};
use super::results::{Churn, Life, Results, Scrapes};
use super::subject::ScrapeCost;
use crate::table::count;

const MEBIBYTE: u64 = 1024 * 1024;

/// One goal and what was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// What is measured.
    pub what: String,
    /// The goal.
    pub goal: String,
    /// What was reached.
    pub reached: String,
    /// Whether that is enough.
    pub met: bool,
}

/// All goals that the results can say something about.
pub fn judge(results: &Results) -> Vec<Goal> {
    let mut goals = Goals(Vec::new());
    sizes(results, &mut goals);
    churn(results, &mut goals);
    relist(results, &mut goals);
    shards(results, &mut goals);
    node(results, &mut goals);
    goals.0
}

struct Goals(Vec<Goal>);

impl Goals {
    fn add(&mut self, what: String, goal: String, reached: String, met: bool) {
        self.0.push(Goal { what, goal, reached, met });
    }

    /// Ours is to be so many times faster.
    fn faster(&mut self, what: String, ratio: f64, goal: f64) {
        self.add(what, format!("≥ {goal} × faster"), times(ratio), ratio >= goal);
    }

    /// Ours is to be at most the `goal`-th part.
    fn part(&mut self, what: String, ratio: f64, goal: f64) {
        self.add(what, format!("≤ 1/{goal}"), one_in(ratio), ratio >= goal);
    }

    /// A peak is to be at most half more than what is steady, and a little.
    fn peak(&mut self, what: String, peak: u64, steady: u64) {
        let most = steady + steady / 2 + 16 * MEBIBYTE;
        let goal = format!("≤ 1.5 × steady + 16 MiB = {}", mebibytes(most));
        self.add(what, goal, mebibytes(peak), peak <= most);
    }

    fn at_most(&mut self, what: String, bytes: u64, most: u64) {
        self.add(what, format!("≤ {} MiB", most / MEBIBYTE), mebibytes(bytes), bytes <= most);
    }
}

fn sizes(results: &Results, goals: &mut Goals) {
    for (pods, smaller) in [(10_000, 10.0), (100_000, 15.0)] {
        let Some(size) = results.size(pods) else { continue };
        let (lives, name) = (&size.lives, named(pods));
        if let Some(scrapes) = scrapes(lives) {
            let whole = |of: fn(&Scrapes) -> &ScrapeCost| scrapes.ratio(|scrapes| of(scrapes).whole);
            goals.faster(format!("gzip scrape, {name}"), whole(|scrapes| &scrapes.gzip), 200.0);
            goals.faster(format!("plain scrape, {name}"), whole(|scrapes| &scrapes.plain), 8.0);
        }
        let resident = lives.ratio(|life: &Life| life.steady().resident as f64);
        goals.part(format!("resident memory at rest, {name}"), resident, smaller);
        let ours = &lives.ours;
        goals.peak(format!("peak memory at start, {name}"), ours.settled.peak, ours.steady().resident);
        goals.part(format!("CPU from start to ready, {name}"), lives.ratio(|life| life.ready_cpu_seconds), 3.0);
    }
}

/// `10 000 pods`.
fn named(pods: u32) -> String {
    format!("{} pods", count(pods.into()))
}

fn scrapes(lives: &Pair<Life>) -> Option<Pair<&Scrapes>> {
    Some(Pair { ours: lives.ours.scrapes.as_ref()?, reference: lives.reference.scrapes.as_ref()? })
}

fn churn(results: &Results, goals: &mut Goals) {
    for result in &results.churn {
        let (rate, sides) = (result.rate, &result.sides);
        let goal = match rate {
            0..100 => 10.0,
            100..1000 => 4.0,
            _ => 2.0,
        };
        let name = named(result.pods);
        let what = format!("CPU at {rate} changes a second, {name}");
        goals.part(what, sides.ratio(|side: &Churn| side.cpu_seconds_per_minute), goal);
        if rate == 200 {
            let what = format!("p99 of gzip scrapes at {rate} changes a second, {name}");
            let ratio = sides.ratio(|side| side.fast.p99).min(sides.ratio(|side| side.slow.p99));
            goals.part(what, ratio, 20.0);
        }
        let age = sides.ours.age_seconds;
        goals.add(format!("age of data at {rate} changes a second"), "≤ 1 s".to_owned(), seconds(age), age <= 1.0);
    }
}

fn relist(results: &Results, goals: &mut Goals) {
    let Some(relist) = &results.relist else { return };
    let ours = &relist.sides.ours;
    goals.peak(format!("peak memory of a relist, {}", named(relist.pods)), ours.peak, ours.before.resident);
    let reached = format!("{} of {} scrapes, at most {}", ours.incomplete, ours.scrapes, percent(ours.lacked));
    goals.add("scrapes that lack samples during relists".to_owned(), "none".to_owned(), reached, ours.incomplete == 0);
}

fn shards(results: &Results, goals: &mut Goals) {
    let Some(shards) = &results.shards else { return };
    for set in &shards.sets {
        let total = set.len();
        let part = |bytes: u64| bytes as f64 / shards.whole as f64;
        let most = set.iter().copied().max().map_or(0.0, part);
        let goal = 1.0 / total as f64 + 0.05;
        let what = format!("bytes read by the largest of {total} shards");
        goals.add(what, format!("≤ 1/{total} + 5 % = {}", percent(goal)), percent(most), most <= goal);
    }
}

fn node(results: &Results, goals: &mut Goals) {
    if let Some(node) = results.node.iter().max_by_key(|node| node.pods) {
        let memory = node.sides.ours.memory;
        goals.at_most(format!("resident memory of ksm-node, {} pods", node.pods), memory.resident, 10 * MEBIBYTE);
        goals.at_most(format!("anonymous memory of ksm-node, {} pods", node.pods), memory.anonymous, 4 * MEBIBYTE);
    }
    if let Some(bytes) = results.binary("ksm-node") {
        goals.at_most("binary of ksm-node".to_owned(), bytes, 9 * MEBIBYTE);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::bench::report::sample;

    #[test]
    fn goals_are_judged_by_both_sides_and_by_ours_alone() {
        let lines: Vec<String> = judge(&sample())
            .iter()
            .map(|goal| format!("{} | {} | {} | {}\n", goal.what, goal.goal, goal.reached, goal.met))
            .collect();
        expect![[r#"
            gzip scrape, 10 000 pods | ≥ 200 × faster | 121 × | false
            plain scrape, 10 000 pods | ≥ 8 × faster | 11.0 × | true
            resident memory at rest, 10 000 pods | ≤ 1/10 | 1/11.0 | true
            peak memory at start, 10 000 pods | ≤ 1.5 × steady + 16 MiB = 62.5 MiB | 60.0 MiB | true
            CPU from start to ready, 10 000 pods | ≤ 1/3 | 1/11.0 | true
            CPU at 200 changes a second, 10 000 pods | ≤ 1/4 | 1/4.50 | true
            p99 of gzip scrapes at 200 changes a second, 10 000 pods | ≤ 1/20 | 1/15.0 | false
            age of data at 200 changes a second | ≤ 1 s | 900 ms | true
            peak memory of a relist, 10 000 pods | ≤ 1.5 × steady + 16 MiB = 61.0 MiB | 60.0 MiB | true
            scrapes that lack samples during relists | none | 0 of 9 scrapes, at most 0.0 % | true
            bytes read by the largest of 2 shards | ≤ 1/2 + 5 % = 55.0 % | 50.8 % | true
            resident memory of ksm-node, 110 pods | ≤ 10 MiB | 6.00 MiB | true
            anonymous memory of ksm-node, 110 pods | ≤ 4 MiB | 3.00 MiB | true
            binary of ksm-node | ≤ 9 MiB | 6.00 MiB | true
        "#]]
        .assert_eq(&lines.concat());
    }

    #[test]
    fn nothing_is_judged_that_was_not_measured() {
        assert_eq!(judge(&Results::default()), []);
    }
}

//! `cargo xtask instructions`: counts what the steps of the data path execute, with valgrind.
//!
//! Invariant: a count does not depend on how busy the machine is, so a step that takes more than its budget is slower
//! for a reason. Budgets are for the `dev` profile, which is what CI has built anyway; `cargo xtask bench` measures time.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::progress::Progress;
use crate::{cargo, interrupt, table};

/// The program that does one step.
const PROGRAM: &str = "steps";

/// Times that a step is done in a short and in a long run; the difference leaves out start and preparation.
const SHORT: u64 = 1;
const LONG: u64 = 3;

/// How far a count may be over its budget, in percent: hashes are seeded at random.
const TOLERANCE: u64 = 15;

/// A step and the instructions it may take, in thousands.
struct Step {
    name: &'static str,
    what: &'static str,
    budget: u64,
}

const STEPS: [Step; 6] = [
    Step { name: "render", what: "260 pods from protobuf to text", budget: BUDGETS[0] },
    Step { name: "list", what: "a first list of 260 pods", budget: BUDGETS[1] },
    Step { name: "relist", what: "a relist of 260 pods without a change", budget: BUDGETS[2] },
    Step { name: "fold", what: "4 pods changed in 15 families, shown to readers", budget: BUDGETS[3] },
    Step { name: "pack", what: "a first list of 260 pods, packed for a gzip body", budget: BUDGETS[4] },
    Step { name: "inflate", what: "the plain body of 260 pods", budget: BUDGETS[5] },
];

/// Thousands of instructions. Packing is our own code, which this profile hardly optimises.
const BUDGETS: [u64; 6] = [61_700, 198_500, 71_400, 27_200, 241_000, 18_300];

/// Runs the command.
pub fn run() -> Result<()> {
    let program = cargo::build_example("ksm-core", PROGRAM)?;
    let progress = Progress::start("counting instructions with valgrind");
    let mut rows = Vec::new();
    let mut over = Vec::new();
    for step in &STEPS {
        interrupt::check()?;
        progress.note(step.name);
        let (short, long) = std::thread::scope(|scope| {
            let short = scope.spawn(|| count(&program, step, SHORT));
            let long = count(&program, step, LONG);
            (short.join().expect("counting does not panic"), long)
        });
        let (short, long) = (short?, long?);
        let thousands = long.saturating_sub(short) / (LONG - SHORT) / 1000;
        let limit = step.budget + step.budget * TOLERANCE / 100;
        if thousands > limit {
            over.push(step.name);
        }
        let verdict = if thousands > limit { "over" } else { "ok" };
        let figures = [thousands, step.budget].map(table::count);
        let [thousands, budget] = figures;
        rows.push(vec![step.name.to_owned(), thousands, budget, verdict.to_owned(), step.what.to_owned()]);
    }
    progress.done("");
    print!("{}", table::render(&["step", "thousands", "budget", "verdict", "what"], &rows));
    if !over.is_empty() {
        bail!(
            "{} took over {TOLERANCE} % more instructions than budgeted: find out why, or set new budgets in \
             xtask/src/instructions.rs with a reason",
            over.join(", ")
        );
    }
    Ok(())
}

/// Instructions of a run that does the step so many times.
fn count(program: &Path, step: &Step, times: u64) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([step.name, &times.to_string()])
        .output()
        .context("cannot run `valgrind`: install the package of that name")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("`{PROGRAM} {} {times}` under valgrind ended with {}:\n{said}", step.name, output.status);
    }
    collected(&said).with_context(|| format!("valgrind does not say how much it collected:\n{said}"))
}

/// The number in `==1== Collected : 1234`.
fn collected(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_what_valgrind_says() {
        let said = "==7== Events    : Ir\n==7== Collected : 123456789\n==7== \n==7== I   refs:      123,456,789\n";
        assert_eq!(collected(said), Some(123_456_789));
        assert_eq!(collected("==7== nothing"), None);
    }
}

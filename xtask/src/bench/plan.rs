//! What a run measures, from its arguments.
//!
//! Invariant: pure.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;

use super::sizes::BIG;
use crate::cli::BenchArgs;

/// Sizes of a whole run.
const SIZES: [u32; 4] = [1_000, 10_000, 50_000, 100_000];

/// The size of sections other than start and scrape.
const USUAL: u32 = 10_000;

/// The most pods that are made one by one on a real API server.
const MOST_REAL: u32 = 20_000;

/// Rounds of sizes that are not big.
const ROUNDS: u32 = 3;

/// Seconds of a pass, and of one for developers.
const SECONDS: u32 = 60;
const QUICK_SECONDS: u32 = 20;

/// Time between two scrapes, as in many set-ups of Prometheus; less in a short pass.
const INTERVAL: u32 = 15;

/// The sections, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Section {
    /// Time, CPU and memory from start to complete data, by size
    Start,
    /// Plain and packed scrapes, by size
    Scrape,
    /// Scrapes by a real Prometheus
    Prometheus,
    /// Bytes that shards read
    Shards,
    /// Watches that end with a 410
    Relist,
    /// CPU, scrapes and age of data while the cluster changes
    Churn,
    /// The pods of one node
    Node,
    /// Sizes of binaries
    Binaries,
}

impl Section {
    /// Its name on the command line.
    pub fn label(self) -> String {
        self.to_possible_value().expect("no section is hidden").get_name().to_owned()
    }

    /// Whether it needs faults or changes that only the simulated API server makes.
    fn needs_simulation(self) -> bool {
        matches!(self, Self::Relist | Self::Churn | Self::Node)
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Pods of the clusters, smallest first.
    pub sizes: Vec<u32>,
    /// Whether the API server is a real one.
    pub real: bool,
    sections: Vec<Section>,
    rounds: Option<u32>,
    seconds: u32,
}

impl Plan {
    /// Reads arguments.
    pub fn new(arguments: &BenchArgs) -> Result<Self> {
        let mut sizes = match (&arguments.sizes[..], arguments.quick || arguments.real) {
            ([], true) => vec![USUAL],
            ([], false) => SIZES.to_vec(),
            (given, _) => given.to_vec(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        if arguments.real {
            let most = sizes.last().copied().unwrap_or_default();
            ensure!(most <= MOST_REAL, "--sizes {most}: --real makes pods one by one, {MOST_REAL} are the most");
        }
        let mut sections: Vec<Section> =
            if arguments.only.is_empty() { Section::value_variants().to_vec() } else { arguments.only.clone() };
        if arguments.real {
            if let Some(section) = arguments.only.iter().find(|section| section.needs_simulation()) {
                bail!("--only {}: only the simulated API server can do this, leave out --real", section.label());
            }
            sections.retain(|section| !section.needs_simulation());
        }
        let rounds = arguments.rounds.or(arguments.quick.then_some(1));
        let seconds = arguments.seconds.unwrap_or(if arguments.quick { QUICK_SECONDS } else { SECONDS });
        Ok(Self { sizes, real: arguments.real, sections, rounds, seconds })
    }

    /// Whether a section is to run.
    pub fn has(&self, section: Section) -> bool {
        self.sections.contains(&section)
    }

    /// Pods of sections that have one size only.
    pub fn pods(&self) -> u32 {
        if self.sizes.contains(&USUAL) { USUAL } else { self.sizes.last().copied().unwrap_or(USUAL).min(USUAL) }
    }

    /// Rounds of a size: one of a big one, unless the user asks for more.
    pub fn rounds(&self, pods: u32) -> usize {
        self.rounds.unwrap_or(if pods >= BIG { 1 } else { ROUNDS }) as usize
    }

    /// How long something is watched.
    pub fn span(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }

    /// Time between two scrapes.
    pub fn interval(&self) -> Duration {
        Duration::from_secs(INTERVAL.min(self.seconds / 4).max(1).into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        bench: BenchArgs,
    }

    fn plan(arguments: &[&str]) -> Result<Plan> {
        Plan::new(&Cli::try_parse_from([&["x"], arguments].concat()).unwrap().bench)
    }

    #[test]
    fn a_whole_run_has_everything() {
        let plan = plan(&[]).unwrap();
        assert_eq!((plan.sizes.as_slice(), plan.pods()), (&SIZES[..], 10_000));
        assert!(Section::value_variants().iter().all(|section| plan.has(*section)));
        assert_eq!([1_000, 10_000, 50_000, 100_000].map(|pods| plan.rounds(pods)), [3, 3, 1, 1]);
        assert_eq!((plan.span().as_secs(), plan.interval().as_secs()), (60, 15));
    }

    #[test]
    fn arguments_narrow_it() {
        let quick = plan(&["--quick"]).unwrap();
        assert_eq!((quick.sizes.as_slice(), quick.rounds(10_000), quick.interval().as_secs()), (&[10_000][..], 1, 5));
        let small = plan(&["--sizes", "2000,1000,2000", "--only", "shards", "--rounds", "2"]).unwrap();
        assert_eq!((small.sizes.as_slice(), small.pods(), small.rounds(100_000)), (&[1000, 2000][..], 2000, 2));
        assert!(small.has(Section::Shards) && !small.has(Section::Start));
    }

    #[test]
    fn a_real_api_server_has_limits() {
        let real = plan(&["--real"]).unwrap();
        assert_eq!(
            (real.sizes.as_slice(), real.has(Section::Scrape), real.has(Section::Churn)),
            (&[10_000][..], true, false)
        );
        assert!(plan(&["--real", "--sizes", "50000"]).is_err());
        let error = plan(&["--real", "--only", "relist"]).unwrap_err().to_string();
        assert_eq!(error, "--only relist: only the simulated API server can do this, leave out --real");
    }
}

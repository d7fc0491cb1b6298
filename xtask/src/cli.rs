//! The command line of `cargo xtask`.
//!
//! Invariant: only names, defaults and help texts; clap answers a usage error with exit code 2.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Builds, tests, demonstrates and measures the workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One variant a command, in the order in which help lists them.
#[derive(Subcommand)]
pub enum Command {
    /// Starts an embedded API server with a lively cluster and all four binaries, and shows what each serves
    Demo(DemoArgs),
    /// Formatting, lints, house rules, all tests that need only Rust and a C compiler, and the documentation
    Test(TestArgs),
    /// Checks the house rules: file headers, sizes, module direction, dependencies
    Tidy,
    /// Counts the instructions of each step of the data path and compares with budgets (needs valgrind)
    Instructions,
    /// Writes the generated files in deploy/, the RBAC rules among them, and renders its bases and overlays (needs Go once)
    Manifests(ManifestsArgs),
    /// Builds static release binaries and writes a container image of each, without a container engine
    BuildImages(BuildImagesArgs),
    /// Applies an overlay of deploy/ to a cluster, with a diff shown first (needs kubectl)
    Deploy(DeployArgs),
    /// Writes docs/metrics.md and docs/self-metrics.md from their tables, and docs/options.md from what the binaries say
    Docs(DocsArgs),
    /// Builds the real components that `e2e` runs against (needs Go) and keeps them in a cache
    Tools(ToolsArgs),
    /// Compares the binaries with the reference on a real API server, through restarts and bad input (needs Go once)
    E2e(E2eArgs),
    /// Compares ksm-shard with the reference on generated objects of every kind, family by family (needs Go once)
    Conformance(ConformanceArgs),
    /// Measures release binaries beside the reference (needs Go once); a whole run takes about half an hour
    Bench(BenchArgs),
}

/// Arguments of `cargo xtask demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// Print the table and exit; fails if a binary does not get ready or serves nothing
    #[arg(long)]
    pub once: bool,
    /// Pods in the sample cluster
    #[arg(long, value_name = "N", default_value_t = crate::testbed::DEMO_PODS, value_parser = clap::value_parser!(u32).range(1..))]
    pub pods: u32,
    /// Changes a second in the sample cluster
    #[arg(long, value_name = "N", default_value_t = crate::testbed::DEMO_CHURN)]
    pub churn: u32,
    /// Watch this cluster instead of the embedded API server (read only)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pods", "churn"])]
    pub kubeconfig: Option<PathBuf>,
    /// Build with optimisations; the first build takes several minutes more
    #[arg(long)]
    pub release: bool,
}

/// Arguments of `cargo xtask manifests`.
#[derive(Args)]
pub struct ManifestsArgs {
    /// Write nothing; fail if a file is not what it should be
    #[arg(long)]
    pub check: bool,
    /// Write the overlay static-shards for so many shards
    #[arg(long, value_name = "N", conflicts_with = "check", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub static_shards: Option<u32>,
}

/// Arguments of `cargo xtask build-images`; their names and help are those of the package `ksm-images`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct BuildImagesArgs {
    /// See `cargo xtask build-images --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub all: Vec<std::ffi::OsString>,
}

/// Arguments of `cargo xtask deploy`.
#[derive(Args)]
pub struct DeployArgs {
    /// An overlay of deploy/overlays by its name, or the path of one that lies elsewhere
    #[arg(long, value_name = "NAME|DIR")]
    pub overlay: String,
    /// The context of the kubeconfig whose cluster is meant [default: the current one]
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,
    /// Take the images from `REGISTRY/REPO/<binary>`, where `build-images --push REGISTRY/REPO` put them [default tag: what was
    /// pushed from this checkout last]
    #[arg(long, value_name = "REGISTRY/REPO[:TAG]")]
    pub images: Option<String>,
    /// Make the overlay's namespace if it is not there, for pods of the restricted profile only
    #[arg(long)]
    pub create_namespace: bool,
    /// Apply without asking
    #[arg(long)]
    pub yes: bool,
    /// Take over fields that somebody else manages
    #[arg(long)]
    pub force_conflicts: bool,
    /// Delete what an earlier overlay left in the namespace, once all workloads of this one are rolled out
    #[arg(long, conflicts_with = "no_wait")]
    pub prune: bool,
    /// Do not wait until the workloads are rolled out
    #[arg(long)]
    pub no_wait: bool,
    /// Seconds to wait for that
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

/// Arguments of `cargo xtask docs`.
#[derive(Args)]
pub struct DocsArgs {
    /// Write nothing; fail if a page is not what it should be
    #[arg(long)]
    pub check: bool,
}

/// Arguments of `cargo xtask test`.
#[derive(Args)]
pub struct TestArgs {
    /// Run only this step
    #[arg(long, value_name = "STEP")]
    pub only: Option<crate::test::StepName>,
}

/// Arguments of `cargo xtask tools`.
#[derive(Args)]
pub struct ToolsArgs {
    /// Build only this component
    #[arg(long, value_name = "NAME", value_parser = crate::tools::component_names())]
    pub only: Option<String>,
    /// Print the cache folder and exit
    #[arg(long)]
    pub print_dir: bool,
}

/// Arguments of `cargo xtask e2e`.
#[derive(Args)]
pub struct E2eArgs {
    /// Keep logs, data and expositions of the run
    #[arg(long)]
    pub keep: bool,
    /// Run only this scenario; may be given several times
    #[arg(long, value_name = "SCENARIO")]
    pub only: Vec<crate::e2e::ScenarioName>,
    /// Pods in the cluster, beside the hand-made ones
    #[arg(long, value_name = "N", default_value_t = 800, value_parser = clap::value_parser!(u32).range(600..=5000))]
    pub pods: u32,
    /// Test the binaries in this folder instead of building them
    #[arg(long, value_name = "DIR")]
    pub binaries: Option<PathBuf>,
    /// Check the comparison itself on planted faults, without any component, and exit
    #[arg(long)]
    pub self_test: bool,
}

impl E2eArgs {
    /// Whether that scenario is asked for.
    pub fn runs(&self, scenario: crate::e2e::ScenarioName) -> bool {
        self.only.is_empty() || self.only.contains(&scenario)
    }
}

/// Arguments of `cargo xtask bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// Pods of the clusters [default: 1000,10000,50000,100000]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(100..=200_000))]
    pub sizes: Vec<u32>,
    /// Rounds of start and scrape [default: 3, and 1 from 50000 pods on]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub rounds: Option<u32>,
    /// Seconds of each pass that watches something [default: 60, or 20 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=600))]
    pub seconds: Option<u32>,
    /// Run only this section; may be given several times
    #[arg(long, value_name = "SECTION")]
    pub only: Vec<crate::bench::Section>,
    /// 10000 pods and one round of everything, for developers
    #[arg(long)]
    pub quick: bool,
    /// Run on etcd and kube-apiserver instead of the simulated API server, what can be run there
    #[arg(long)]
    pub real: bool,
    /// Measure the binaries in this folder instead of building them
    #[arg(long, value_name = "DIR")]
    pub binaries: Option<PathBuf>,
    /// Write benchmarks.md, .json and .svg here [default: docs, of a whole run only]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Keep what this run does not measure of the figures that are in --out
    #[arg(long, requires = "out")]
    pub add: bool,
    /// Keep logs and data of the run
    #[arg(long)]
    pub keep: bool,
}

/// Arguments of `cargo xtask conformance`.
#[derive(Args)]
pub struct ConformanceArgs {
    /// How many seeds; each makes two dozen objects of every kind
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: u64,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1 << 40))]
    pub seed: u64,
    /// Only this resource, by its plural name; may be given several times
    #[arg(long, value_name = "RESOURCE")]
    pub only: Vec<String>,
    /// Keep logs and the expositions that differ
    #[arg(long)]
    pub keep: bool,
    /// Test the binaries in this folder instead of building them
    #[arg(long, value_name = "DIR")]
    pub binaries: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}

//! x
use clap::ValueEnum;
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScenarioName {
    Parity,
}
pub fn run(_: &crate::cli::E2eArgs) -> anyhow::Result<()> {
    Ok(())
}

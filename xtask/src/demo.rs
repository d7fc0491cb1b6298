//! x
pub fn run(_: &crate::cli::DemoArgs) -> anyhow::Result<()> {
    Ok(())
}

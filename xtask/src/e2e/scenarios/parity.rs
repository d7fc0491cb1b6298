//! Parity: one unsplit `ksm-shard` serves what the reference serves, in both formats, with few and with all flags.
//!
//! Invariant: every family and every sample is compared, numbers as numbers, and every family has samples to compare.

use anyhow::{Result, bail};

use crate::compare::View;
use crate::e2e::world::World;
use crate::exposition::Format;
use crate::flags::Flags;
use crate::table::count;

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let mut figures = Vec::new();
    for flags in [Flags::DEFAULT, Flags::EVERYTHING] {
        let reference = world.start_reference("reference", &flags)?;
        let ours = world.start_unsplit("unsplit", &flags)?;
        for format in Format::ALL {
            let what = format!("{format}, {}", flags.name);
            let (expected, _) = world
                .settle(&what, || Ok((View::of([&reference.exposition(format)?]), world.read(&[&ours], format)?)))?;
            let empty = expected.families_without_samples();
            // A family that nothing in the cluster fills would be compared by its name only.
            if flags.everything() && !empty.is_empty() {
                bail!("{what}: the test objects give no sample of {}", empty.join(", "));
            }
            let (families, samples) = (expected.families(), count(expected.samples() as u64));
            figures.push(format!("{what}: {families} families, {samples} samples equal"));
        }
    }
    Ok(figures.join("; "))
}

//! `cargo xtask build-images`: builds the package `ksm-images` and becomes it.
//!
//! Invariant: nothing of images is known here. Clients of registries bring an async runtime along, which xtask, built on
//! every cold start, does without.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use anyhow::{Result, anyhow};

use crate::cargo;
use crate::cli::BuildImagesArgs;

/// The package, and its program.
const PACKAGE: &str = "ksm-images";

/// Runs the command; returns only if that fails.
pub fn run(arguments: &BuildImagesArgs) -> Result<()> {
    let program = build()?;
    let error = cargo::clean(&program).args(&arguments.all).exec();
    Err(anyhow!("cannot run {}: {error}", program.display()))
}

/// The program, built now.
pub fn build() -> Result<PathBuf> {
    let mut built = cargo::build(&[PACKAGE], false)?;
    built.remove(PACKAGE).ok_or_else(|| anyhow!("cargo built no {PACKAGE}"))
}

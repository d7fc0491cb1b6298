//! The sources: which revision they are, and release binaries of them.
//!
//! Invariant: a binary has no path of the checkout in it, and the revision and date that its image has too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use serde_json::Value;

use crate::platform::Platform;

/// The binaries that ship.
pub const SHIPPED: [&str; 4] = ["ksm-shard", "ksm-node", "ksm-unscheduled", "ksm-rest"];

/// What a binary and its image say of their sources.
pub struct Stamp {
    /// The version of the packages.
    pub version: &'static str,
    /// The revision; it ends in `-dirty` if files differ from it.
    pub revision: String,
    /// When that was, as RFC 3339 in UTC.
    pub date: String,
}

/// The folder of the root `Cargo.toml`.
pub fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the workspace")
}

/// Asks git, but for what is given.
pub fn stamp(revision: Option<&str>) -> Result<Stamp> {
    let revision = match revision {
        Some(given) => given.to_owned(),
        None => {
            let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
            git(&["rev-parse", "HEAD"])? + if changed { "-dirty" } else { "" }
        }
    };
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(given) => given,
        Err(_) => git(&["log", "-1", "--format=%ct"])?,
    };
    Ok(Stamp { version: env!("CARGO_PKG_VERSION"), revision, date: rfc3339(&seconds)? })
}

fn rfc3339(seconds: &str) -> Result<String> {
    let parsed = seconds.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let moment = parsed.with_context(|| format!("the date `{seconds}` is no number of seconds since 1970"))?;
    Ok(moment.to_string())
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(workspace_root()).args(arguments).output();
    let output = output.context("cannot run git: set SOURCE_DATE_EPOCH and give --revision")?;
    ensure!(
        output.status.success(),
        "git {}: {}; set SOURCE_DATE_EPOCH and give --revision",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// `cargo` in the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(workspace_root());
    command
}

/// Release binaries that need no shared library, by name.
///
/// glibc can be linked so too: it has resolvers for files and DNS within itself since 2.34.
pub fn build(names: &[&str], platform: Platform, stamp: &Stamp) -> Result<BTreeMap<String, PathBuf>> {
    let target = platform.target();
    let mut command = cargo();
    // With a target named, the flags are for the binaries and not for build scripts and macros.
    command.args(["build", "--locked", "--release", "--target", target]);
    for name in names {
        command.args(["--package", name, "--bin", name]);
    }
    // The path of the checkout would be in messages of panics, and two checkouts would build two binaries.
    let flags = ["-Ctarget-feature=+crt-static", &format!("--remap-path-prefix={}=.", workspace_root().display())];
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    command.env("KSM_REVISION", &stamp.revision).env("KSM_DATE", &stamp.date);
    platform.prepare(&mut command);
    let status = command.status().context("cannot run cargo")?;
    ensure!(status.success(), "cargo build failed for {target}: see its messages above");
    let folder = target_folder()?.join(target).join("release");
    names.iter().map(|name| found(name, folder.join(name))).collect()
}

/// The binaries in a folder: in its folder for the platform if it has one.
pub fn present(names: &[&str], folder: &Path, platform: Platform) -> Result<BTreeMap<String, PathBuf>> {
    let own = folder.join(platform.slug());
    let folder = if own.is_dir() { own } else { folder.to_owned() };
    names.iter().map(|name| found(name, folder.join(name))).collect()
}

fn found(name: &str, path: PathBuf) -> Result<(String, PathBuf)> {
    let folder = path.parent().unwrap_or(&path).display();
    ensure!(path.is_file(), "there is no {name} in {folder}");
    Ok((name.to_owned(), path))
}

/// Where cargo puts what it builds.
fn target_folder() -> Result<PathBuf> {
    let output = cargo().args(["metadata", "--locked", "--no-deps", "--format-version", "1"]).output();
    let output = output.context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata names no target folder")?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(rfc3339("951782400").unwrap(), "2000-02-29T00:00:00Z");
        let error = rfc3339("yesterday").unwrap_err().to_string();
        assert_eq!(error, "the date `yesterday` is no number of seconds since 1970");
    }

    #[test]
    fn a_missing_binary_is_named() {
        let error = present(&["ksm-node"], "/nowhere".as_ref(), Platform::Arm64).unwrap_err().to_string();
        assert_eq!(error, "there is no ksm-node in /nowhere");
    }
}

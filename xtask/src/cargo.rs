//! Cargo and the workspace: where it is, how to call cargo again, where built binaries land.
//!
//! Invariant: a nested cargo sees the environment of the user, without what the outer `cargo run` added for xtask:
//! build scripts that watch those variables would rebuild each time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The binaries that ship, in the order in which reports list them.
pub const SHIPPED: [&str; 4] = ["ksm-shard", "ksm-node", "ksm-unscheduled", "ksm-rest"];

/// The embedded API server.
pub const TESTBED: &str = "ksm-testbed";

/// The folder of the root `Cargo.toml`.
pub fn workspace_root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest).parent().expect("xtask lies in the workspace").to_owned()
}

/// `cargo` in the workspace root, with a clean environment.
pub fn command() -> Command {
    let mut command = clean(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace_root());
    command
}

/// A program with the environment of the user.
pub fn clean(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(set_by_cargo_run) {
            command.env_remove(name);
        }
    }
    command
}

fn set_by_cargo_run(name: &str) -> bool {
    name == "CARGO"
        || name == "OUT_DIR"
        || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Builds binaries of the workspace and returns the path of each. Cargo's own progress goes to standard error.
pub fn build(binaries: &[&str], release: bool) -> Result<BTreeMap<String, PathBuf>> {
    let mut command = command();
    command.args(["build", "--locked", "--message-format=json-render-diagnostics"]);
    if std::env::var_os("CI").is_some() {
        // The selection of `cargo test`: another one has other features, and would compile every dependency again.
        command.args(["--workspace", "--bins", "--tests"]);
    } else {
        for binary in binaries {
            command.args(["--package", binary, "--bin", binary]);
        }
    }
    if release {
        command.arg("--release");
    }
    collect(command, binaries)
}

/// Runs a build and finds what it built.
fn collect(mut command: Command, binaries: &[&str]) -> Result<BTreeMap<String, PathBuf>> {
    let output = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo build failed for {}: see its messages above", binaries.join(", "));
    }
    let built = executables(&String::from_utf8_lossy(&output.stdout));
    for binary in binaries {
        if !built.contains_key(*binary) {
            bail!("cargo built no binary named {binary}: does {binary}/src/main.rs exist?");
        }
    }
    Ok(built)
}

/// The path of each of the binaries: those in `folder` if it is given, else built now.
pub fn binaries(wanted: &[&str], folder: Option<&Path>) -> Result<BTreeMap<String, PathBuf>> {
    let Some(folder) = folder else { return build(wanted, false) };
    let find = |name: &&str| {
        let path = folder.join(name);
        ensure!(path.is_file(), "--binaries {}: there is no {name} in it", folder.display());
        Ok(((*name).to_owned(), path))
    };
    wanted.iter().map(find).collect()
}

/// Builds an example of a package and returns its path.
pub fn build_example(package: &str, example: &str) -> Result<PathBuf> {
    let mut command = command();
    command.args(["build", "--locked", "--message-format=json-render-diagnostics"]);
    if std::env::var_os("CI").is_some() {
        // As above: `cargo test` has built the examples already.
        command.args(["--workspace", "--bins", "--tests", "--examples"]);
    } else {
        command.args(["--package", package, "--example", example]);
    }
    let output = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo build failed for the example {example}: see its messages above");
    }
    let mut built = executables(&String::from_utf8_lossy(&output.stdout));
    built.remove(example).with_context(|| format!("cargo built no example named {example}"))
}

/// Name and path of each executable in cargo's JSON messages, one a line; a binary's own tests have its name too.
fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["reason"] == "compiler-artifact" && message["profile"]["test"] == false)
        .filter_map(|message| {
            Some((message["target"]["name"].as_str()?.to_owned(), message["executable"].as_str()?.into()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_come_from_compiler_artifacts() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"ksm-core"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","target":{"name":"ksm-rest"},"profile":{"test":false},"executable":"target/debug/ksm-rest"}
{"reason":"compiler-artifact","target":{"name":"ksm-rest"},"profile":{"test":true},"executable":"target/debug/deps/ksm_rest-1"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executables(messages), BTreeMap::from([("ksm-rest".to_owned(), "target/debug/ksm-rest".into())]));
    }

    #[test]
    fn only_variables_of_the_outer_run_are_dropped() {
        assert!(["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR"].into_iter().all(set_by_cargo_run));
        assert!(!["CARGO_TARGET_DIR", "CARGO_HOME", "CARGO_TERM_COLOR"].into_iter().any(set_by_cargo_run));
    }

    #[test]
    fn the_workspace_root_has_the_lock_file() {
        assert!(workspace_root().join("Cargo.lock").is_file());
    }
}

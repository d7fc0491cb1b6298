//! Programs of others that the scenario needs, and how they are run.
//!
//! Invariant: a missing one is named with its package before anything is built.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Each is a package of Debian too.
const PROGRAMS: [&str; 4] = ["umoci", "crun", "skopeo", "podman"];

/// The platform of this machine, as in the names of files.
pub fn platform() -> &'static str {
    if std::env::consts::ARCH == "aarch64" { "linux-arm64" } else { "linux-amd64" }
}

/// Looks for all of them.
pub fn check() -> Result<()> {
    for program in PROGRAMS {
        let found = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        if found.is_err() {
            bail!(
                "images are tried with {}: install {program}, as with `apt-get install {program}`",
                PROGRAMS.join(", ")
            );
        }
    }
    ensure!(
        rustix::process::geteuid().is_root(),
        "images are run as containers of another user, which only root may start"
    );
    Ok(())
}

/// Runs a command to its end; returns what it printed, or fails with what it said.
pub fn succeed(mut command: Command, what: &str) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {what}"))?;
    if !output.status.success() {
        bail!("{what} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

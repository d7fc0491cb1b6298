//! The rule about crates that may not come in, asked of `cargo tree`.
//!
//! Invariant: looks at normal dependencies as built for this machine; test and build dependencies are free.

use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::Fault;
use crate::cargo::{self, SHIPPED};

/// What one package may not depend on, at any depth.
struct Ban {
    package: &'static str,
    /// Further arguments of `cargo tree`.
    features: &'static [&'static str],
    crates: &'static [&'static str],
    reason: &'static str,
}

/// TLS stacks beside rustls with ring: a second one doubles the binary and needs a C++ or CMake toolchain.
const TLS: &[&str] = &["openssl", "openssl-sys", "native-tls", "aws-lc-rs", "aws-lc-sys", "aws-lc-fips-sys"];

/// Async runtimes and network stacks.
const IO: &[&str] = &[
    "tokio",
    "hyper",
    "hyper-util",
    "kube",
    "kube-client",
    "mio",
    "socket2",
    "rustls",
    "async-std",
    "smol",
    "futures",
];

fn bans() -> Vec<Ban> {
    let shipped = SHIPPED.map(|package| Ban {
        package,
        features: &[],
        crates: TLS,
        reason: "rustls with ring is the one TLS stack",
    });
    let pure = Ban {
        package: "ksm-core",
        features: &["--no-default-features"],
        crates: IO,
        reason: "without its features core is pure",
    };
    let tools = Ban {
        package: "xtask",
        features: &[],
        crates: &["tokio", "hyper", "kube", "kube-client"],
        reason: "xtask builds on every cold start and stays small",
    };
    // In one build with the binaries it would turn that stack on for them too.
    let images =
        Ban { package: "ksm-images", features: &[], crates: TLS, reason: "rustls with ring is the one TLS stack" };
    shipped.into_iter().chain([pure, tools, images]).collect()
}

/// Asks cargo for every package's tree.
pub fn check() -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for ban in bans() {
        let mut command = cargo::command();
        command.args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
        command.args(["--package", ban.package]).args(ban.features).stderr(Stdio::inherit());
        let output = command.output().context("cannot run cargo tree")?;
        if !output.status.success() {
            bail!("cargo tree failed for {}: see above", ban.package);
        }
        faults.extend(judge(&ban, &String::from_utf8_lossy(&output.stdout)));
    }
    Ok(faults)
}

/// Faults of one package, given its tree, one `name version …` a line.
fn judge(ban: &Ban, tree: &str) -> Vec<Fault> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    let mut found: Vec<&str> = names.filter(|name| ban.crates.contains(name)).collect();
    found.sort_unstable();
    found.dedup();
    let path = format!("{}/Cargo.toml", ban.package);
    let hint = |name: &str| format!("`cargo tree --package {} --invert {name}`", ban.package);
    found
        .into_iter()
        .map(|name| Fault::new(&path, 0, format!("depends on {name}: {}; see {}", ban.reason, hint(name))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banned_crate_is_found_once_and_by_its_whole_name() {
        let ban = Ban { package: "ksm-rest", features: &[], crates: TLS, reason: "why" };
        let tree = "ksm-rest v0.1.0 (x)\nring v0.17.14\nopenssl v0.10.0\nopenssl v0.10.0 (*)\nopenssl-probe v0.1.0\n";
        let shown: Vec<String> = judge(&ban, tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            ["ksm-rest/Cargo.toml: depends on openssl: why; see `cargo tree --package ksm-rest --invert openssl`"]
        );
    }
}

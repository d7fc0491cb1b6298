//! The command line of `cargo xtask build-images`.
//!
//! Invariant: only names, defaults, help texts and what they mean; clap answers a usage error with exit code 2.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use clap::builder::PossibleValuesParser;

use crate::platform::Platform;
use crate::sources::SHIPPED;

/// Builds static release binaries and writes a container image of each, without a container engine
#[derive(Parser)]
#[command(name = "cargo xtask build-images", bin_name = "cargo xtask build-images")]
pub struct Arguments {
    /// Only the image of this binary
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(SHIPPED))]
    only: Option<String>,
    /// Platforms of the images; several make one image for all of them [default: that of this machine]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    platform: Vec<Platform>,
    /// Tag of the images [default: version and revision]
    #[arg(long, value_name = "TAG", value_parser = tag)]
    pub tag: Option<String>,
    /// Push each image to `REGISTRY/REPO/<binary>`; who may is read from what `docker login` wrote
    #[arg(long, value_name = "REGISTRY/REPO")]
    pub push: Option<String>,
    /// Push over plain HTTP, as is always done for registries on this machine
    #[arg(long, requires = "push")]
    pub insecure: bool,
    /// Load the images into Docker, or else Podman
    #[arg(long)]
    pub load: bool,
    /// Revision of the sources [default: that of the checkout]
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,
    /// Certificate authorities to trust
    #[arg(long, value_name = "FILE", default_value = "/etc/ssl/certs/ca-certificates.crt")]
    pub ca_roots: PathBuf,
    /// Take the static binaries in this folder, or in its folders linux-amd64 and linux-arm64, instead of building them
    #[arg(long, value_name = "DIR")]
    pub binaries: Option<PathBuf>,
    /// Build a second time, of a copy of the sources in another folder and with nothing built before, and fail if a binary
    /// differs; takes as long as the first time
    #[arg(long, conflicts_with = "binaries")]
    pub reproduce: bool,
    /// Write images here [default: target/images]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Arguments {
    /// The binaries to pack.
    pub fn names(&self) -> Vec<&'static str> {
        SHIPPED.into_iter().filter(|name| self.only.as_deref().is_none_or(|only| only == *name)).collect()
    }

    /// The platforms asked for, each once.
    pub fn platforms(&self) -> Result<Vec<Platform>> {
        let mut platforms = self.platform.clone();
        if platforms.is_empty() {
            platforms.push(Platform::of_this_machine()?);
        }
        platforms.sort();
        platforms.dedup();
        Ok(platforms)
    }
}

/// A tag as the distribution specification has it: `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`.
fn tag(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.len() <= 128 && !text.starts_with(['.', '-']) && !text.is_empty() && text.chars().all(inner) {
        return Ok(text.to_owned());
    }
    Err("a tag has up to 128 letters, digits, `.`, `_` and `-`, and begins with none of `.` and `-`".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn tags_are_checked() {
        for good in ["v0.1.0", "_", "2026-12-01"] {
            assert_eq!(tag(good).as_deref(), Ok(good));
        }
        for bad in ["", ".v1", "-v1", "a:b", "a/b", "ä", &"v".repeat(129)] {
            assert!(tag(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn platforms_come_once_and_in_order() {
        let parsed = Arguments::parse_from(["x", "--platform", "linux/arm64,linux/amd64,linux/arm64"]);
        assert_eq!(parsed.platforms().unwrap(), [Platform::Amd64, Platform::Arm64]);
        assert!(Arguments::try_parse_from(["x", "--platform", "windows/amd64"]).is_err());
    }
}

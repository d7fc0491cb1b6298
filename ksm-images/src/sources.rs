//! The sources: which revision they are, where they lie, and release binaries of them.
//!
//! Invariant: a binary has no path of the machine in it that it was built on, neither of the checkout nor of the sources of
//! dependencies, and has the revision and date that its image has too.

use std::collections::{BTreeMap, BTreeSet};
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

impl Stamp {
    /// The tag of what is built from these sources. With the version alone, nodes would keep the image that they have by
    /// that name.
    pub fn tag(&self) -> String {
        let (revision, dirty) = match self.revision.strip_suffix("-dirty") {
            Some(revision) => (revision, "-dirty"),
            None => (self.revision.as_str(), ""),
        };
        let allowed = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let short: String = revision.chars().take(12).map(allowed).collect();
        format!("v{}-{short}{dirty}", self.version)
    }
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

/// A checkout, or a copy of one.
pub struct Sources {
    root: PathBuf,
    /// Where cargo is to put what it builds, if not where it would.
    target: Option<PathBuf>,
}

impl Sources {
    /// Those of this program.
    pub fn own() -> Self {
        Self { root: workspace_root().to_owned(), target: None }
    }

    /// Copies the files that git knows, as they are now, into `folder`; what is built of them goes into `target`.
    pub fn copied(folder: &Path, target: &Path) -> Result<Self> {
        for name in git(&["ls-files", "-z"])?.split_terminator('\0') {
            let (from, to) = (workspace_root().join(name), folder.join(name));
            // Removed, and git not told yet.
            if !from.exists() {
                continue;
            }
            let copied = to.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::copy(&from, &to));
            copied.with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        }
        Ok(Self { root: folder.to_owned(), target: Some(target.to_owned()) })
    }

    /// `cargo` in their folder.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(&self.root);
        if let Some(target) = &self.target {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }

    /// Release binaries that need no shared library, by name.
    ///
    /// glibc can be linked so too: it has resolvers for files and DNS within itself since 2.34.
    pub fn build(&self, names: &[&str], platform: Platform, stamp: &Stamp) -> Result<BTreeMap<String, PathBuf>> {
        let target = platform.target();
        let mut command = self.cargo();
        // With a target named, the flags are for the binaries and not for build scripts and macros.
        command.args(["build", "--locked", "--release", "--target", target]);
        for name in names {
            command.args(["--package", name, "--bin", name]);
        }
        let paths = self.paths()?;
        let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
        flags.extend(paths.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")));
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        // The same for what is written in C.
        let variable = format!("CFLAGS_{}", target.replace('-', "_"));
        let given = std::env::var(&variable).or_else(|_| std::env::var("CFLAGS")).unwrap_or_default();
        // Flags in a variable end at blanks.
        let whole = paths.iter().filter(|(from, _)| !from.contains(char::is_whitespace));
        let flags = whole.map(|(from, to)| format!("-ffile-prefix-map={from}={to}"));
        command.env(&variable, [given].into_iter().chain(flags).collect::<Vec<_>>().join(" "));
        command.env("KSM_REVISION", &stamp.revision).env("KSM_DATE", &stamp.date);
        platform.prepare(&mut command);
        let status = command.status().context("cannot run cargo")?;
        ensure!(status.success(), "cargo build failed for {target}: see its messages above");
        let folder = self.target_folder()?.join(target).join("release");
        names.iter().map(|name| found(name, folder.join(name))).collect()
    }

    /// Where cargo puts what it builds.
    pub fn target_folder(&self) -> Result<PathBuf> {
        target_folder(&self.metadata(true)?)
    }

    /// Fails if a binary that was built here has a path of this machine in it.
    pub fn check_paths(&self, binary: &[u8]) -> Result<()> {
        // One as short as `/src` is part of others.
        for (path, _) in self.paths()?.into_iter().filter(|(path, _)| Path::new(path).components().count() > 2) {
            let inside = format!("{path}/");
            let found = binary.windows(inside.len()).any(|window| window == inside.as_bytes());
            ensure!(!found, "it has the path {path} in it, so that another machine would build another image");
        }
        Ok(())
    }

    /// Paths of this machine that compilers would write into binaries, as in messages of panics, and what they write
    /// instead; of several that fit the last one counts. Two machines would build two binaries, and each would tell of its
    /// own.
    fn paths(&self) -> Result<Vec<(String, String)>> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        paths_of(&self.metadata(false)?, &self.root, home.as_deref())
    }

    /// What cargo says of the workspace, `own` or with all that it depends on.
    fn metadata(&self, own: bool) -> Result<Value> {
        let mut command = self.cargo();
        command.args(["metadata", "--locked", "--format-version", "1"]);
        if own {
            command.arg("--no-deps");
        }
        let output = command.output().context("cannot run cargo")?;
        ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")
    }
}

fn target_folder(metadata: &Value) -> Result<PathBuf> {
    Ok(metadata["target_directory"].as_str().context("cargo metadata names no target folder")?.into())
}

fn paths_of(metadata: &Value, root: &Path, home: Option<&Path>) -> Result<Vec<(String, String)>> {
    let mut paths = vec![
        (target_folder(metadata)?.display().to_string(), "./target".to_owned()),
        (root.display().to_string(), ".".to_owned()),
    ];
    paths.extend(home.map(|home| (home.display().to_string(), "/cargo".to_owned())));
    // The name of a registry's folder depends on where it is read from, which may be a mirror.
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let sources =
        packages.iter().filter(|package| package["source"].as_str().is_some_and(|from| from.starts_with("registry+")));
    let folders: BTreeSet<&Path> =
        sources.filter_map(|package| Path::new(package["manifest_path"].as_str()?).parent()?.parent()).collect();
    paths.extend(folders.into_iter().map(|folder| (folder.display().to_string(), "/registry".to_owned())));
    Ok(paths)
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
    fn each_revision_has_a_tag_of_its_own() {
        let tag = |revision: &str| Stamp { version: "0.1.0", revision: revision.to_owned(), date: String::new() }.tag();
        assert_eq!(tag("71f1481c0ffee0123456789abcdef0123456789a"), "v0.1.0-71f1481c0ffe");
        assert_eq!(tag("71f1481c0ffee0123456789abcdef0123456789a-dirty"), "v0.1.0-71f1481c0ffe-dirty");
        assert_eq!(tag("release/1"), "v0.1.0-release-1");
    }

    #[test]
    fn no_path_of_the_machine_is_left_to_compilers() {
        let metadata = serde_json::json!({"target_directory": "/builds/target", "packages": [
            {"source": null, "manifest_path": "/src/ksm-core/Cargo.toml"},
            {"source": "registry+https://x", "manifest_path": "/builds/cargo/registry/src/mirror-1/clap-4.0.0/Cargo.toml"},
            {"source": "registry+https://x", "manifest_path": "/builds/cargo/registry/src/mirror-1/tar-0.4.0/Cargo.toml"},
            {"source": "git+https://y", "manifest_path": "/builds/cargo/git/checkouts/y-1/0a/Cargo.toml"},
        ]});
        let paths = paths_of(&metadata, workspace_root(), Some("/builds/cargo".as_ref())).unwrap();
        // As rustc does: the last prefix that fits.
        let written = |path: &str| {
            let fits = paths.iter().rfind(|(from, _)| path.starts_with(from.as_str()));
            fits.map_or_else(|| path.to_owned(), |(from, to)| format!("{to}{}", &path[from.len()..]))
        };
        let own = workspace_root().join("ksm-core/src/lib.rs").display().to_string();
        assert_eq!(written(&own), "./ksm-core/src/lib.rs");
        assert_eq!(written("/builds/target/release/build/x/out/y.rs"), "./target/release/build/x/out/y.rs");
        assert_eq!(
            written("/builds/cargo/registry/src/mirror-1/clap-4.0.0/src/lib.rs"),
            "/registry/clap-4.0.0/src/lib.rs"
        );
        assert_eq!(written("/builds/cargo/git/checkouts/y-1/0a/src/lib.rs"), "/cargo/git/checkouts/y-1/0a/src/lib.rs");
    }

    #[test]
    fn a_path_of_this_machine_in_a_binary_is_noticed() {
        let mut binary = b"\x7fELF and /registry/clap-4.0.0/src/lib.rs".to_vec();
        Sources::own().check_paths(&binary).unwrap();
        binary.extend(workspace_root().join("ksm-core/src/lib.rs").display().to_string().bytes());
        assert!(Sources::own().check_paths(&binary).is_err());
    }

    #[test]
    fn a_missing_binary_is_named() {
        let error = present(&["ksm-node"], "/nowhere".as_ref(), Platform::Arm64).unwrap_err().to_string();
        assert_eq!(error, "there is no ksm-node in /nowhere");
    }
}

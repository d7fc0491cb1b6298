//! `cargo xtask build-images`: container images of the binaries, without a container engine.
//!
//! Invariant: the same binary, roots and date give the same bytes. An image has one layer, made from scratch: a static
//! binary and certificate authorities, no shell, and an unprivileged user.

mod elf;
mod layout;
mod tar;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use self::layout::{About, Image};
use crate::cargo;
use crate::cli::BuildImagesArgs;

/// Where a binary finds certificate authorities, for API servers with certificates of public ones.
const ROOTS: &str = "etc/ssl/certs/ca-certificates.crt";

/// Runs the command.
pub fn run(arguments: &BuildImagesArgs) -> Result<()> {
    let wanted: Vec<&str> = match &arguments.only {
        None => cargo::SHIPPED.to_vec(),
        Some(only) => cargo::SHIPPED.into_iter().filter(|name| name == only).collect(),
    };
    let revision = arguments.revision.clone().map_or_else(|| git(&["rev-parse", "HEAD"]), Ok)?;
    let date = date()?;
    let roots = std::fs::read(&arguments.ca_roots)
        .with_context(|| format!("cannot read certificate authorities from {}", arguments.ca_roots.display()))?;
    let binaries = match &arguments.binaries {
        Some(folder) => cargo::binaries(&wanted, Some(folder))?,
        None => cargo::build_static(&wanted, &revision)?,
    };
    // All of them are looked at before the first is written, so that nothing is half done.
    let mut images = Vec::new();
    for name in wanted {
        let path = &binaries[name];
        let binary = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let architecture = elf::static_architecture(&binary).with_context(|| path.display().to_string())?;
        let about = About { name, tag: &arguments.tag, revision: &revision, architecture, date };
        images.push((name, Image::new(&about, &layer(name, &binary, &roots)?)?));
    }
    let out = arguments.out.clone().unwrap_or_else(|| cargo::workspace_root().join("target/images"));
    for (name, image) in images {
        let (folder, archive) = write(&out, name, &image)?;
        let mebibytes = image.packed_bytes() as f64 / f64::from(1 << 20);
        println!("{name}:{} {} {mebibytes:.1} MiB packed", arguments.tag, image.digest());
        println!("    OCI layout {}\n    docker-archive {}", folder.display(), archive.display());
    }
    Ok(())
}

/// The files of an image.
fn layer(name: &str, binary: &[u8], roots: &[u8]) -> Result<Vec<u8>> {
    let mut layer = tar::Writer::default();
    for folder in ["etc/", "etc/ssl/", "etc/ssl/certs/"] {
        layer.folder(folder)?;
    }
    layer.file(ROOTS, 0o644, roots)?;
    layer.file(name, 0o755, binary)?;
    Ok(layer.finish())
}

fn write(out: &Path, name: &str, image: &Image) -> Result<(PathBuf, PathBuf)> {
    let (folder, archive) = (out.join(name), out.join(format!("{name}.docker.tar")));
    if folder.exists() {
        // Blobs of an earlier build would stay for ever.
        ensure!(folder.join("oci-layout").is_file(), "{} is there and is no OCI layout", folder.display());
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    for (path, bytes) in image.layout() {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    std::fs::write(&archive, image.docker_archive()?).with_context(|| format!("cannot write {}", archive.display()))?;
    Ok((folder, archive))
}

/// Seconds since the Unix epoch that stand for "now": `SOURCE_DATE_EPOCH`, else the date of the last commit.
fn date() -> Result<i64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(given) => given,
        Err(_) => git(&["log", "-1", "--format=%ct"])?,
    };
    text.parse().with_context(|| format!("the date `{text}` is no number of seconds"))
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(cargo::workspace_root()).args(arguments).output();
    let output = output.context("cannot run git: set SOURCE_DATE_EPOCH and give --revision")?;
    ensure!(
        output.status.success(),
        "git {}: {}; set SOURCE_DATE_EPOCH and give --revision",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

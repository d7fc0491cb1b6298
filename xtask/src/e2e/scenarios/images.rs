//! Images: what `build-images` writes and pushes is pulled back by another program, unpacked and run, against the API
//! server, as a cluster would run it; and whatever refuses it, refuses it in one line.
//!
//! Invariant: the images are those that ship: release binaries, packed twice, and one of them built twice. A container has the user of
//! its image, no rights, a root file system that it cannot write, and ends with the scenario.

mod container;
mod programs;
mod refusals;
mod registry;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::container::Container;
use self::programs::succeed;
use self::registry::Registry;
use crate::cargo::SHIPPED;
use crate::e2e::objects::{BULK_NODES, RESOURCES};
use crate::e2e::world::{World, rest_resources};
use crate::exporter::READY_LIMIT;
use crate::exposition::Format;
use crate::flags::Flags;
use crate::images;

/// The tag of this run.
const TAG: &str = "e2e";

/// What is built twice from nothing, which takes minutes: all four come of the same crates, and this of the fewest.
const REPRODUCED: &str = "ksm-node";

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    programs::check()?;
    let registry = Registry::start(world)?;
    let builder = images::build()?;
    let refused = refusals::check(world, &registry, &builder)?;

    let out = world.scratch.folder("images")?;
    let to = format!("{}/ksm", registry.address());
    let mut build = registry.logged_in(Command::new(&builder));
    build.args(["--tag", TAG, "--push", &to, "--out"]).arg(&out);
    succeed(build, "build-images")?;
    let noted = read_json(&out.join("pushed.json"))?;
    for name in SHIPPED {
        let expected = format!("{TAG}@{}", root_digest(&out.join(name))?);
        ensure!(noted[format!("{to}/{name}")] == expected, "what was pushed is noted as {noted}");
    }
    check_reproducible(world, &builder, &out)?;

    let mut packed = Vec::new();
    for name in SHIPPED {
        packed.push(run_image(world, &registry, name, &out).with_context(|| format!("the image of {name}"))?);
    }
    several_platforms(world, &registry, &builder)?;
    load(world, &builder)?;
    Ok(format!(
        "{} images pushed, pulled, run as nobody on a read-only root and scraped, {} MiB packed; packed again with the same \
         digests, and {REPRODUCED} built again from nothing, elsewhere, with the same bytes; an index of two platforms; \
         loaded into podman; {refused} refusals in one line",
        SHIPPED.len(),
        packed.join(", ")
    ))
}

/// Packs the binaries a second time and compares every digest; builds one of them a second time from nothing.
fn check_reproducible(world: &World, builder: &Path, first: &Path) -> Result<()> {
    let second = world.scratch.folder("images-again")?;
    let mut again = Command::new(builder);
    again.args(["--tag", TAG, "--out"]).arg(&second);
    succeed(again, "build-images, again")?;
    for name in SHIPPED {
        let (one, other) = (root_digest(&first.join(name))?, root_digest(&second.join(name))?);
        ensure!(one == other, "{name}: two builds have two digests, {one} and {other}");
        for file in [format!("{name}-{}.docker.tar", programs::platform()), bill_name(name)] {
            let same = fs::read(first.join(&file))? == fs::read(second.join(&file))?;
            ensure!(same, "{file}: two builds differ");
        }
    }
    let mut anew = Command::new(builder);
    anew.args(["--only", REPRODUCED, "--tag", TAG, "--reproduce", "--out"]).arg(world.scratch.folder("images-anew")?);
    let said = succeed(anew, "build-images --reproduce")?;
    ensure!(said.contains("reproduced: "), "it says:\n{said}");
    Ok(())
}

fn bill_name(name: &str) -> String {
    format!("{name}-{}.cdx.json", programs::platform())
}

/// The digest of what the tag of a layout stands for.
fn root_digest(layout: &Path) -> Result<String> {
    let index = read_json(&layout.join("index.json"))?;
    let digest = index["manifests"][0]["digest"].as_str().context("a layout has a manifest")?;
    Ok(digest.to_owned())
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))
}

/// Pulls an image, runs it and compares what it serves; returns its packed size in MiB.
fn run_image(world: &World, registry: &Registry, name: &str, out: &Path) -> Result<String> {
    let pulled = world.scratch.path().join(format!("pulled-{name}"));
    registry.pull(&format!("ksm/{name}:{TAG}"), &pulled)?;
    let (pushed, found) = (root_digest(&out.join(name))?, root_digest(&pulled)?);
    ensure!(pushed == found, "pushed {pushed} and pulled {found}");
    registry.check_bill(&format!("ksm/{name}"), &pushed, &fs::read(out.join(bill_name(name)))?)?;

    let bundle = world.scratch.path().join(format!("bundle-{name}"));
    let mut unpack = Command::new("umoci");
    unpack.arg("unpack").arg("--image").arg(format!("{}:{TAG}", pulled.display())).arg(&bundle);
    succeed(unpack, "umoci")?;
    let labels = labels(&pulled)?;
    check_version(world, &bundle, name, &labels)?;

    let arguments = arguments(name);
    let mut container = Container::start(world, &bundle, name, &arguments)?;
    container.exporter.wait_ready(READY_LIMIT)?;
    container.check_confined()?;
    let live = container.exporter.telemetry.get("/livez", None)?;
    ensure!(live.status == 200, "/livez answers {}", live.status);
    check_build_info(&container, &labels)?;
    // The other side is the reference, or a process that other scenarios compare with it.
    let other = match name {
        "ksm-shard" => world.start_reference("reference-image", &Flags::DEFAULT)?,
        _ => world.start_ours(&format!("process-{name}"), name, &process_arguments(name))?,
    };
    world.settle(&format!("the image of {name} and a process"), || {
        Ok((world.read(&[&other], Format::Text)?, world.read(&[&container.exporter], Format::Text)?))
    })?;
    container.stop()?;
    let manifest = manifest(&pulled)?;
    let bytes = manifest["layers"][0]["size"].as_u64().context("a layer has a size")?;
    Ok(format!("{name} {:.1}", bytes as f64 / f64::from(1 << 20)))
}

/// The manifest of an image for one platform.
fn manifest(layout: &Path) -> Result<Value> {
    read_json(&layout.join("blobs").join(root_digest(layout)?.replace(':', "/")))
}

/// Arguments of a container.
fn arguments(name: &str) -> Vec<String> {
    let mut arguments = process_arguments(name);
    match name {
        "ksm-shard" => arguments.push(format!("--resources={}", RESOURCES.join(","))),
        "ksm-rest" => arguments.push(format!("--resources={}", rest_resources().join(","))),
        _ => {}
    }
    arguments
}

/// The same where resources are given already.
fn process_arguments(name: &str) -> Vec<String> {
    if name == "ksm-node" { vec![format!("--node={}", BULK_NODES[0])] } else { Vec::new() }
}

/// The labels in the configuration of a pulled image.
fn labels(layout: &Path) -> Result<BTreeMap<String, String>> {
    let manifest = manifest(layout)?;
    let digest = manifest["config"]["digest"].as_str().context("a manifest has a configuration")?;
    let config = read_json(&layout.join("blobs").join(digest.replace(':', "/")))?;
    let labels = config["config"]["Labels"].as_object().context("an image has labels")?;
    labels
        .iter()
        .map(|(name, value)| {
            let short = name.strip_prefix("org.opencontainers.image.").unwrap_or(name);
            Ok((short.to_owned(), value.as_str().context("a label is a string")?.to_owned()))
        })
        .collect()
}

/// `version` says what the labels say.
fn check_version(world: &World, bundle: &Path, name: &str, labels: &BTreeMap<String, String>) -> Result<()> {
    let printed = container::output(world, bundle, name, &["version"])?;
    let expected =
        format!("{name} {} (revision {}, date {})\n", labels["version"], labels["revision"], labels["created"]);
    ensure!(printed == expected, "`version` prints {printed:?}, and the labels say {expected:?}");
    ensure!(labels["revision"].len() >= 40, "the revision is {}", labels["revision"]);
    Ok(())
}

/// And so does the metric about the build.
fn check_build_info(container: &Container, labels: &BTreeMap<String, String>) -> Result<()> {
    let metrics = container.exporter.self_metrics()?;
    let sample = metrics.select("kube_state_metrics_build_info", &[]).next().context("no build_info")?;
    for (label, image) in [("version", "version"), ("revision", "revision"), ("date", "created")] {
        ensure!(sample.label(label) == Some(labels[image].as_str()), "build_info has another {label}: {sample:?}");
    }
    Ok(())
}

/// One image for two platforms: the second binary is the first with the other machine in its header, and is not run.
fn several_platforms(world: &World, registry: &Registry, builder: &Path) -> Result<()> {
    let binaries = world.scratch.folder("binaries")?;
    let name = SHIPPED[3];
    let own = world.scratch.path().join(format!("bundle-{name}/rootfs")).join(name);
    let mut binary = fs::read(&own).with_context(|| format!("cannot read {}", own.display()))?;
    // Where an ELF header says the machine: 62 is x86-64, 183 AArch64.
    for (folder, machine) in [("linux-amd64", 62), ("linux-arm64", 183)] {
        binary[18] = machine;
        fs::create_dir_all(binaries.join(folder))?;
        fs::write(binaries.join(folder).join(name), &binary)?;
    }
    let out = world.scratch.folder("images-two")?;
    let mut build = registry.logged_in(Command::new(builder));
    build.args(["--only", name, "--tag", "two", "--platform", "linux/amd64,linux/arm64", "--binaries"]).arg(&binaries);
    build.arg("--push").arg(format!("{}/ksm", registry.address())).arg("--out").arg(&out);
    succeed(build, "build-images for two platforms")?;
    let pulled = world.scratch.path().join("pulled-two");
    registry.pull(&format!("ksm/{name}:two"), &pulled)?;
    let (pushed, found) = (root_digest(&out.join(name))?, root_digest(&pulled)?);
    ensure!(pushed == found, "pushed the index {pushed} and pulled {found}");
    let index = read_json(&pulled.join("blobs").join(found.replace(':', "/")))?;
    let manifests = index["manifests"].as_array().context("an index has manifests")?;
    let platforms: Vec<&Value> = manifests.iter().map(|manifest| &manifest["platform"]["architecture"]).collect();
    ensure!(platforms == ["amd64", "arm64"], "the index has {platforms:?}");
    Ok(())
}

/// `--load` into podman, which keeps images in a folder of this run and starts nothing.
fn load(world: &World, builder: &Path) -> Result<()> {
    let folder = world.scratch.folder("podman")?;
    let storage = folder.join("storage.conf");
    let path = |name: &str| folder.join(name).display().to_string();
    let text =
        format!("[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n", path("graph"), path("run"));
    fs::write(&storage, text).context("cannot write podman's configuration")?;
    let name = SHIPPED[3];
    let out = world.scratch.folder("images-loaded")?;
    let mut build = Command::new(builder);
    // A Docker that runs on this machine is the user's.
    build.env("CONTAINERS_STORAGE_CONF", &storage).env("DOCKER_HOST", "unix:///nowhere");
    build.args(["--only", name, "--tag", TAG, "--load", "--binaries"]);
    build.arg(world.scratch.path().join(format!("bundle-{name}/rootfs"))).arg("--out").arg(&out);
    let said = succeed(build, "build-images --load")?;
    let reference = format!("localhost/kube-state-metrics-sharded/{name}:{TAG}");
    ensure!(said.contains(&reference) && said.contains("into podman"), "it says:\n{said}");
    let mut inspect = Command::new("podman");
    inspect.env("CONTAINERS_STORAGE_CONF", &storage);
    inspect.args(["image", "inspect", "--format", "{{.Id}} {{.User}}", &reference]);
    let found = succeed(inspect, "podman image inspect")?;
    let manifest = manifest(&out.join(name))?;
    let config = manifest["config"]["digest"].as_str().context("a manifest has a configuration")?;
    let expected = format!("{} 65534:65534", config.trim_start_matches("sha256:"));
    ensure!(found.trim() == expected, "podman has `{}`, want `{expected}`", found.trim());
    Ok(())
}

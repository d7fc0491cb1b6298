//! An unpacked image, run by crun as a kubelet would have it run.
//!
//! Invariant: the user comes from the image; the root file system is read-only, there are no capabilities, and rights in
//! the cluster come from a mounted service account. Only network and cgroups are those of the machine. A container that
//! goes out of scope is removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::programs::succeed;
use super::read_json;
use crate::cluster::ADMIN_TOKEN;
use crate::e2e::world::World;
use crate::exporter::Exporter;
use crate::http::Client;

/// Where a pod finds its service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Nobody, as the images say.
const USER: &str = "65534";

/// Kinds of namespaces that a container here shares with the machine: it may not make new ones, or is reached by them.
const SHARED: [&str; 2] = ["network", "cgroup"];

/// A running container.
pub struct Container {
    /// Its main process, through crun.
    pub exporter: Exporter,
    // Dropped after the process, which by then has been asked to stop.
    state: State,
}

/// What crun knows of a container.
struct State {
    folder: PathBuf,
    name: String,
}

impl Drop for State {
    fn drop(&mut self) {
        // After a clean end there is nothing to delete, which is no fault.
        let mut delete = crun(&self.folder);
        let _ = delete.args(["delete", "--force", &self.name]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Where crun sees no control groups: it needs none, and refuses to start where both versions of them are mounted.
const WITHOUT_CGROUPS: &str = "mount -t tmpfs none /sys/fs/cgroup && exec crun \"$@\"";

fn crun(state: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", WITHOUT_CGROUPS, "crun"]);
    command.arg("--cgroup-manager=disabled").arg("--root").arg(state);
    command
}

impl Container {
    /// Starts the program of an image with these arguments.
    pub fn start(world: &World, bundle: &Path, name: &str, arguments: &[String]) -> Result<Self> {
        let mut all = vec!["--host=127.0.0.1", "--port=0", "--telemetry-host=127.0.0.1", "--telemetry-port=0"];
        all.extend(arguments.iter().map(String::as_str));
        let state = prepare(world, bundle, name, &all)?;
        let mut command = crun(&state.folder);
        command.arg("run").arg("--bundle").arg(bundle).arg(&state.name);
        let client = |address: &str| Ok(Client::plain(address));
        let exporter = Exporter::attach(&format!("container-{name}"), command, &world.logs, client)?;
        Ok(Self { exporter, state })
    }

    /// Looks from outside at the process: whose it is, what it may do, and whether its root can be written.
    pub fn check_confined(&self) -> Result<()> {
        let mut command = crun(&self.state.folder);
        command.args(["state", &self.state.name]);
        let state: Value = serde_json::from_str(&succeed(command, "crun state")?).context("crun state is not JSON")?;
        let id = state["pid"].as_u64().context("a container has a process")?;
        let process = PathBuf::from(format!("/proc/{id}"));
        let status = fs::read_to_string(process.join("status")).context("cannot look at the container's process")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.with_context(|| format!("no {name} of a process")).map(str::trim)
        };
        for ids in ["Uid", "Gid"] {
            let all: Vec<&str> = field(ids)?.split_whitespace().collect();
            ensure!(all == [USER; 4], "{ids} of its process: {all:?}");
        }
        ensure!(
            u64::from_str_radix(field("CapEff")?, 16) == Ok(0),
            "its process has capabilities: {}",
            field("CapEff")?
        );
        ensure!(field("NoNewPrivs")? == "1", "its process may gain rights");
        // Even the superuser, through the mount of the container.
        for path in ["root/written", "root/etc/written"] {
            let kind = fs::File::create(process.join(path)).err().map(|error| error.kind());
            ensure!(
                kind == Some(std::io::ErrorKind::ReadOnlyFilesystem),
                "/{path} of the container can be written: {kind:?}"
            );
        }
        Ok(())
    }

    /// Asks it to stop; it must do so by itself, and leave no container behind.
    pub fn stop(self) -> Result<()> {
        let Self { exporter, state } = self;
        let status = exporter.process.stop()?;
        ensure!(status.success(), "asked to stop, it ended with {status}");
        let mut list = crun(&state.folder);
        list.args(["list", "--quiet"]);
        let left = succeed(list, "crun list")?;
        ensure!(left.trim().is_empty(), "containers are left: {left}");
        Ok(())
    }
}

/// What the program of an image prints for these arguments.
pub fn output(world: &World, bundle: &Path, name: &str, arguments: &[&str]) -> Result<String> {
    let state = prepare(world, bundle, &format!("{name}-once"), arguments)?;
    let mut command = crun(&state.folder);
    command.arg("run").arg("--bundle").arg(bundle).arg(&state.name);
    let printed = succeed(command, &format!("crun run {name}"))?;
    drop(state);
    Ok(printed)
}

/// Writes what the bundle is run with, and where crun keeps its state.
fn prepare(world: &World, bundle: &Path, name: &str, arguments: &[&str]) -> Result<State> {
    let path = bundle.join("config.json");
    // What umoci wrote is kept: the bundle may be run again with other arguments.
    let original = bundle.join("config.umoci.json");
    if !original.is_file() {
        fs::copy(&path, &original).context("cannot copy the bundle's configuration")?;
    }
    let mut config = read_json(&original)?;
    confine(&mut config, arguments, &account(world)?, world.api.port())?;
    fs::write(&path, config.to_string()).context("cannot write the bundle's configuration")?;
    Ok(State { folder: world.scratch.folder("crun")?, name: format!("ksm-e2e-{}-{name}", std::process::id()) })
}

/// Makes of umoci's configuration what a kubelet asks for, as far as this kind of machine has it.
fn confine(config: &mut Value, arguments: &[&str], account: &Path, port: u16) -> Result<()> {
    let program = config["process"]["args"][0].clone();
    let process = config["process"].as_object_mut().context("a bundle has a process")?;
    process.insert("terminal".to_owned(), json!(false));
    process.remove("rlimits");
    process.insert("noNewPrivileges".to_owned(), json!(true));
    process.insert("capabilities".to_owned(), json!({}));
    let mut command = vec![program];
    command.extend(arguments.iter().map(|argument| json!(argument)));
    process.insert("args".to_owned(), json!(command));
    let environment = process.entry("env").or_insert_with(|| json!([]));
    let environment = environment.as_array_mut().context("an environment is a list")?;
    environment.push(json!("KUBERNETES_SERVICE_HOST=127.0.0.1"));
    environment.push(json!(format!("KUBERNETES_SERVICE_PORT={port}")));
    config["root"]["readonly"] = json!(true);
    let mounts = config["mounts"].as_array_mut().context("a bundle has mounts")?;
    // Umoci's are of the machine's control groups, which the container does not get.
    mounts.retain(|mount| mount["type"] != "cgroup");
    mounts.push(json!({"destination": ACCOUNT, "source": account, "type": "bind", "options": ["bind", "ro"]}));
    let linux = config["linux"].as_object_mut().context("a bundle is for Linux")?;
    linux.remove("resources");
    let namespaces = linux.get_mut("namespaces").and_then(Value::as_array_mut).context("a bundle has namespaces")?;
    namespaces.retain(|namespace| !SHARED.iter().any(|shared| namespace["type"] == *shared));
    Ok(())
}

/// A folder as a service account is mounted, readable by everyone.
fn account(world: &World) -> Result<PathBuf> {
    let folder = world.scratch.folder("account")?;
    fs::copy(world.api.authority(), folder.join("ca.crt")).context("cannot copy the API server's certificate")?;
    fs::write(folder.join("token"), ADMIN_TOKEN).context("cannot write a token")?;
    fs::write(folder.join("namespace"), "default").context("cannot write a namespace")?;
    for (name, mode) in [("", 0o755), ("ca.crt", 0o644), ("token", 0o644), ("namespace", 0o644)] {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).context("cannot set a mode")?;
    }
    Ok(folder)
}

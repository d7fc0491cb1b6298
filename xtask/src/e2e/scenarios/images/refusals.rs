//! What `build-images` refuses, and who refuses it.
//!
//! Invariant: each gives one line and exit code 1, before anything is built, written or pushed.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::registry::Registry;
use crate::e2e::world::World;
use crate::ports;

/// Checks all of them; returns how many there are.
pub fn check(world: &World, registry: &Registry, builder: &Path) -> Result<usize> {
    let out = world.scratch.path().join("refused");
    let empty = world.scratch.folder("no-programs")?;
    let (nowhere, broken) = (format!("127.0.0.1:{}", ports::free()?), answers_500()?);
    let folder = world.scratch.folder("no-binaries")?;
    let mut count = 0;
    let mut refuse = |what: &str, command: Command, mentions: &[&str]| {
        count += 1;
        refused(command, &out, mentions).with_context(|| what.to_owned())
    };
    let build = |login: &str, arguments: &[&str]| {
        let mut command = registry.with_login(Command::new(builder), login);
        command.args(arguments).arg("--out").arg(&out);
        command
    };
    let to = format!("{}/ksm", registry.address());
    let hint = format!("`docker login {}`", registry.address());
    for login in ["login-none", "login-wrong"] {
        refuse(login, build(login, &["--push", &to]), &[registry.address(), "401", &hint])?;
    }
    let push = |address: &str| format!("{address}/ksm");
    refuse("nobody listens", build("login", &["--push", &push(&nowhere)]), &["cannot reach", &nowhere, "refused"])?;
    refuse("a broken registry", build("login", &["--push", &push(&broken)]), &[&broken, "500"])?;
    refuse("no registry", build("login", &["--push", "monitoring"]), &["--push monitoring", "REGISTRY/REPO"])?;

    // Whether the target is installed or not, there is no such linker.
    let mut target = build("login", &["--platform", "linux/arm64,linux/amd64"]);
    for target_name in ["AARCH64", "X86_64"] {
        target.env(format!("CARGO_TARGET_{target_name}_UNKNOWN_LINUX_GNU_LINKER"), "/nowhere/ld");
    }
    refuse("no linker", target, &["linux/", "-unknown-linux-gnu", "install"])?;

    let mut load = build("login", &["--load"]);
    load.env("PATH", &empty);
    refuse("no engine", load, &["--load", "docker: is not on the PATH", "podman: is not on the PATH"])?;
    let given = folder.display().to_string();
    refuse("no binary", build("login", &["--binaries", &given]), &["ksm-shard", &given])?;
    let roots = build("login", &["--ca-roots", "/nowhere/roots.pem"]);
    refuse("no roots", roots, &["/nowhere/roots.pem"])?;

    let present = registry.repositories()?;
    ensure!(present.is_empty(), "a refused push left {present:?} in the registry");
    Ok(count)
}

fn refused(mut command: Command, out: &Path, mentions: &[&str]) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().context("cannot run build-images")?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(1), "it ended with {}, want exit code 1; it said:\n{log}", output.status);
    let lines: Vec<&str> = log.lines().collect();
    let [line] = lines.as_slice() else { bail!("{} lines, want one; it said:\n{log}", lines.len()) };
    ensure!(line.starts_with("error: "), "it said: {line}");
    for word in mentions {
        ensure!(line.contains(word), "its message does not mention `{word}`: {line}");
    }
    ensure!(!out.exists(), "it wrote something all the same");
    Ok(())
}

/// The address of a server that answers 500 to whoever asks, a few times.
fn answers_500() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    let address = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20).flatten() {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let body = "out of\norder\n";
            let head = format!("HTTP/1.1 500 Oops\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = reader.get_mut().write_all((head + body).as_bytes());
        }
    });
    Ok(address)
}

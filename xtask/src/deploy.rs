//! `cargo xtask deploy`: an overlay into a cluster, with a diff shown first.
//!
//! Invariant: the API server has tried every object before anything is asked or changed, so what it rejects changes
//! nothing; nothing changes without `--yes` or a yes at a terminal; and nothing is deleted without `--prune`, nor before
//! all that takes its place is ready.

mod kubectl;
mod leftovers;
mod overlay;

use std::io::{BufRead, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use self::kubectl::{Kubectl, Server};
use self::leftovers::Leftover;
use self::overlay::{Objects, Workload};
use crate::cli::DeployArgs;
use crate::interrupt;
use crate::process::Scratch;
use crate::progress::Progress;

/// Runs the command.
pub fn run(arguments: &DeployArgs) -> Result<()> {
    let folder = overlay::find(&arguments.overlay)?;
    let kubectl = Kubectl::new()?;
    let server = kubectl.server(arguments.context.as_deref())?;
    let mut objects = Objects::parse(&kubectl.render(&folder)?)?;
    if let Some(images) = &arguments.images {
        objects.set_images(images)?;
    }
    objects.check_images(&arguments.overlay)?;
    let scratch = Scratch::new("ksm-deploy", false)?;

    let missing = missing_namespaces(&server, &mut objects, arguments.create_namespace)?;
    check_bindings(&server, &objects)?;
    let leftovers = find_leftovers(&server, &objects, &missing, arguments.prune)?;
    let (present, new) = objects.split(&missing);
    let trial = [present.clone(), overlay::in_stand_in_namespace(&new)].concat();
    server.try_out(&scratch, &trial)?;
    let difference = server.diff(&scratch, &present, arguments.force_conflicts)?;
    print!("{difference}");
    for object in &new {
        print!("{}", overlay::as_new(object)?);
    }
    for leftover in leftovers.iter().filter(|_| arguments.prune) {
        print!("--- {leftover}\n+++ /dev/null\n");
    }
    if difference.is_empty() && new.is_empty() && (leftovers.is_empty() || !arguments.prune) {
        println!("nothing to change in {}", server.context);
    } else {
        confirm(&server.context, arguments.yes)?;
    }
    if !(difference.is_empty() && new.is_empty()) {
        // Namespaces come first, and `present` keeps their order.
        print!("{}", server.apply(&scratch, &[present, new].concat(), arguments.force_conflicts)?);
    }
    if arguments.no_wait {
        return Ok(());
    }
    wait_for_rollout(&server, &scratch, &objects.workloads(), Duration::from_secs(arguments.timeout))?;
    for leftover in leftovers.iter().filter(|_| arguments.prune) {
        interrupt::check()?;
        print!("{}", server.delete(leftover)?);
    }
    Ok(())
}

/// Fails if rights in the whole cluster are those of a copy in another namespace: there is one binding by a name, and
/// whoever applies it last has it.
fn check_bindings(server: &Server, objects: &Objects) -> Result<()> {
    for (name, places) in objects.bindings() {
        let bound = server.bound(&name)?;
        if let Some(other) = bound.difference(&places).next() {
            let own = places.iter().next().map_or("", String::as_str);
            bail!(
                "nothing is applied: the ClusterRoleBinding {name} gives rights to a copy in the namespace {other}, which would \
                 lose them: give this one names of its own, as with `nameSuffix: -{own}` in its overlay, or remove that one first"
            );
        }
    }
    Ok(())
}

/// What an earlier overlay left in the namespaces of this one; of workloads that are to stay there is a warning.
fn find_leftovers(server: &Server, objects: &Objects, missing: &[String], prune: bool) -> Result<Vec<Leftover>> {
    let namespaces: Vec<String> = objects.namespaces().into_iter().filter(|name| !missing.contains(name)).collect();
    let mut found = leftovers::workloads(server, objects, &namespaces)?;
    if prune {
        found.extend(leftovers::others(server, objects, &namespaces)?);
    } else {
        for leftover in &found {
            eprintln!(
                "warning: {leftover} is not of this overlay and stays, so what both serve counts twice: --prune deletes it once the \
                 rest is ready, and so does `{}`",
                server.deleting(leftover)
            );
        }
    }
    Ok(found)
}

/// The namespaces of objects that the cluster has not. Those that the overlay does not make either are added to it if
/// that is wanted, and an error if not.
fn missing_namespaces(server: &Server, objects: &mut Objects, create: bool) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for namespace in objects.namespaces() {
        if server.has_namespace(&namespace)? {
            continue;
        }
        if !objects.makes_namespace(&namespace) {
            ensure!(
                create,
                "{} has no namespace {namespace}: make it with --create-namespace, or with `kubectl create namespace {namespace}`",
                server.context
            );
            objects.add_namespace(&namespace)?;
        }
        missing.push(namespace);
    }
    Ok(missing)
}

/// Asks at the terminal, unless `yes` is given.
fn confirm(context: &str, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    let input = std::io::stdin();
    ensure!(input.is_terminal(), "nothing is applied: this is no terminal to ask at; --yes applies without asking");
    eprint!("apply this to {context}? [y/N] ");
    std::io::stderr().flush()?;
    // On a thread of its own, so that Ctrl-C is seen while it waits.
    let (answered, answer) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = input.lock().read_line(&mut line);
        let _ = answered.send(read.map(|_| line));
    });
    let line = loop {
        match answer.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => break line?,
            Err(RecvTimeoutError::Timeout) => interrupt::check()?,
            Err(RecvTimeoutError::Disconnected) => bail!("nothing is applied: the answer cannot be read"),
        }
    };
    ensure!(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"), "nothing is applied");
    Ok(())
}

fn wait_for_rollout(server: &Server, scratch: &Scratch, workloads: &[Workload], limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    for workload in workloads {
        let progress = Progress::start(format!("rolling out {workload}"));
        let said = server.rollout(scratch, workload, deadline, &progress)?;
        if let Some(last) = said {
            bail!(
                "{workload} is not rolled out after {} s ({last}); `kubectl --namespace {} describe pods` says why",
                limit.as_secs(),
                workload.namespace
            );
        }
        progress.done("");
    }
    Ok(())
}

/// Objects as one list.
fn list(items: &[Value]) -> Value {
    serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items})
}

//! Manifests: everything in `deploy/`, rendered, is taken by the API server to the last field; what overlays deploy runs
//! with its own arguments, environment and service account; the shipped monitoring watches it.
//!
//! No controller runs, so processes stand in for pods.
//!
//! Invariant: what a run creates it deletes, but for definitions of kinds and the namespace.

mod api;
mod definitions;
mod monitoring;
mod workload;

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use self::api::Api;
use self::workload::Workload;
use crate::e2e::world::World;
use crate::manifests::render::{self, Kustomize};
use crate::{cargo, interrupt, tools};

/// The overlay whose processes Prometheus scrapes.
const MONITORED: &str = "deploy/overlays/static-shards";

/// Kinds that say who may do what.
const RIGHTS: [&str; 5] = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let rules = test_rules()?;
    let kustomize = Kustomize::new()?;
    let mut api = Api::new(world.api.client()?);
    definitions::create(&mut api)?;
    let folders = render::folders()?;
    let rendered = folders
        .into_iter()
        .map(|folder| Ok((kustomize.render(&folder)?, folder)))
        .collect::<Result<Vec<(Vec<Value>, String)>>>()?;
    let namespace = rendered.iter().flat_map(|(objects, _)| objects).find(|object| object["kind"] == "Namespace");
    let namespace = namespace.context("an overlay has a Namespace")?;
    api.create(namespace).context("the namespace")?;
    planted(&mut api, &rendered)?;

    let (mut objects, mut pods) = (0, 0);
    for (list, folder) in &rendered {
        for object in list.iter().filter(|object| object["kind"] != "Namespace") {
            interrupt::check()?;
            api.try_out(object).with_context(|| folder.clone())?;
            objects += 1;
            if let Some(pod) = workload::pod_of(object, &namespace["metadata"]["name"]) {
                api.try_out(&pod).with_context(|| format!("{folder}: a pod of {}", object["metadata"]["name"]))?;
                pods += 1;
            }
        }
    }

    let mut processes = 0;
    let mut monitored = None;
    for (list, folder) in rendered.iter().filter(|(_, folder)| folder.starts_with("deploy/overlays/")) {
        let (count, figures) = deploy(world, &mut api, list, folder).with_context(|| format!("{folder}, deployed"))?;
        processes += count;
        monitored = monitored.or(figures);
    }
    let monitored = monitored.with_context(|| format!("{MONITORED} was not deployed"))?;
    Ok(format!(
        "{objects} objects and {pods} pods of {} folders taken; {processes} processes ready, none refused anything; \
         {monitored}; {rules}",
        rendered.len()
    ))
}

/// The API server is strict, and the namespace restricted: else the rest would prove nothing.
fn planted(api: &mut Api, rendered: &[(Vec<Value>, String)]) -> Result<()> {
    let workload = rendered.iter().flat_map(|(objects, _)| objects).find(|object| object["kind"] == "Deployment");
    let workload = workload.context("an overlay has a Deployment")?;
    let mut misspelt = workload.clone();
    misspelt["spec"]["template"]["spec"]["nodeSelektor"] = json!({});
    ensure!(api.try_out(&misspelt).is_err(), "a field that does not exist was taken");
    let mut pod = workload::pod_of(workload, &json!("kube-state-metrics")).context("a Deployment has pods")?;
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
    ensure!(api.try_out(&pod).is_err(), "a pod that may escalate its privileges was taken");
    Ok(())
}

/// Gives out the rights of an overlay, runs its workloads, and takes the rights back. Returns the number of processes,
/// and what Prometheus found if this is the overlay it looks at.
fn deploy(world: &World, api: &mut Api, objects: &[Value], folder: &str) -> Result<(usize, Option<String>)> {
    let rights = || objects.iter().filter(|object| RIGHTS.contains(&object["kind"].as_str().unwrap_or_default()));
    for object in rights() {
        api.create(object)?;
    }
    let outcome = run_workloads(world, api, objects, folder);
    for object in rights() {
        api.delete(object)?;
    }
    outcome
}

fn run_workloads(world: &World, api: &mut Api, objects: &[Value], folder: &str) -> Result<(usize, Option<String>)> {
    let workloads: Vec<Workload> = objects.iter().filter_map(Workload::of).collect();
    ensure!(!workloads.is_empty(), "no workload");
    let mut running = Vec::new();
    let mut outcome = Ok(());
    for workload in &workloads {
        outcome = workload.start(world, api, &mut running);
        if outcome.is_err() {
            break;
        }
    }
    let figures = outcome.and_then(|()| {
        for instance in &mut running {
            instance.check_ready()?;
        }
        let whole = workloads.iter().all(|workload| workload.kind != "DaemonSet") && !folder.ends_with("one-namespace");
        if whole {
            workload::check_complete(world, &running)?;
        }
        (folder == MONITORED).then(|| monitoring::check(world, &running)).transpose()
    });
    let count = running.len();
    drop(running);
    for workload in &workloads {
        workload.clean_up(api)?;
    }
    Ok((count, figures?))
}

/// promtool's own run of the tests beside the rules.
fn test_rules() -> Result<String> {
    let promtool = tools::ensure(&tools::PROMTOOL)?;
    let folder = cargo::workspace_root().join("deploy/monitoring");
    for arguments in
        [["check", "rules", "--lint-fatal", "rules.yaml"].as_slice(), &["test", "rules", "rules.test.yaml"]]
    {
        let output = Command::new(&promtool).current_dir(&folder).args(arguments).output();
        let output = output.context("cannot run promtool")?;
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            bail!("promtool {}:\n{}", arguments.join(" "), String::from_utf8_lossy(&said));
        }
    }
    Ok("promtool: rules and their tests pass".to_owned())
}

//! Manifests: everything in `deploy/`, rendered, is taken by the API server to the last field, and so are the pods that
//! its workloads would make.
//!
//! Invariant: nothing is created but definitions of kinds and namespaces.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::e2e::api::Api;
use crate::e2e::definitions;
use crate::e2e::world::World;
use crate::manifests::render::Kustomize;
use crate::{cargo, interrupt, manifests, tools};

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let rules = test_rules()?;
    let kustomize = Kustomize::new()?;
    let mut api = Api::new(world.api.client()?);
    definitions::create(&mut api)?;
    let rendered = manifests::rendered(&kustomize)?;
    let namespace = rendered.iter().flat_map(|(_, objects)| objects).find(|object| object["kind"] == "Namespace");
    let namespace = namespace.context("deploy/ has a Namespace")?;
    api.create(namespace).context("the namespace")?;
    let named: BTreeSet<&str> = rendered
        .iter()
        .flat_map(|(_, objects)| objects)
        .filter_map(|object| object["metadata"]["namespace"].as_str())
        .filter(|name| !["default", "kube-state-metrics"].contains(name))
        .collect();
    for name in named {
        api.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
            .context("a namespace")?;
    }
    planted(&mut api, &rendered)?;

    let (mut objects, mut pods) = (0, 0);
    for (folder, list) in &rendered {
        for object in list.iter().filter(|object| object["kind"] != "Namespace") {
            interrupt::check()?;
            api.try_out(object).with_context(|| folder.clone())?;
            objects += 1;
            if let Some(pod) = pod_of(object, &namespace["metadata"]["name"]) {
                api.try_out(&pod).with_context(|| format!("{folder}: a pod of {}", object["metadata"]["name"]))?;
                pods += 1;
            }
        }
    }

    Ok(format!("{objects} objects and {pods} pods of {} folders taken; {rules}", rendered.len()))
}

/// The API server is strict, and the namespace restricted: else the rest would prove nothing.
fn planted(api: &mut Api, rendered: &[(String, Vec<Value>)]) -> Result<()> {
    let workload = rendered.iter().flat_map(|(_, objects)| objects).find(|object| object["kind"] == "Deployment");
    let workload = workload.context("an overlay has a Deployment")?;
    let mut misspelt = workload.clone();
    misspelt["spec"]["template"]["spec"]["nodeSelektor"] = json!({});
    ensure!(api.try_out(&misspelt).is_err(), "a field that does not exist was taken");
    let mut pod = pod_of(workload, &json!("kube-state-metrics")).context("a Deployment has pods")?;
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
    ensure!(api.try_out(&pod).is_err(), "a pod that may escalate its privileges was taken");
    Ok(())
}

/// The pod that a workload would make, in a namespace; nothing if the object is no workload.
fn pod_of(object: &Value, namespace: &Value) -> Option<Value> {
    let template = object.pointer("/spec/template")?;
    let mut metadata = template["metadata"].clone();
    metadata["name"] = object["metadata"]["name"].clone();
    metadata["namespace"] = namespace.clone();
    Some(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}))
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

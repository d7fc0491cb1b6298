//! Manifests: everything in `deploy/`, rendered, is taken by the API server to the last field, and so are the pods that
//! its workloads would make.
//!
//! Invariant: nothing is created but definitions of kinds and namespaces.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use serde_json::{Value, json};

use crate::e2e::api::Api;
use crate::e2e::definitions;
use crate::e2e::world::World;
use crate::manifests::render::{Kustomize, PROMETHEUS_CONFIG};
use crate::{cargo, interrupt, manifests, tools};

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let rules = test_rules()?;
    let configs = check_configs(&world.scratch.folder("prometheus-configs")?)?;
    let kustomize = Kustomize::new()?;
    let mut api = Api::new(world.api.client()?);
    definitions::create_before_roles(&mut api)?;
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
    let monitors = on_older_operators(&mut api, &rendered)?;
    definitions::add_role(&mut api)?;

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

    Ok(format!(
        "{objects} objects and {pods} pods of {} folders taken, {monitors} ServiceMonitors by operators before 0.86 too; {rules}; {configs}",
        rendered.len()
    ))
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

/// Monitors are taken by a definition without the newer field, but for those of the component that adds it. Returns how many.
fn on_older_operators(api: &mut Api, rendered: &[(String, Vec<Value>)]) -> Result<usize> {
    let (mut taken, mut refused) = (0, 0);
    for (folder, objects) in rendered {
        for monitor in objects.iter().filter(|object| object["kind"] == "ServiceMonitor") {
            let tried = api.try_out(monitor);
            if definitions::needs_role(monitor) {
                ensure!(folder.contains("endpoint-slices") && tried.is_err(), "{folder}: {tried:?}");
                refused += 1;
            } else {
                tried.with_context(|| folder.clone())?;
                taken += 1;
            }
        }
    }
    ensure!(taken > 0 && refused > 0, "{taken} monitors were taken, {refused} were not");
    Ok(taken)
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

/// Each scrape configuration goes into a configuration that has a job of kube-state-metrics already.
fn check_configs(folder: &Path) -> Result<String> {
    let root = cargo::workspace_root().join(PROMETHEUS_CONFIG);
    let place = |name: &str| folder.join(name).display().to_string();
    let authority = CertifiedIssuer::self_signed(CertificateParams::new(Vec::new())?, KeyPair::generate()?)?.pem();
    write(&folder.join("ca.crt"), &authority)?;
    write(&folder.join("token"), "of an account")?;
    let files = ["scrape.yaml", "scrape-parts.yaml", "scrape-tls.yaml", "scrape-parts-tls.yaml"];
    for name in files {
        let path = root.join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // What is in the pod of Prometheus only.
        let text = text.replace("/etc/prometheus/kube-state-metrics-sharded/ca.crt", &place("ca.crt"));
        let text = text.replace("/var/run/secrets/kubernetes.io/serviceaccount/token", &place("token"));
        write(&folder.join(name), &text)?;
        check_config(folder, "kube-state-metrics", name).with_context(|| name.to_owned())?;
        let twice = check_config(folder, "kube-state-metrics-sharded", name);
        ensure!(twice.is_err(), "promtool takes two jobs of one name with {name}");
    }
    Ok(format!("{} scrape configurations beside a job kube-state-metrics", files.len()))
}

/// Has promtool check a configuration with a job of that name and a file of scrape configurations.
fn check_config(folder: &Path, job: &str, file: &str) -> Result<()> {
    let config = json!({
        "scrape_configs": [{"job_name": job, "static_configs": [{"targets": ["127.0.0.1:8080"]}]}],
        "scrape_config_files": [folder.join(file)],
        "rule_files": [cargo::workspace_root().join(PROMETHEUS_CONFIG).join("rules.yaml")],
    });
    let path = folder.join("prometheus.yml");
    write(&path, &config.to_string())?;
    let mut command = Command::new(tools::ensure(&tools::PROMTOOL)?);
    let output = command.args(["check", "config"]).arg(&path).output().context("cannot run promtool")?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "promtool check config:\n{}", String::from_utf8_lossy(&said));
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

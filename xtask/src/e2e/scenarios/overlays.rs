//! Overlays: each one is applied to a cluster with the real controllers and scheduler, and its pods run.
//!
//! kwok plays the kubelets, and for each pod that it runs one of our binaries is started as the pod says: see `pod`. What
//! all of them serve together must be what the reference serves about the same cluster; the shipped monitoring watches.
//!
//! Invariant: what is applied is what kustomize renders, to the last field; each overlay leaves the cluster as it was.

mod content;
mod guards;
mod kubelet;
mod monitoring;
mod place;
mod pod;
mod rollout;
mod scaling;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use self::guards::Certificate;
use self::kubelet::Kubelet;
use self::pod::Reader;
use crate::cluster::controllers::Controllers;
use crate::cluster::{ApiServer, Etcd};
use crate::compare::View;
use crate::e2e::api::{Api, text};
use crate::e2e::definitions;
use crate::e2e::world::World;
use crate::exporter::Exporter;
use crate::exposition::Format;
use crate::manifests::render::{self, Kustomize};
use crate::progress::elapsed;
use crate::wait;

/// The namespace of all overlays.
const NAMESPACE: &str = "kube-state-metrics";

/// The nodes of the cluster.
const NODES: [&str; 3] = ["worker-1", "worker-2", "worker-3"];

/// Where and as whom Prometheus reads, as the components in `deploy/` expect it.
const PROMETHEUS: (&str, &str) = ("monitoring", "prometheus-k8s");

/// Where every pod has the token of its account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Time until all pods of an overlay are ready, or gone.
const LIMIT: Duration = Duration::from_secs(120);

/// Time for the API server to know a right that was granted.
const RIGHTS_LIMIT: Duration = Duration::from_secs(30);

/// Arguments that spread the work or say how it is served, and not what.
const NOT_FOR_THE_REFERENCE: [&str; 12] = [
    "--host=",
    "--telemetry-host=",
    "--pod=",
    "--pod-namespace=",
    "--shard=",
    "--total-shards=",
    "--shard-by=",
    "--reshard-",
    "--shutdown-delay=",
    "--enable-gzip-encoding",
    "--tls-config=",
    "--auth-filter",
];

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    place::check(&world.scratch)?;
    let kustomize = Kustomize::new()?;
    let overlays = render::folders()?.into_iter().filter(|folder| folder.starts_with("deploy/overlays/"));
    let overlays = overlays.map(|folder| Ok((kustomize.render(&folder)?, folder))).collect::<Result<Vec<_>>>()?;

    let folder = world.scratch.folder("overlays")?;
    let etcd = Etcd::start(&folder, &world.scratch.folder("logs/overlays")?)?;
    let server = ApiServer::start_controlled("kube-apiserver-controlled", &etcd)?;
    server.wait_for_system_namespaces()?;
    let controllers = Controllers::start(&server, &etcd, &NODES)?;
    let mut api = Api::new(server.client()?);
    definitions::create(&mut api)?;
    content::create(&mut api)?;
    let reader = surroundings(&mut api, &kustomize, &overlays)?;
    let kubelet = Kubelet::new(world, &server, reader)?;
    let mut run = Run { world, server: &server, controllers, api, kubelet, references: BTreeMap::new() };

    let mut figures = vec![run.planted(&overlays)?];
    for (objects, folder) in &overlays {
        let started = Instant::now();
        let name = folder.trim_start_matches("deploy/overlays/");
        let figure = run.deploy(objects, |run| run.check(name, objects)).with_context(|| folder.clone())?;
        eprintln!("      {name} took {}: {figure}", elapsed(started.elapsed()));
        figures.push(format!("{name}: {figure}"));
    }
    let processes = run.kubelet.started();
    Ok(format!("{} overlays, {processes} processes; {}", overlays.len(), figures.join("; ")))
}

/// What overlays find in a cluster: their namespace, Prometheus' account, and the Secret that `tls-auth` asks for.
fn surroundings(api: &mut Api, kustomize: &Kustomize, overlays: &[(Vec<Value>, String)]) -> Result<Reader> {
    for namespace in kustomize.render(render::NAMESPACE)? {
        api.create(&namespace)?;
    }
    let (namespace, name) = PROMETHEUS;
    api.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))?;
    let account = json!({"name": name, "namespace": namespace});
    api.create(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}))?;
    let certificate = Certificate::make(overlays)?;
    api.create(&certificate.secret())?;
    let (secret, authority) = (certificate.name, certificate.authority.into_bytes());
    Ok(Reader { secret, authority, token: api.token(namespace, name, None)? })
}

/// The cluster, and who looks at it.
struct Run<'a> {
    world: &'a World,
    server: &'a ApiServer,
    controllers: Controllers,
    api: Api,
    kubelet: Kubelet<'a>,
    /// References by their arguments.
    references: BTreeMap<Vec<String>, Exporter>,
}

impl Run<'_> {
    /// Applies an overlay, does something, and takes it away again.
    fn deploy<T>(&mut self, objects: &[Value], check: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let objects: Vec<&Value> = objects.iter().collect();
        for object in &objects {
            self.api.create(object)?;
        }
        let outcome = check(self);
        self.controllers.ensure_running()?;
        self.kubelet.close(true);
        // Workloads first: no process is to meet a right that is gone.
        let (workloads, others): (Vec<&Value>, Vec<&Value>) =
            objects.iter().partition(|object| object.pointer("/spec/template").is_some());
        let removed = self.remove(&workloads).and_then(|()| {
            let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
            let client = self.api.client().clone();
            self.kubelet.until("all pods are gone", LIMIT, |_| {
                Ok(client.get_json(&pods)?["items"].as_array().is_some_and(Vec::is_empty).then_some(()))
            })?;
            self.remove(&others)
        });
        self.kubelet.close(false);
        match (outcome, removed) {
            (Err(error), Err(second)) => Err(error.context(format!("and not to be removed: {second:#}"))),
            (outcome, removed) => outcome.and_then(|value| removed.map(|()| value)),
        }
    }

    fn remove(&mut self, objects: &[&Value]) -> Result<()> {
        objects.iter().try_for_each(|object| self.api.delete(object))
    }

    /// A right or an option too few, and the overlay does not pass.
    fn planted(&mut self, overlays: &[(Vec<Value>, String)]) -> Result<String> {
        let small =
            overlays.iter().find(|(_, folder)| folder.ends_with("/small")).context("there is an overlay small")?;
        let mut without_right = small.0.clone();
        for role in without_right.iter_mut().filter(|object| object["kind"] == "ClusterRole") {
            let resources = role.pointer_mut("/rules/0/resources").and_then(Value::as_array_mut);
            resources.context("a rule has resources")?.retain(|resource| resource != "secrets");
        }
        let mut without_option = small.0.clone();
        for workload in without_option.iter_mut().filter(|object| object["kind"] == "Deployment") {
            let arguments = workload.pointer_mut("/spec/template/spec/containers/0/args").and_then(Value::as_array_mut);
            arguments.context("a container has arguments")?.push(json!("--no-such-option"));
        }
        for (objects, expected) in [(without_right, "may not list secrets"), (without_option, "--no-such-option")] {
            let Err(error) = self.deploy(&objects, |run| run.check("small", &objects)) else {
                bail!("an overlay with a fault passed: {expected}");
            };
            let said = format!("{error:#}");
            ensure!(said.contains(expected) && !said.contains("not to be removed"), "not as expected: {said}");
        }
        Ok("a right too few and an unknown option were noticed".to_owned())
    }

    fn check(&mut self, name: &str, objects: &[Value]) -> Result<String> {
        self.wait_ready(objects)?;
        // The API server takes a moment to know what was granted.
        wait::until_ok("every account has its rights", RIGHTS_LIMIT, || {
            self.kubelet.instances().try_for_each(pod::Instance::check_rights)
        })?;
        self.check_budgets(objects)?;
        let arguments = self.reference_arguments()?;
        let samples = self.compare(name, &arguments)?;
        let processes = self.kubelet.instances().count();
        let mut figures = vec![format!("{processes} pods ready, {samples} samples as the reference has them")];
        if objects.iter().any(|object| object["kind"] == "DaemonSet") {
            figures.push(self.check_schedule()?);
        }
        if name == "hash-sharded" {
            figures.push(scaling::check(self, &arguments)?);
        }
        if name == "example-cluster-b" {
            figures.push(rollout::check(self, &arguments)?);
        }
        if self.kubelet.exporters().iter().any(|exporter| exporter.metrics.base().starts_with("https:")) {
            figures.push(guards::check(self, objects)?);
        }
        for file in monitoring::files_for(name) {
            figures.push(monitoring::check(self, file, &arguments)?);
        }
        if name == "example-cluster-a" {
            figures.extend(monitoring::check_monitor(self, objects, &arguments)?);
        }
        Ok(figures.join(", "))
    }

    /// Waits until every controller reports that all pods of its workload are ready.
    fn wait_ready(&mut self, objects: &[Value]) -> Result<()> {
        let workloads = objects.iter().filter(|object| object.pointer("/spec/template").is_some());
        for workload in workloads {
            let mut last = Value::Null;
            let api = &mut self.api;
            let ready = self.kubelet.until("all pods are ready", LIMIT, |_| {
                let now = api.get(workload)?;
                last = now["status"].clone();
                Ok(is_ready(&now).then_some(()))
            });
            ready.with_context(|| format!("{} {}, status {last}", workload["kind"], workload["metadata"]["name"]))?;
        }
        Ok(())
    }

    /// The disruption controller knows every pod of a budget.
    fn check_budgets(&mut self, objects: &[Value]) -> Result<()> {
        for budget in objects.iter().filter(|object| object["kind"] == "PodDisruptionBudget") {
            let (api, mut last) = (&mut self.api, Value::Null);
            let outcome = self.kubelet.until("the budget is counted", LIMIT, |kubelet| {
                last = api.get(budget)?["status"].clone();
                let all = json!(kubelet.instances().count());
                Ok((last["expectedPods"] == all && last["disruptionsAllowed"] == 1).then_some(()))
            });
            outcome.with_context(|| format!("{}: {last}", budget["metadata"]["name"]))?;
        }
        Ok(())
    }

    /// Arguments of the pods that decide what is served, all together.
    fn reference_arguments(&self) -> Result<Vec<String>> {
        let mut all: Vec<String> = Vec::new();
        for instance in self.kubelet.instances() {
            for argument in pod::arguments(&instance.pod)? {
                let known = NOT_FOR_THE_REFERENCE.iter().any(|name| argument.starts_with(name));
                if !known && !all.contains(&argument) {
                    all.push(argument);
                }
            }
        }
        all.sort();
        Ok(all)
    }

    /// The reference with these arguments, started when it is first asked for.
    fn reference(&mut self, arguments: &[String]) -> Result<&Exporter> {
        if !self.references.contains_key(arguments) {
            let name = format!("overlays-reference-{}", self.references.len());
            let reference = self.world.start_reference_on(self.server, &name, arguments)?;
            self.references.insert(arguments.to_vec(), reference);
        }
        Ok(&self.references[arguments])
    }

    /// All pods together serve what the reference does, nothing more and nothing twice; returns how many samples.
    fn compare(&mut self, what: &str, arguments: &[String]) -> Result<usize> {
        self.reference(arguments)?;
        let (world, reference) = (self.world, &self.references[arguments]);
        let exporters = self.kubelet.exporters();
        let (_, actual) = world.settle(what, || {
            Ok((View::of([&reference.exposition(Format::Text)?]), world.read(&exporters, Format::Text)?))
        })?;
        Ok(actual.samples())
    }

    /// A pod waits, a node gets what it waits for, and the instance of that node has it, as the scheduler decides.
    fn check_schedule(&mut self) -> Result<String> {
        let node = NODES[1];
        let pod = content::waiting_pod();
        let name = text(&pod, "/metadata/name")?.to_owned();
        self.api.create(&pod)?;
        self.wait_for_pod(&name, "")?;
        let client = self.api.client().clone();
        let label = |value: Value| json!({"metadata": {"labels": {"example.com/disk": value}}});
        let started = Instant::now();
        client.send_json("PATCH", &format!("/api/v1/nodes/{node}"), &label(json!("fast")))?;
        self.wait_for_pod(&name, node)?;
        let took = started.elapsed().as_millis();
        client.send_json("PATCH", &format!("/api/v1/nodes/{node}"), &label(Value::Null))?;
        self.api.delete(&pod)?;
        Ok(format!(
            "a pod moved from ksm-unscheduled to the ksm-node of its node within {took} ms of a label on the node"
        ))
    }

    /// Waits until a pod is served by the instance on `node` alone, or by one on any node if it is bound to none.
    fn wait_for_pod(&mut self, name: &str, node: &str) -> Result<()> {
        let mut last = String::new();
        let outcome = self.kubelet.until("the pod is served where it belongs", LIMIT, |kubelet| {
            let mut found = Vec::new();
            for instance in kubelet.instances() {
                let labels = [("namespace", content::NAMESPACE), ("pod", name), ("node", node)];
                if instance.exporter.exposition(Format::Text)?.select("kube_pod_info", &labels).next().is_some() {
                    found.push((instance.label("app.kubernetes.io/name").unwrap_or_default(), instance.node()));
                }
            }
            last = format!("served by {found:?}");
            Ok(match found.as_slice() {
                [("ksm-unscheduled", _)] if node.is_empty() => Some(()),
                [("ksm-node", at)] if *at == node => Some(()),
                _ => None,
            })
        });
        outcome.with_context(|| format!("{name} on `{node}`: {last}"))
    }
}

/// Whether a controller says of a workload that all is as it should be.
fn is_ready(workload: &Value) -> bool {
    let (status, number) = (&workload["status"], |value: &Value| value.as_u64().unwrap_or_default());
    let seen = number(&status["observedGeneration"]) >= number(&workload["metadata"]["generation"]);
    let (wanted, ready) = if workload["kind"] == "DaemonSet" {
        (number(&status["desiredNumberScheduled"]), number(&status["numberReady"]))
    } else {
        (number(&workload["spec"]["replicas"]), number(&status["readyReplicas"]))
    };
    seen && wanted > 0 && ready == wanted
}

//! Workloads of an overlay, and processes in place of their pods.
//!
//! Invariant: a process has the binary that the image names, the arguments and environment of the manifest, and the rights
//! of its service account; only ports and the way to the API server are ours.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::api::{Api, text};
use crate::e2e::objects::BULK_NODES;
use crate::e2e::world::World;
use crate::exporter::{Exporter, READY_LIMIT};
use crate::exposition::Format;
use crate::kubeconfig;
use crate::wait;

/// Arguments that say where to listen.
const LISTENING: [&str; 2] = ["--host=", "--telemetry-host="];

/// A Deployment, StatefulSet or DaemonSet.
pub struct Workload<'a> {
    /// Its kind.
    pub kind: &'a str,
    name: &'a str,
    namespace: &'a str,
    object: &'a Value,
}

/// A process in place of a pod.
pub struct Instance {
    /// The process.
    pub exporter: Exporter,
    /// What Prometheus would find out about the pod, as labels of its discovery.
    pub discovered: BTreeMap<String, String>,
}

/// The pod that a workload would make, in a namespace; nothing if the object is no workload.
pub fn pod_of(object: &Value, namespace: &Value) -> Option<Value> {
    let template = object.pointer("/spec/template")?;
    let mut metadata = template["metadata"].clone();
    metadata["name"] = object["metadata"]["name"].clone();
    metadata["namespace"] = namespace.clone();
    Some(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}))
}

impl<'a> Workload<'a> {
    /// The workload that an object is.
    pub fn of(object: &'a Value) -> Option<Self> {
        object.pointer("/spec/template")?;
        Some(Self {
            kind: object["kind"].as_str()?,
            name: object["metadata"]["name"].as_str()?,
            namespace: object["metadata"]["namespace"].as_str()?,
            object,
        })
    }

    /// Starts what the controller of its kind would start: every replica, or one for a node.
    pub fn start(&self, world: &World, api: &mut Api, running: &mut Vec<Instance>) -> Result<()> {
        let account = text(self.object, "/spec/template/spec/serviceAccountName")?;
        let token = api.token(self.namespace, account)?;
        let path = world.scratch.path().join(format!("{}.kubeconfig", self.name));
        let kubeconfig = kubeconfig::write(path, &world.api.address(), &world.api.authority(), &token)?;
        let set = (self.kind == "StatefulSet").then(|| api.create(self.object)).transpose()?;
        for replica in 0..self.replicas() {
            let pod = format!("{}-{replica}", self.name);
            if let Some(set) = &set {
                // Who finds out its shard looks at its own pod, and at the set that controls it.
                api.create(&self.pod(&pod, set)?)?;
            }
            running.push(self.start_one(world, &pod, &kubeconfig.display().to_string())?);
        }
        Ok(())
    }

    /// Deletes what [`Self::start`] created.
    pub fn clean_up(&self, api: &mut Api) -> Result<()> {
        if self.kind != "StatefulSet" {
            return Ok(());
        }
        for replica in 0..self.replicas() {
            let name = format!("{}-{replica}", self.name);
            let metadata = json!({"name": name, "namespace": self.namespace});
            api.delete(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}))?;
        }
        api.delete(self.object)
    }

    fn replicas(&self) -> u64 {
        self.object["spec"]["replicas"].as_u64().unwrap_or(1)
    }

    fn pod(&self, name: &str, set: &Value) -> Result<Value> {
        let mut pod = pod_of(self.object, &json!(self.namespace)).context("a workload has pods")?;
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": set["apiVersion"],
            "kind": set["kind"],
            "name": set["metadata"]["name"],
            "uid": set["metadata"]["uid"],
            "controller": true,
        }]);
        Ok(pod)
    }

    fn start_one(&self, world: &World, pod: &str, kubeconfig: &str) -> Result<Instance> {
        let containers = self.object.pointer("/spec/template/spec/containers").and_then(Value::as_array);
        let Some([container]) = containers.map(Vec::as_slice) else { bail!("{} has not one container", self.name) };
        let environment = self.environment(container, pod)?;
        let mut arguments = vec![format!("--kubeconfig={kubeconfig}")];
        for argument in container["args"].as_array().context("a container has arguments")? {
            let argument = argument.as_str().context("an argument is a string")?;
            if !LISTENING.iter().any(|name| argument.starts_with(name)) {
                arguments.push(expand(argument, &environment));
            }
        }
        let image = text(container, "/image")?;
        let binary = image.rsplit('/').next().and_then(|name| name.split(':').next()).unwrap_or_default();
        ensure!(crate::cargo::SHIPPED.contains(&binary), "the image {image} is none of ours");
        let exporter =
            Exporter::start_in(&format!("{pod}-pod"), world.binary(binary), &environment, &arguments, &world.logs)?;
        Ok(Instance { exporter, discovered: self.discovered(pod, text(container, "/name")?)? })
    }

    fn environment(&self, container: &Value, pod: &str) -> Result<Vec<(String, String)>> {
        let mut environment = Vec::new();
        for variable in container["env"].as_array().into_iter().flatten() {
            let value = match variable.pointer("/valueFrom/fieldRef/fieldPath").and_then(Value::as_str) {
                Some("metadata.name") => pod,
                Some("metadata.namespace") => self.namespace,
                Some("spec.nodeName") => BULK_NODES[0],
                Some(other) => bail!("a variable from {other} is not known here"),
                None => text(variable, "/value")?,
            };
            environment.push((text(variable, "/name")?.to_owned(), value.to_owned()));
        }
        Ok(environment)
    }

    fn discovered(&self, pod: &str, container: &str) -> Result<BTreeMap<String, String>> {
        let mut labels = BTreeMap::new();
        // The controller of a Deployment's pods is its ReplicaSet.
        let controller = if self.kind == "Deployment" { "ReplicaSet" } else { self.kind };
        for (name, value) in [
            ("namespace", self.namespace),
            ("pod_name", pod),
            ("pod_container_name", container),
            ("pod_node_name", BULK_NODES[0]),
            ("pod_controller_kind", controller),
        ] {
            labels.insert(format!("__meta_kubernetes_{name}"), value.to_owned());
        }
        let pod_labels = self.object.pointer("/spec/template/metadata/labels").and_then(Value::as_object);
        for (name, value) in pod_labels.context("pods have labels")? {
            let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            let value = value.as_str().context("a label is a string")?;
            labels.insert(format!("__meta_kubernetes_pod_label_{name}"), value.to_owned());
        }
        Ok(labels)
    }
}

impl Instance {
    /// Waits until it is ready, and fails if the API server refuses it anything.
    pub fn check_ready(&mut self) -> Result<()> {
        self.exporter.wait_ready(READY_LIMIT)?;
        let metrics = self.exporter.self_metrics()?;
        let refused: Vec<&str> = metrics
            .select("kube_state_metrics_sharded_refused", &[])
            .filter(|sample| sample.value != 0.0)
            .filter_map(|sample| sample.label("resource"))
            .collect();
        ensure!(refused.is_empty(), "{} may not list {}", self.exporter.name(), refused.join(", "));
        ensure!(
            metrics.select("kube_state_metrics_sharded_synced", &[]).any(|sample| sample.value == 1.0),
            "{} serves nothing",
            self.exporter.name()
        );
        Ok(())
    }
}

/// Waits until all instances together serve each pod of the cluster once.
pub fn check_complete(world: &World, running: &[Instance]) -> Result<()> {
    let client = world.api.client()?;
    let mut last = String::new();
    let outcome = wait::until("the instances have all pods", READY_LIMIT, || {
        let mut count: BTreeMap<String, i64> = BTreeMap::new();
        for pod in client.get_json("/api/v1/pods")?["items"].as_array().context("a list has items")? {
            let metadata = &pod["metadata"];
            *count.entry(format!("{}/{}", text(metadata, "/namespace")?, text(metadata, "/name")?)).or_default() += 1;
        }
        let listed = count.len();
        for instance in running {
            let exposition = instance.exporter.exposition(Format::Text)?;
            for sample in exposition.select("kube_pod_info", &[]) {
                let label = |name: &str| sample.label(name).unwrap_or_default();
                *count.entry(format!("{}/{}", label("namespace"), label("pod"))).or_default() -= 1;
            }
        }
        count.retain(|_, count| *count != 0);
        let shown: Vec<String> = count.iter().take(5).map(|(pod, count)| format!("{pod} ({count:+})")).collect();
        last =
            format!("of {listed} pods, {} are missing (+) or served too often (-): {}", count.len(), shown.join(", "));
        Ok((listed > 0 && count.is_empty()).then_some(()))
    });
    outcome.with_context(|| last)
}

/// `$(NAME)` as the kubelet replaces it.
fn expand(argument: &str, environment: &[(String, String)]) -> String {
    environment
        .iter()
        .fold(argument.to_owned(), |argument, (name, value)| argument.replace(&format!("$({name})"), value))
}

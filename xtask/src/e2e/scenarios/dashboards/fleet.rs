//! The demo cluster, and all four binaries on it as if deployed: `ksm-node` on each node, `ksm-unscheduled`, and the other
//! resources shared out between `ksm-rest` and two shards.
//!
//! Invariant: the processes serve every object once, and each has a pod in the cluster that it serves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ksm_core::resource::Scope;
use ksm_core::resources;
use serde_json::{Value, json};

use crate::cargo::{self, TESTBED};
use crate::e2e::shipped;
use crate::e2e::world::World;
use crate::exporter::{Exporter, READY_LIMIT};
use crate::http::Client;
use crate::testbed::{DEMO_CHURN, DEMO_PODS, Testbed};

/// Where the processes seem to run.
const NAMESPACE: &str = "kube-state-metrics";

/// The memory limit of their pods, in MiB.
const MEMORY: u32 = 256;

/// The processes. Fields drop in order: the API server outlives those who watch it.
pub struct Fleet {
    instances: Vec<Instance>,
    testbed: Testbed,
    api: Client,
}

/// A process in place of a pod.
struct Instance {
    exporter: Exporter,
    /// What Prometheus would find out about the pod.
    discovered: BTreeMap<String, String>,
}

/// A pod to stand in for.
struct Pod<'a> {
    name: String,
    binary: &'a str,
    /// Its name label.
    workload: &'a str,
    /// The kind of what controls it.
    controller: &'a str,
    node: &'a str,
    arguments: Vec<String>,
}

impl Fleet {
    /// Starts everything and waits until all are ready.
    pub fn start(world: &World) -> Result<Self> {
        let folder = world.scratch.folder("demo")?;
        let binary = cargo::build(&[TESTBED], false)?.remove(TESTBED).context("the test bed was built")?;
        let testbed = Testbed::start_lively(&binary, DEMO_PODS, DEMO_CHURN, &folder)?;
        let api = Client::plain(&testbed.address);
        let mut fleet = Self { instances: Vec::new(), testbed, api };
        // So that there is something to say about it.
        let config = folder.join("config.yaml");
        fs::write(&config, "enable_gzip_encoding: true\n")
            .with_context(|| format!("cannot write {}", config.display()))?;
        fleet.create(
            "/api/v1/namespaces",
            &json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": NAMESPACE}, "status": {"phase": "Active"}}),
        )?;
        let nodes = fleet.names("nodes")?;
        fleet.create(&format!("/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"), &daemon_set(nodes.len()))?;
        for pod in pods(&nodes)? {
            fleet.create(&format!("/api/v1/namespaces/{NAMESPACE}/pods"), &pod.object())?;
            let exporter = fleet.launch(world, &pod, &config)?;
            fleet.instances.push(Instance { exporter, discovered: pod.discovered() });
        }
        for instance in &mut fleet.instances {
            instance.exporter.wait_ready(READY_LIMIT)?;
        }
        Ok(fleet)
    }

    fn launch(&self, world: &World, pod: &Pod, config: &Path) -> Result<Exporter> {
        let mut arguments = vec![
            format!("--kubeconfig={}", self.testbed.kubeconfig.display()),
            format!("--config={}", config.display()),
        ];
        arguments.extend_from_slice(&pod.arguments);
        Exporter::start(&format!("{}-demo", pod.name), world.binary(pod.binary), &arguments, &world.logs)
    }

    /// How many processes there are.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Every port of every process, for Prometheus.
    pub fn targets(&self) -> Value {
        let both = |instance: &Instance| shipped::targets(&instance.exporter, &instance.discovered);
        self.instances.iter().flat_map(both).collect()
    }

    /// Objects of a resource of the core group.
    pub fn objects(&self, plural: &str) -> Result<Vec<Value>> {
        let list = self.api.get_json(&format!("/api/v1/{plural}"))?;
        list["items"].as_array().cloned().context("a list has items")
    }

    fn names(&self, plural: &str) -> Result<Vec<String>> {
        let objects = self.objects(plural)?;
        let name = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
        objects.iter().map(|object| name(object).context("an object has a name")).collect()
    }

    fn create(&self, path: &str, object: &Value) -> Result<()> {
        self.api.send_json("POST", path, object).map(|_| ())
    }

    /// Stops everything; a process that does not stop by itself is a fault.
    pub fn stop(mut self) -> Result<()> {
        for instance in &mut self.instances {
            instance.exporter.process.ask_to_stop();
        }
        for instance in self.instances {
            let name = instance.exporter.name().to_owned();
            let status = instance.exporter.process.stop()?;
            ensure!(status.success(), "{name} ended with {status} when asked to stop");
        }
        self.testbed.process.stop()?;
        Ok(())
    }
}

/// The set that the pods of `ksm-node` are of, one on each node.
fn daemon_set(nodes: usize) -> Value {
    let labels = json!({"app.kubernetes.io/name": "ksm-node"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"namespace": NAMESPACE, "name": "ksm-node", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}},
        "status": {"desiredNumberScheduled": nodes, "currentNumberScheduled": nodes, "numberReady": nodes,
            "numberAvailable": nodes, "updatedNumberScheduled": nodes},
    })
}

/// All pods of the fleet.
fn pods(nodes: &[String]) -> Result<Vec<Pod<'_>>> {
    let somewhere = nodes.first().context("the demo cluster has nodes")?;
    let mut pods: Vec<Pod> = nodes
        .iter()
        .map(|node| Pod {
            name: format!("ksm-node-{node}"),
            binary: "ksm-node",
            workload: "ksm-node",
            controller: "DaemonSet",
            node,
            arguments: vec![format!("--node={node}")],
        })
        .collect();
    let single = |binary, arguments| Pod {
        name: format!("{binary}-0"),
        binary,
        workload: binary,
        controller: "ReplicaSet",
        node: somewhere,
        arguments,
    };
    pods.push(single("ksm-unscheduled", Vec::new()));
    pods.push(single("ksm-rest", vec![resources_of(Scope::Cluster)]));
    pods.extend((0..2).map(|shard| Pod {
        name: format!("ksm-shard-auto-{shard}"),
        binary: "ksm-shard",
        workload: "ksm-shard-auto",
        controller: "StatefulSet",
        node: somewhere,
        arguments: vec![format!("--shard={shard}"), "--total-shards=2".to_owned(), resources_of(Scope::Namespaced)],
    }));
    Ok(pods)
}

/// The argument that names the resources of a scope that are served by default, but for pods.
fn resources_of(scope: Scope) -> String {
    let served = resources::all().iter().map(|resource| resource.descriptor());
    let plurals: Vec<&str> = served
        .filter(|resource| resource.enabled_by_default && resource.scope == scope && resource.plural != "pods")
        .map(|resource| resource.plural)
        .collect();
    format!("--resources={}", plurals.join(","))
}

impl Pod<'_> {
    fn object(&self) -> Value {
        let resources =
            json!({"requests": {"memory": "64Mi", "cpu": "10m"}, "limits": {"memory": format!("{MEMORY}Mi")}});
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {"nodeName": self.node, "containers": [{"name": self.binary, "image": self.binary, "resources": resources}]},
            "status": {"phase": "Running"},
        })
    }

    fn discovered(&self) -> BTreeMap<String, String> {
        let labels = [
            ("namespace", NAMESPACE),
            ("pod_name", &self.name),
            ("pod_container_name", self.binary),
            ("pod_node_name", self.node),
            ("pod_controller_kind", self.controller),
            ("pod_label_app_kubernetes_io_name", self.workload),
        ];
        let mut discovered: BTreeMap<String, String> =
            labels.iter().map(|(name, value)| (format!("__meta_kubernetes_{name}"), (*value).to_owned())).collect();
        // As those give targets who have several clusters.
        discovered.insert("cluster".to_owned(), "demo".to_owned());
        discovered
    }
}

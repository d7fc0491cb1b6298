//! The API server that both sides read: simulated, or real on etcd.
//!
//! Invariant: both sides of a measurement read the same objects; the server's own CPU time is reported beside theirs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::subject::Programs;
use super::usage;
use crate::cargo::TESTBED;
use crate::cluster::{ADMIN_TOKEN, ApiServer, Etcd};
use crate::e2e::objects;
use crate::http::Client;
use crate::process::Process;
use crate::progress::Progress;
use crate::testbed::Testbed;

/// Where the marker pod is, and its name.
const MARKER: (&str, &str) = ("default", "bench-marker");

/// A simulated cluster.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Pods.
    pub pods: u32,
    /// Nodes; as many as usual for so many pods if not given.
    pub nodes: Option<u32>,
    /// Changes a second, of all kinds of objects.
    pub churn: f64,
}

/// An API server with objects.
pub struct Server {
    kind: Kind,
    kubeconfig: PathBuf,
    pods: u32,
}

enum Kind {
    Testbed { process: Process, client: Client },
    // The API server stops before its store.
    Real { api: Box<ApiServer>, _etcd: Box<Etcd> },
}

impl Server {
    /// Starts a simulated API server.
    pub fn simulated(programs: &Programs, folder: &Path, sample: Sample) -> Result<Self> {
        let progress = Progress::start(format!("starting a simulated API server with {} pods", sample.pods));
        let mut arguments = vec!["--sharded-list-watch".to_owned(), format!("--pods={}", sample.pods)];
        arguments.push(format!("--churn={}", sample.churn));
        arguments.extend(sample.nodes.map(|nodes| format!("--nodes={nodes}")));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Testbed { process, kubeconfig, address } = Testbed::start(programs.ours(TESTBED)?, &arguments, folder)?;
        progress.done("");
        Ok(Self { kind: Kind::Testbed { process, client: Client::plain(address) }, kubeconfig, pods: sample.pods })
    }

    /// Starts a real API server in `folder` and makes `pods` pods.
    pub fn real(programs: &Programs, folder: &Path, pods: u32) -> Result<Self> {
        let etcd = Etcd::start(folder, programs.logs())?;
        let api = ApiServer::start("kube-apiserver", &etcd, true)?;
        api.wait_for_system_namespaces()?;
        objects::create_bulk(&api.client()?, pods)?;
        let kubeconfig = api.kubeconfig(ADMIN_TOKEN)?;
        Ok(Self { kind: Kind::Real { api: Box::new(api), _etcd: Box::new(etcd) }, kubeconfig, pods })
    }

    /// How clients reach it.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Its pods.
    pub fn pods(&self) -> u32 {
        self.pods
    }

    /// CPU time of the API server so far, in seconds.
    pub fn cpu_seconds(&self) -> Result<f64> {
        match &self.kind {
            Kind::Testbed { process, .. } => usage::cpu_seconds(process.id()),
            Kind::Real { api, .. } => usage::cpu_seconds(api.id().context("the API server runs")?),
        }
    }

    /// Forgets what clients have read so far.
    pub fn reset_reads(&self) -> Result<()> {
        if let Kind::Testbed { client, .. } = &self.kind {
            client.send_json("DELETE", "/testbed/stats", &json!({}))?;
        }
        Ok(())
    }

    /// Bytes that clients have read since [`Server::reset_reads`]; nothing if the server does not count.
    pub fn read_bytes(&self) -> Result<Option<u64>> {
        match &self.kind {
            Kind::Testbed { .. } => Ok(Some(self.totals(|_| true, "bytes")?)),
            Kind::Real { .. } => Ok(None),
        }
    }

    /// Lists of pods asked for since [`Server::reset_reads`], streamed ones among them.
    pub fn lists(&self) -> Result<u64> {
        self.totals(|total| total["resource"] == "pods" && is_list(&total["verb"]), "requests")
    }

    fn totals(&self, matches: impl Fn(&Value) -> bool, figure: &str) -> Result<u64> {
        let stats = self.testbed()?.get_json("/testbed/stats")?;
        let totals = stats["totals"].as_array().context("statistics have totals")?;
        Ok(totals.iter().filter(|total| matches(total)).filter_map(|total| total[figure].as_u64()).sum())
    }

    /// Ends open watches of pods with a 410, so that clients list again.
    pub fn expire(&self) -> Result<()> {
        self.testbed()?.send_json("POST", "/testbed/expire?resource=pods", &json!({})).map(drop)
    }

    /// Makes the marker pod.
    pub fn create_marker(&self) -> Result<()> {
        let (namespace, name) = MARKER;
        let pod = json!({
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "image": "registry.example.test/main:1"}]},
            "status": marked("none"),
        });
        self.testbed()?.send_json("POST", &format!("/api/v1/namespaces/{namespace}/pods"), &pod).map(drop)
    }

    /// Writes `text` where scrapes will show it: the image of the marker pod's container.
    pub fn mark(&self, text: &str) -> Result<()> {
        let (namespace, name) = MARKER;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
        self.testbed()?.send_json("PATCH", &path, &json!({"status": marked(text)})).map(drop)
    }

    /// The node whose number of pods is nearest to `wanted`, and that number.
    pub fn node_with(&self, wanted: usize) -> Result<(String, usize)> {
        let list = self.testbed()?.get_json("/api/v1/pods")?;
        nearest_node(&list, wanted).context("no pod is on a node")
    }

    fn testbed(&self) -> Result<&Client> {
        match &self.kind {
            Kind::Testbed { client, .. } => Ok(client),
            Kind::Real { .. } => anyhow::bail!("only the simulated API server can do this"),
        }
    }
}

fn is_list(verb: &Value) -> bool {
    verb == "list" || verb == "streamed-list"
}

fn marked(text: &str) -> Value {
    json!({
        "phase": "Running",
        "containerStatuses": [{
            "name": "main", "image": "registry.example.test/main:1", "imageID": text, "containerID": "containerd://0",
            "ready": true, "restartCount": 0, "state": {"running": {"startedAt": "2026-03-04T12:00:00Z"}},
        }],
    })
}

fn nearest_node(list: &Value, wanted: usize) -> Option<(String, usize)> {
    let mut pods = std::collections::BTreeMap::<&str, usize>::new();
    for pod in list["items"].as_array()? {
        if let Some(node) = pod["spec"]["nodeName"].as_str() {
            *pods.entry(node).or_default() += 1;
        }
    }
    let nearest = pods.into_iter().min_by_key(|(_, count)| count.abs_diff(wanted))?;
    Some((nearest.0.to_owned(), nearest.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_with_the_nearest_number_of_pods_is_found() {
        let pod = |node: &str| json!({"spec": {"nodeName": node}});
        let list = json!({"items": [pod("a"), pod("b"), pod("b"), pod("c"), pod("c"), pod("c"), json!({"spec": {}})]});
        assert_eq!(nearest_node(&list, 2), Some(("b".to_owned(), 2)));
        assert_eq!(nearest_node(&list, 9), Some(("c".to_owned(), 3)));
        assert_eq!(nearest_node(&json!({"items": []}), 1), None);
    }
}

//! What makes a cluster of an API server: kube-controller-manager, kube-scheduler, and kwok in place of kubelets.
//!
//! Invariant: they listen nowhere, have all rights, and do with every object what they do in any cluster.
//! `stages.yaml` says what kwok makes of nodes and pods.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{ADMIN_TOKEN, ApiServer, Etcd};
use crate::http::Client;
use crate::process::Process;
use crate::progress::Progress;
use crate::{tools, wait};

/// Time until all three are at work.
const START_LIMIT: Duration = Duration::from_secs(120);

/// What kwok does with nodes and pods.
const STAGES: &str = include_str!("stages.yaml");

/// The annotation of a pod of ours by which a process tells kwok how it is: see `stages.yaml`.
pub const PROCESS: &str = "stand-in.example.com/process";

/// The mark of a node that kwok looks after.
const FAKE: (&str, &str) = ("kwok.x-k8s.io/node", "fake");

/// The three processes.
pub struct Controllers {
    processes: Vec<Process>,
}

impl Controllers {
    /// Starts them for an API server, with nodes of these names, and waits until the nodes are ready.
    pub fn start(api: &ApiServer, etcd: &Etcd, nodes: &[&str]) -> Result<Self> {
        let progress = Progress::start("starting controller manager, scheduler and kwok");
        let kubeconfig = api.kubeconfig(ADMIN_TOKEN)?;
        let command = |component| -> Result<Command> {
            let mut command = Command::new(tools::ensure(component)?);
            command.arg("--kubeconfig").arg(&kubeconfig);
            Ok(command)
        };
        let mut manager = command(&tools::KUBE_CONTROLLER_MANAGER)?;
        manager.arg("--service-account-private-key-file").arg(&etcd.keys.private);
        manager.arg("--root-ca-file").arg(api.authority());
        manager.args(["--leader-elect=false", "--secure-port=0"]);
        let mut scheduler = command(&tools::KUBE_SCHEDULER)?;
        scheduler.args(["--leader-elect=false", "--secure-port=0"]);
        let stages = etcd.folder.join("stages.yaml");
        fs::write(&stages, STAGES).with_context(|| format!("cannot write {}", stages.display()))?;
        let mut kwok = command(&tools::KWOK)?;
        kwok.arg("--config").arg(&stages).arg("--manage-all-nodes=false");
        kwok.arg(format!("--manage-nodes-with-annotation-selector={}={}", FAKE.0, FAKE.1));
        kwok.args(["--node-lease-duration-seconds=40", "--cidr=10.244.0.0/16", "--node-ip=192.0.2.1"]);
        let logs: &Path = &etcd.logs;
        let mut controllers = Self {
            processes: vec![
                Process::start(tools::KUBE_CONTROLLER_MANAGER.name, manager, logs)?,
                Process::start(tools::KUBE_SCHEDULER.name, scheduler, logs)?,
                Process::start(tools::KWOK.name, kwok, logs)?,
            ],
        };
        let client = api.client()?;
        for name in nodes {
            client.send_json("POST", "/api/v1/nodes", &node(name))?;
        }
        wait::until("service accounts are made and nodes are ready", START_LIMIT, || {
            controllers.ensure_running()?;
            Ok(is_ready(&client, nodes)?.then_some(()))
        })?;
        progress.done("");
        Ok(controllers)
    }

    /// An error once one of them has ended.
    pub fn ensure_running(&mut self) -> Result<()> {
        self.processes.iter_mut().try_for_each(Process::ensure_running)
    }
}

fn node(name: &str) -> Value {
    json!({
        "metadata": {
            "name": name,
            "annotations": {FAKE.0: FAKE.1},
            "labels": {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name},
        },
    })
}

fn is_ready(client: &Client, nodes: &[&str]) -> Result<bool> {
    let account = client.get("/api/v1/namespaces/default/serviceaccounts/default", None)?;
    let mut ready = account.status == 200;
    for name in nodes {
        let node = client.get_json(&format!("/api/v1/nodes/{name}"))?;
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        ready &= conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        ready &= node["spec"]["taints"].as_array().is_none_or(Vec::is_empty);
    }
    Ok(ready)
}

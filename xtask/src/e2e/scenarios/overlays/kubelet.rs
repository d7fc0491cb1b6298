//! Starts a process for each pod of ours that kwok runs, tells kwok how it is, and stops it when its pod is deleted.
//!
//! Invariant: a pod is ready when its process says so to the probe of the manifest, and is there until its process has ended
//! by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::NAMESPACE;
use super::pod::{Instance, Reader};
use crate::cluster::ApiServer;
use crate::cluster::controllers::PROCESS;
use crate::e2e::api::{Api, text};
use crate::e2e::world::World;
use crate::exporter::Exporter;
use crate::http::Client;
use crate::interrupt;

/// Time between two looks at pods and processes.
const BEAT: Duration = Duration::from_millis(250);

/// The pods of ours, whose label the manifests set.
const PODS: &str = "?labelSelector=app.kubernetes.io%2Fpart-of%3Dkube-state-metrics-sharded";

/// The processes.
pub struct Kubelet<'a> {
    world: &'a World,
    server: &'a ApiServer,
    client: Client,
    api: Api,
    reader: Reader,
    running: BTreeMap<String, Instance>,
    started: u32,
    closing: bool,
}

impl<'a> Kubelet<'a> {
    /// Without any process yet.
    pub fn new(world: &'a World, server: &'a ApiServer, reader: Reader) -> Result<Self> {
        let client = server.client()?;
        let api = Api::new(client.clone());
        Ok(Self { world, server, client, api, reader, running: BTreeMap::new(), started: 0, closing: false })
    }

    /// All processes, those that are to stop as well.
    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.running.values()
    }

    /// The same, to be read.
    pub fn exporters(&self) -> Vec<&Exporter> {
        self.instances().map(|instance| &instance.exporter).collect()
    }

    /// Who looks at what processes serve over TLS.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// How many processes were started so far.
    pub fn started(&self) -> u32 {
        self.started
    }

    /// From now on, nothing is started for pods; or it is again.
    pub fn close(&mut self, closing: bool) {
        self.closing = closing;
    }

    /// One look at all pods and processes.
    pub fn beat(&mut self) -> Result<()> {
        interrupt::check()?;
        let list = self.client.get_json(&format!("/api/v1/namespaces/{NAMESPACE}/pods{PODS}"))?;
        let mut present = BTreeSet::new();
        for pod in list["items"].as_array().context("a list has items")? {
            let uid = text(pod, "/metadata/uid")?.to_owned();
            self.look_at(&uid, pod).with_context(|| format!("pod {}", pod["metadata"]["name"]))?;
            present.insert(uid);
        }
        // Whose pod went without a word.
        self.running.retain(|uid, _| present.contains(uid));
        Ok(())
    }

    /// Looks again and again until `probe` gives a value.
    pub fn until<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut probe: impl FnMut(&mut Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let deadline = Instant::now() + limit;
        loop {
            self.beat()?;
            if let Some(value) = probe(self)? {
                return Ok(value);
            }
            if Instant::now() >= deadline {
                bail!("{what}: did not happen within {} s", limit.as_secs());
            }
            std::thread::sleep(BEAT);
        }
    }

    fn look_at(&mut self, uid: &str, pod: &Value) -> Result<()> {
        let deleted = pod["metadata"]["deletionTimestamp"].is_string();
        let Some(instance) = self.running.get_mut(uid) else {
            if deleted {
                return self.tell(pod, "ended");
            }
            if pod["status"]["phase"] == "Running" && !self.closing {
                self.started += 1;
                let instance =
                    Instance::start(self.world, &mut self.api, self.server, pod, &self.reader, self.started)?;
                self.running.insert(uid.to_owned(), instance);
            }
            return Ok(());
        };
        if deleted && !instance.told_to_stop {
            instance.told_to_stop = true;
            instance.exporter.process.ask_to_stop();
        }
        match instance.exporter.process.exit_status()? {
            None => {
                let word = if instance.probe("readinessProbe")? { "ready" } else { "unready" };
                // One that failed now and then would do no harm; none does. Who is told to stop is not asked any more.
                ensure!(instance.told_to_stop || instance.probe("livenessProbe")?, "the liveness probe failed");
                if instance.said != word {
                    instance.said = word;
                    self.tell(pod, word)?;
                }
                Ok(())
            }
            Some(status) if instance.told_to_stop && status.success() => {
                self.running.remove(uid);
                self.tell(pod, "ended")
            }
            Some(status) => bail!("its process ended ({status}):\n{}", instance.exporter.process.log_tail()),
        }
    }

    fn tell(&self, pod: &Value, word: &str) -> Result<()> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{}", text(pod, "/metadata/name")?);
        // A pod that is told to have ended is gone at any moment, between these two as well.
        let is_there = || {
            let still = self.client.get_json(&path);
            still.is_ok_and(|still| still["metadata"]["uid"] == pod["metadata"]["uid"])
        };
        if !is_there() {
            return Ok(());
        }
        match self.client.send_json("PATCH", &path, &json!({"metadata": {"annotations": {PROCESS: word}}})) {
            Err(error) if is_there() => Err(error),
            _ => Ok(()),
        }
    }
}

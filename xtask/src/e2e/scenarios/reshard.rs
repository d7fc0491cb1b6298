//! Reshard: a StatefulSet on the real API server is scaled, and the processes of its pods follow, scraped every second.
//!
//! No controller runs, so this scenario does what the StatefulSet controller and the kubelets would: it makes and deletes
//! the pods, starts and stops a process for each, and writes the set's status. Rights are those of the Role in `deploy/`.
//!
//! Invariant: no pod that is there throughout is missing from any scrape of all processes together, whatever happens to
//! the API server meanwhile; afterwards each series is served exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::cluster::{SHARD_TOKEN, SHARD_USER};
use crate::compare::View;
use crate::e2e::world::World;
use crate::exporter::Exporter;
use crate::exposition::{Exposition, Format};
use crate::http::Client;
use crate::kubeconfig;
use crate::manifests::OWN_SET;
use crate::progress::elapsed;
use crate::proxy::Proxy;
use crate::{interrupt, wait};

const NAMESPACE: &str = "resharded";

const SETS: &str = "/apis/apps/v1/namespaces/resharded/statefulsets";

const PODS: &str = "/api/v1/namespaces/resharded/pods";

/// `--reshard-grace`: as long as a pod may take to learn that its set was scaled.
const GRACE: &str = "10s";

/// Time between scrapes.
const BEAT: Duration = Duration::from_secs(1);

/// Time for a set to come to rest.
const REST_LIMIT: Duration = Duration::from_secs(240);

/// Time to notice a missing right, and a granted one.
const NOTICE_LIMIT: Duration = Duration::from_secs(40);

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let proxy = Proxy::start(world.api.port())?;
    allow_reading(&world.api.client()?)?;
    let unsplit = Exporter::start(
        "reshard-unsplit",
        world.binary("ksm-shard"),
        &arguments(&kubeconfig_of(world, None)?, &[]),
        &world.logs,
    )?;
    let mut set = Set::make(world, &proxy, unsplit)?;
    let mut figures = vec![set.rights().context("rights")?];
    set.rest("1 shard")?;
    for replicas in [2, 4, 3, 1] {
        set.scale(replicas)?;
        set.rest(&format!("{replicas} shards"))?;
    }
    figures.push(set.figure("1, 2, 4, 3, 1 shards one after the other"));
    for replicas in [2, 4, 3, 1] {
        set.scale(replicas)?;
        set.beats(2)?;
    }
    set.rest("1 shard, after changes in a row")?;
    figures.push(set.figure("the same 2 s apart"));
    for (what, replicas, trouble) in [
        ("connections cut", 2, Trouble::Cut),
        ("history compacted and the API server restarted", 4, Trouble::Compaction),
        ("the API server restarted", 2, Trouble::Restart),
    ] {
        set.scale(replicas)?;
        set.until_noticed().context(what)?;
        let (relisted, resumed) = (set.relisted(), set.resumed());
        set.trouble(trouble).context(what)?;
        set.rest(&format!("{replicas} shards, {what} meanwhile"))?;
        let mut figure = set.figure(&format!("{replicas} shards, {what} meanwhile"));
        if matches!(trouble, Trouble::Compaction) {
            let relisted = set.relisted().saturating_sub(relisted);
            ensure!(relisted > 0, "nobody was answered 410, so none was got over");
            figure.push_str(&format!(", {relisted} lists after a 410"));
        }
        if matches!(trouble, Trouble::Cut) {
            let resumed = set.resumed().saturating_sub(resumed);
            ensure!(resumed > 0, "no watch was cut, so none was resumed");
            figure.push_str(&format!(", {resumed} watches cut and resumed"));
        }
        figures.push(figure);
    }
    set.end()?;
    Ok(figures.join("; "))
}

/// Lets the user of the processes read what they serve, as the ClusterRole in `deploy/` does, and nothing else.
fn allow_reading(client: &Client) -> Result<()> {
    let rules = json!([{"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["list", "watch"]}]);
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "resharded"}, "rules": rules});
    client.send_json("POST", &format!("{rbac}/clusterroles"), &role)?;
    let binding = json!({
        "metadata": {"name": "resharded"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "resharded"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": SHARD_USER}],
    });
    client.send_json("POST", &format!("{rbac}/clusterrolebindings"), &binding)?;
    Ok(())
}

/// What is done to the API server during a reshard.
#[derive(Clone, Copy)]
enum Trouble {
    Cut,
    Compaction,
    Restart,
}

/// A kubeconfig that leads through the proxy, or straight.
fn kubeconfig_of(world: &World, proxy: Option<&Proxy>) -> Result<String> {
    let path = match proxy {
        None => world.api.kubeconfig(SHARD_TOKEN)?,
        Some(proxy) => kubeconfig::write(
            world.scratch.path().join("proxied.kubeconfig"),
            &format!("https://127.0.0.1:{}", proxy.port()),
            &world.api.authority(),
            SHARD_TOKEN,
        )?,
    };
    Ok(path.display().to_string())
}

fn arguments(kubeconfig: &str, more: &[String]) -> Vec<String> {
    let mut all =
        vec![format!("--kubeconfig={kubeconfig}"), "--resources=pods,configmaps".to_owned(), "-v=4".to_owned()];
    all.extend_from_slice(more);
    all
}

struct Pod {
    exporter: Exporter,
    told_to_stop: bool,
    /// Whether its status says that it is ready; `None` if it says nothing.
    shown_ready: Option<bool>,
}

/// The set, and all that belongs to it.
struct Set<'a> {
    world: &'a mut World,
    proxy: &'a Proxy,
    client: Client,
    unsplit: Exporter,
    replicas: u32,
    started: u32,
    pods: BTreeMap<u32, Pod>,
    /// Pods of the cluster, apart from the set's own.
    throughout: BTreeSet<String>,
    scrapes: u32,
    /// Scrapes in which some pod was served twice.
    doubled: u32,
    since: Instant,
}

impl<'a> Set<'a> {
    fn make(world: &'a mut World, proxy: &'a Proxy, mut unsplit: Exporter) -> Result<Self> {
        unsplit.wait_ready(NOTICE_LIMIT)?;
        let client = world.api.client()?;
        client.send_json("POST", "/api/v1/namespaces", &json!({"metadata": {"name": NAMESPACE}}))?;
        let set = json!({
            "metadata": {"name": "ksm"},
            "spec": {
                "replicas": 1, "serviceName": "ksm", "selector": {"matchLabels": {"app": "ksm"}},
                "template": {
                    "metadata": {"labels": {"app": "ksm"}},
                    "spec": {"containers": [{"name": "main", "image": "registry.example.test/ksm-shard:1"}]},
                },
            },
        });
        client.send_json("POST", SETS, &set)?;
        // The API server takes a moment to know a right that was granted.
        let throughout = wait::until("pods are served", NOTICE_LIMIT, || {
            Ok(Some(pods_in(&unsplit)?).filter(|pods| !pods.is_empty()))
        })?;
        Ok(Self {
            world,
            proxy,
            client,
            unsplit,
            replicas: 1,
            started: 0,
            pods: BTreeMap::new(),
            throughout,
            scrapes: 0,
            doubled: 0,
            since: Instant::now(),
        })
    }

    /// Without the Role nothing is served and the log says what is missing; with it, everything.
    fn rights(&mut self) -> Result<String> {
        self.control()?;
        let pod = self.pods.get_mut(&0).context("a pod was made")?;
        let process = &mut pod.exporter.process;
        let line = process.wait_for_log("automatic shards need the right to get pods", NOTICE_LIMIT)?;
        ensure!(line.contains(&format!("in namespace {NAMESPACE}")), "the namespace is not named: {line}");
        ensure!(pod.exporter.scrape(Format::Text)?.body.is_empty(), "something is served without a shard");
        ensure!(pod.exporter.telemetry.get("/readyz", None)?.status == 503, "ready without a shard");
        let rules: Vec<Value> = OWN_SET
            .iter()
            .map(|(group, resource, verbs)| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs}))
            .collect();
        let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}");
        self.client.send_json(
            "POST",
            &format!("{rbac}/roles"),
            &json!({"metadata": {"name": "ksm"}, "rules": rules}),
        )?;
        let binding = json!({
            "metadata": {"name": "ksm"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ksm"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": SHARD_USER}],
        });
        self.client.send_json("POST", &format!("{rbac}/rolebindings"), &binding)?;
        pod.exporter.wait_ready(NOTICE_LIMIT)?;
        self.since = Instant::now();
        Ok("no right, no shard, one line; then the Role".to_owned())
    }

    fn scale(&mut self, replicas: u32) -> Result<()> {
        self.replicas = replicas;
        self.client.send_json("PATCH", &format!("{SETS}/ksm"), &json!({"spec": {"replicas": replicas}}))?;
        Ok(())
    }

    fn trouble(&mut self, trouble: Trouble) -> Result<()> {
        match trouble {
            Trouble::Cut => self.proxy.cut(),
            Trouble::Compaction | Trouble::Restart => {
                if matches!(trouble, Trouble::Compaction) {
                    self.world.etcd.compact()?;
                }
                self.world.api.kill()?;
                self.proxy.cut();
                // Served meanwhile as before.
                for _ in 0..3 {
                    self.scrape()?;
                    std::thread::sleep(BEAT);
                }
                self.world.api.run(&self.world.etcd)?;
                // Connections did not survive it.
                self.client = self.world.api.client()?;
                // What was not watched for long was not compacted away from under anybody: now it is.
                if matches!(trouble, Trouble::Compaction) {
                    self.world.etcd.compact()?;
                    self.proxy.cut();
                }
            }
        }
        Ok(())
    }

    /// How often a process had to list because its version was too old.
    fn relisted(&self) -> usize {
        self.pods.values().map(|pod| pod.exporter.process.log().matches("resource version too old").count()).sum()
    }

    /// How often a watch of a process broke and was gone on with, of those processes that are there still.
    fn resumed(&self) -> usize {
        self.pods.values().map(|pod| pod.exporter.process.log().matches("watch failed").count()).sum()
    }

    fn beats(&mut self, count: u32) -> Result<()> {
        for _ in 0..count {
            let next = Instant::now() + BEAT;
            self.control()?;
            self.scrape()?;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            interrupt::check()?;
        }
        Ok(())
    }

    /// Until every pod knows how many there are to be: who is told to stop without having learned why, and cannot learn it
    /// any more, stops.
    fn until_noticed(&mut self) -> Result<()> {
        let started = Instant::now();
        loop {
            self.beats(1)?;
            let mut pods = self.pods.values().map(|pod| pod.exporter.self_metrics());
            if pods.all(|metrics| metrics.is_ok_and(|metrics| total(&metrics) == Some(f64::from(self.replicas)))) {
                return Ok(());
            }
            ensure!(started.elapsed() < NOTICE_LIMIT, "not every pod notices a change within {NOTICE_LIMIT:?}");
        }
    }

    /// Until there are as many pods as there should be and every series is served once.
    fn rest(&mut self, what: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            self.beats(1)?;
            let complete = self.pods.len() == self.replicas as usize && self.pods.values().all(|pod| !pod.told_to_stop);
            if complete && is_settled(self.pods.values().map(|pod| &pod.exporter), self.replicas)? {
                break;
            }
            if started.elapsed() > REST_LIMIT {
                bail!(
                    "{what}: {} of {} pods, not at rest after {} s",
                    self.pods.len(),
                    self.replicas,
                    REST_LIMIT.as_secs()
                );
            }
        }
        let shards: Vec<&Exporter> = self.pods.values().map(|pod| &pod.exporter).collect();
        let unsplit = &self.unsplit;
        self.world.settle(what, || {
            Ok((View::of([&unsplit.exposition(Format::Text)?]), self.world.read(&shards, Format::Text)?))
        })?;
        Ok(())
    }

    /// What the controller of the set and the kubelets would do now.
    fn control(&mut self) -> Result<()> {
        for ordinal in 0..self.replicas {
            if !self.pods.contains_key(&ordinal) {
                self.make_pod(ordinal).with_context(|| format!("pod ksm-{ordinal}"))?;
            }
        }
        let mut ended = Vec::new();
        for (&ordinal, pod) in &mut self.pods {
            if ordinal >= self.replicas && !pod.told_to_stop {
                pod.exporter.process.ask_to_stop();
                pod.told_to_stop = true;
            }
            match pod.exporter.process.exit_status()? {
                None => {}
                Some(status) if pod.told_to_stop && status.success() => ended.push(ordinal),
                Some(status) => bail!("{} ended ({status}):\n{}", pod.exporter.name(), pod.exporter.process.log()),
            }
        }
        for ordinal in ended {
            self.pods.remove(&ordinal);
            self.client.send_json("DELETE", &format!("{PODS}/ksm-{ordinal}"), &json!({"gracePeriodSeconds": 0}))?;
        }
        let mut ready = 0;
        for (ordinal, pod) in &mut self.pods {
            let now = is_ready(pod);
            ready += u32::from(now);
            if pod.shown_ready.replace(now) != Some(now) {
                let condition = json!({"type": "Ready", "status": if now { "True" } else { "False" }});
                let status = json!({"status": {"conditions": [condition]}});
                self.client.send_json("PATCH", &format!("{PODS}/ksm-{ordinal}/status"), &status)?;
            }
        }
        let generation = self.client.get_json(&format!("{SETS}/ksm"))?["metadata"]["generation"].clone();
        let status = json!({"observedGeneration": generation, "replicas": self.pods.len(), "readyReplicas": ready});
        self.client.send_json("PATCH", &format!("{SETS}/ksm/status"), &json!({"status": status}))?;
        Ok(())
    }

    fn make_pod(&mut self, ordinal: u32) -> Result<()> {
        let set = self.client.get_json(&format!("{SETS}/ksm"))?;
        let name = format!("ksm-{ordinal}");
        let owner = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ksm", "uid": set["metadata"]["uid"],
            "controller": true,
        });
        let pod = json!({
            "metadata": {"name": name, "ownerReferences": [owner], "labels": {"app": "ksm"}},
            "spec": {"containers": [{"name": "main", "image": "registry.example.test/ksm-shard:1"}]},
        });
        self.client.send_json("POST", PODS, &pod)?;
        let kubeconfig = kubeconfig_of(self.world, Some(self.proxy))?;
        let more =
            [format!("--pod={name}"), format!("--pod-namespace={NAMESPACE}"), format!("--reshard-grace={GRACE}")];
        self.started += 1;
        let exporter = Exporter::start(
            &format!("reshard-{name}-{}", self.started),
            self.world.binary("ksm-shard"),
            &arguments(&kubeconfig, &more),
            &self.world.logs,
        )?;
        self.pods.insert(ordinal, Pod { exporter, told_to_stop: false, shown_ready: None });
        Ok(())
    }

    /// One scrape of all processes: nothing may be missing.
    fn scrape(&mut self) -> Result<()> {
        let mut served: BTreeMap<String, u32> = BTreeMap::new();
        for pod in self.pods.values_mut() {
            match pods_in(&pod.exporter) {
                Ok(names) => names.into_iter().for_each(|name| *served.entry(name).or_default() += 1),
                // It ended between the two; what it had must come from another one.
                Err(_) if pod.told_to_stop => {}
                Err(error) => return Err(error),
            }
        }
        self.scrapes += 1;
        let missing: Vec<&String> = self.throughout.iter().filter(|name| !served.contains_key(*name)).collect();
        if !missing.is_empty() {
            let shards: Vec<String> = self.pods.keys().map(ToString::to_string).collect();
            bail!(
                "scrape {}: {} of {} pods missing, {} among them; shards {} of {}",
                self.scrapes,
                missing.len(),
                self.throughout.len(),
                missing[0],
                shards.join(", "),
                self.replicas
            );
        }
        self.doubled += u32::from(self.throughout.iter().any(|name| served[name] > 1));
        Ok(())
    }

    /// What to report of the scrapes since the last figure.
    fn figure(&mut self, what: &str) -> String {
        let (scrapes, doubled) = (std::mem::take(&mut self.scrapes), std::mem::take(&mut self.doubled));
        let took = elapsed(std::mem::replace(&mut self.since, Instant::now()).elapsed());
        let pods = self.throughout.len();
        format!("{what}: {pods} pods in each of {scrapes} scrapes over {took}, some of them twice in {doubled}")
    }

    /// Takes everything away again.
    fn end(mut self) -> Result<()> {
        for (ordinal, pod) in std::mem::take(&mut self.pods) {
            // Nobody is to take over: they are not waited for.
            drop(pod);
            self.client.send_json("DELETE", &format!("{PODS}/ksm-{ordinal}"), &json!({"gracePeriodSeconds": 0}))?;
        }
        self.client.send_json("DELETE", &format!("{SETS}/ksm"), &json!({}))?;
        Ok(())
    }
}

/// Whether every shard knows the total, is done with lists, and serves nothing that it gave away.
pub fn is_settled<'a>(shards: impl IntoIterator<Item = &'a Exporter>, total: u32) -> Result<bool> {
    for shard in shards {
        let metrics = shard.self_metrics()?;
        let value = |name: &str| metrics.select(name, &[]).next().map(|sample| sample.value);
        let settled = self::total(&metrics) == Some(f64::from(total))
            && value("kube_state_metrics_sharded_reshard_overlap") == Some(0.0)
            && metrics.select("kube_state_metrics_sharded_resharding", &[]).all(|sample| sample.value == 0.0);
        if !settled {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Of how many shards a process says that it is one.
fn total(metrics: &Exposition) -> Option<f64> {
    metrics.select("kube_state_metrics_total_shards", &[]).next().map(|sample| sample.value)
}

fn is_ready(pod: &Pod) -> bool {
    pod.exporter.telemetry.get("/readyz", None).is_ok_and(|answer| answer.status == 200)
}

/// Namespace and name of every pod that a scrape shows, the set's own left out.
fn pods_in(exporter: &Exporter) -> Result<BTreeSet<String>> {
    let body = exporter.scrape(Format::Text)?.body;
    let label = |line: &str, name: &str| {
        let value = line.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.map(str::to_owned).with_context(|| format!("no {name} in {line}"))
    };
    let mut names = BTreeSet::new();
    for line in body.lines().filter(|line| line.starts_with("kube_pod_info{")) {
        let namespace = label(line, "{namespace")?;
        if namespace != NAMESPACE {
            names.insert(format!("{namespace}/{}", label(line, ",pod")?));
        }
    }
    Ok(names)
}

//! Live change of a cluster: pods of deployments die and are replaced, containers restart, leases are renewed.
//!
//! The population stays what it was. Each step is one write with one event, made on the encoded objects, so that the
//! test bed spends little on it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior};

use crate::{
    cluster::{Cluster, SUFFIX_ALPHABET, uuid},
    codec::{
        self,
        schema::{self, Message},
        wire,
    },
    resources,
    sample::pods::{container_id, timestamp},
    store::{
        Collection, Key, MetadataPatch, Object,
        object::{patch_metadata, replace_field},
    },
};

/// Field numbers of `spec` and `status`, the same in all kinds changed here.
const SPEC: u32 = 2;
const STATUS: u32 = 3;
/// Replacements under way at a time.
const FLIGHTS: usize = 20;
/// Pause between two looks at how many changes are due.
const TICK: Duration = Duration::from_millis(10);

/// Makes this many changes a second, for ever.
pub(crate) async fn run(cluster: Cluster, per_second: f64) {
    let mut churn = Churn::new(&cluster, 1);
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let start = Instant::now();
    let mut done = 0_u64;
    loop {
        tick.tick().await;
        let due = (start.elapsed().as_secs_f64() * per_second) as u64;
        while done < due {
            churn.step();
            done += 1;
        }
    }
}

/// What happens to a pod next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Terminate,
    Delete,
    CountDown,
    CountDownSet,
    Create,
    Bind,
    Prepare,
    Start,
    Ready,
    CountUp,
    CountUpSet,
}

impl Stage {
    fn next(self) -> Option<Self> {
        Some(match self {
            Self::Terminate => Self::Delete,
            Self::Delete => Self::CountDown,
            Self::CountDown => Self::CountDownSet,
            Self::CountDownSet => Self::Create,
            Self::Create => Self::Bind,
            Self::Bind => Self::Prepare,
            Self::Prepare => Self::Start,
            Self::Start => Self::Ready,
            Self::Ready => Self::CountUp,
            Self::CountUp => Self::CountUpSet,
            Self::CountUpSet => return None,
        })
    }
}

/// A pod on its way out, and its replacement on its way in.
struct Flight {
    stage: Stage,
    key: Key,
    /// The pod as it was when it was well.
    model: Arc<Object>,
    /// Where the replacement goes; index into the nodes.
    node: usize,
}

/// Changes a cluster step by step; the same seed makes the same steps on the same cluster.
pub struct Churn {
    cluster: Cluster,
    random: fastrand::Rng,
    flights: VecDeque<Flight>,
    /// Running pods of deployments.
    candidates: Vec<Key>,
    /// Names and addresses.
    nodes: Vec<(String, String)>,
    steps: u64,
}

impl Churn {
    /// Takes stock of a cluster.
    pub fn new(cluster: &Cluster, seed: u64) -> Self {
        let objects = |plural| cluster.collection(resources::by_plural(plural).expect("served")).snapshot(None).objects;
        let phase = |pod: &Object| {
            wire::bytes_field(&pod.bytes, STATUS)
                .map(|status| wire::text_field(status, 1).to_owned())
                .unwrap_or_default()
        };
        let candidates = objects("pods")
            .iter()
            .filter(|pod| pod.owner().0 == "ReplicaSet" && !pod.is_terminating() && phase(pod) == "Running")
            .map(|pod| pod.key.clone())
            .collect();
        let node = resources::by_plural("nodes").expect("served").message();
        let address = |object: &Object| {
            let address = codec::to_json(node, &object.bytes)["status"]["addresses"][0]["address"].take();
            (object.key.name.to_string(), address.as_str().unwrap_or_default().to_owned())
        };
        let nodes = objects("nodes").iter().map(|node| address(node)).collect();
        Self {
            cluster: cluster.clone(),
            random: crate::cluster::random("churn", seed),
            flights: VecDeque::new(),
            candidates,
            nodes,
            steps: 0,
        }
    }

    /// Makes one change; `false` when there is nothing to change.
    pub fn step(&mut self) -> bool {
        self.steps += 1;
        match self.steps % 10 {
            3 => self.restart(),
            7 => self.renew_lease(),
            _ => self.fly(),
        }
    }

    fn collection(&self, plural: &str) -> &Arc<Collection> {
        self.cluster.collection(resources::by_plural(plural).expect("the plurals used here are served"))
    }

    /// Moves one replacement on by a stage.
    fn fly(&mut self) -> bool {
        if self.flights.len() < FLIGHTS && !self.candidates.is_empty() {
            let key = self.candidates.swap_remove(self.random.usize(..self.candidates.len()));
            if let Some(model) = self.collection("pods").get(&key) {
                let node = self.random.usize(..self.nodes.len().max(1));
                self.flights.push_back(Flight { stage: Stage::Terminate, key, model, node });
            }
        }
        let Some(mut flight) = self.flights.pop_front() else { return false };
        let done = self.advance(&mut flight);
        match flight.stage.next() {
            // Somebody else has taken the object away: forget the pod.
            _ if !done => {}
            Some(stage) => self.flights.push_back(Flight { stage, ..flight }),
            None => self.candidates.push(flight.key),
        }
        done
    }

    fn advance(&mut self, flight: &mut Flight) -> bool {
        let now = jiff::Timestamp::now().as_second();
        match flight.stage {
            Stage::Terminate => {
                let patch = MetadataPatch { deletion_timestamp: Some(now + 30), ..MetadataPatch::default() };
                self.update("pods", &flight.key, |pod| patch_metadata(&pod.bytes, &patch))
            }
            Stage::Delete => self.collection("pods").write().remove(&flight.key).is_some(),
            Stage::Create => self.create(flight, now),
            Stage::Bind | Stage::Prepare | Stage::Start | Stage::Ready => self.progress(flight, now),
            Stage::CountDown => self.count("deployments", flight, -1),
            Stage::CountDownSet => self.count("replicasets", flight, -1),
            Stage::CountUp => self.count("deployments", flight, 1),
            Stage::CountUpSet => self.count("replicasets", flight, 1),
        }
    }

    fn update(&self, plural: &str, key: &Key, change: impl FnOnce(&Object) -> Vec<u8>) -> bool {
        let writer = self.collection(plural).write();
        let Some(object) = writer.get(key).cloned() else { return false };
        writer.put(&change(&object));
        true
    }

    fn create(&mut self, flight: &mut Flight, now: i64) -> bool {
        let suffix: String =
            (0..5).map(|_| char::from(SUFFIX_ALPHABET[self.random.usize(..SUFFIX_ALPHABET.len())])).collect();
        let name = format!("{}-{suffix}", flight.model.owner().1);
        let uid = uuid(&mut self.random);
        let patch = MetadataPatch {
            name: Some(&name),
            uid: Some(&uid),
            creation_timestamp: Some(now),
            ..MetadataPatch::default()
        };
        let pod = patch_metadata(&flight.model.bytes, &patch);
        let unbound = replace_field(flight.model.spec(), node_name(), None);
        let pod = replace_field(&pod, SPEC, Some(&unbound));
        let status = json!({"phase": "Pending", "qosClass": "Burstable"});
        let pod = replace_field(&pod, STATUS, Some(&encode(pod_status(), &status)));
        flight.key = Key::new(&flight.key.namespace, &name);
        self.collection("pods").write().put(&pod);
        true
    }

    fn progress(&mut self, flight: &Flight, now: i64) -> bool {
        let (node, host) = self.nodes.get(flight.node).cloned().unwrap_or_default();
        let address = format!("10.{}.{}.{}", self.random.u8(64..96), self.random.u8(..), self.random.u8(1..));
        let ids: Vec<_> = (0..4).map(|_| container_id(&mut self.random)).collect();
        self.update("pods", &flight.key, |pod| {
            let mut bytes = pod.bytes.to_vec();
            if flight.stage == Stage::Bind {
                bytes =
                    replace_field(&bytes, SPEC, Some(&replace_field(pod.spec(), node_name(), Some(node.as_bytes()))));
            }
            let status = status(flight.stage, pod, (&host, &address), &ids, now);
            replace_field(&bytes, STATUS, Some(&encode(pod_status(), &status)))
        })
    }

    /// Counts a pod of the deployment (or its replica set) as lost or ready.
    fn count(&self, plural: &str, flight: &Flight, by: i64) -> bool {
        let set = flight.model.owner().1;
        let name = if plural == "deployments" { set.rsplit_once('-').map_or(set, |(name, _)| name) } else { set };
        let message = resources::by_plural(plural).expect("served").message();
        let message = message.by_number(STATUS).and_then(schema::Field::message).expect("both kinds have a status");
        // Without its owner the pod still counts as replaced.
        self.update(plural, &Key::new(&flight.key.namespace, name), |object| {
            let mut status = codec::to_json(message, wire::bytes_field(&object.bytes, STATUS).unwrap_or_default());
            for (key, by) in [("readyReplicas", by), ("availableReplicas", by), ("unavailableReplicas", -by)] {
                if let Some(count) = status[key].as_i64() {
                    status[key] = (count + by).max(0).into();
                }
            }
            replace_field(&object.bytes, STATUS, Some(&encode(message, &status)))
        });
        true
    }

    /// The first container of some pod ends and starts again.
    fn restart(&mut self) -> bool {
        if self.candidates.is_empty() {
            return self.fly();
        }
        let key = self.candidates[self.random.usize(..self.candidates.len())].clone();
        let now = timestamp(jiff::Timestamp::now().as_second());
        self.update("pods", &key, |pod| {
            let mut status = codec::to_json(pod_status(), wire::bytes_field(&pod.bytes, STATUS).unwrap_or_default());
            let container = &mut status["containerStatuses"][0];
            if container.is_object() {
                let restarts = container["restartCount"].as_i64().unwrap_or_default();
                container["restartCount"] = (restarts + 1).into();
                container["lastState"] = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled",
                    "startedAt": container["state"]["running"]["startedAt"], "finishedAt": now}});
                container["state"] = json!({"running": {"startedAt": now}});
            }
            replace_field(&pod.bytes, STATUS, Some(&encode(pod_status(), &status)))
        })
    }

    fn renew_lease(&mut self) -> bool {
        if self.nodes.is_empty() {
            return self.fly();
        }
        let node = &self.nodes[self.random.usize(..self.nodes.len())].0;
        let spec = json!({"holderIdentity": node, "leaseDurationSeconds": 40,
            "renewTime": jiff::Timestamp::now().to_string()});
        let message = schema::message("k8s.io.api.coordination.v1.LeaseSpec").expect("leases are in the schema");
        self.update("leases", &Key::new("kube-node-lease", node), |lease| {
            replace_field(&lease.bytes, SPEC, Some(&encode(message, &spec)))
        })
    }
}

fn pod_status() -> &'static Message {
    schema::message("k8s.io.api.core.v1.PodStatus").expect("pods are in the schema")
}

/// Field number of `nodeName` in a pod's spec.
fn node_name() -> u32 {
    schema::message("k8s.io.api.core.v1.PodSpec")
        .and_then(|spec| spec.by_json("nodeName"))
        .map(|(_, field)| field.number)
        .expect("pods are in the schema")
}

fn encode(message: &Message, value: &Value) -> Vec<u8> {
    codec::to_protobuf(message, value).expect("what is written here fits")
}

/// The status of a replacement at a stage.
fn status(stage: Stage, pod: &Object, (host, address): (&str, &str), ids: &[String], now: i64) -> Value {
    let time = timestamp(now);
    let condition = |kind: &str, on: bool| json!({"type": kind, "status": if on { "True" } else { "False" }, "lastTransitionTime": time});
    let mut status =
        json!({"phase": "Pending", "qosClass": "Burstable", "conditions": [condition("PodScheduled", true)]});
    if stage == Stage::Bind {
        return status;
    }
    let (running, ready) = (stage != Stage::Prepare, stage == Stage::Ready);
    status["startTime"] = time.as_str().into();
    status["hostIP"] = host.into();
    status["conditions"] = ["PodScheduled", "Initialized", "Ready", "ContainersReady"]
        .map(|kind| condition(kind, kind == "PodScheduled" || kind == "Initialized" && running || ready))
        .into_iter()
        .collect();
    if running {
        status["phase"] = "Running".into();
        status["podIP"] = address.into();
        status["podIPs"] = json!([{"ip": address}]);
    }
    let containers = wire::fields(pod.spec()).filter_map(|field| match field.value {
        // `containers` of a pod's spec.
        wire::Value::Bytes(container) if field.number == 2 => Some(container),
        _ => None,
    });
    status["containerStatuses"] = containers
        .zip(ids)
        .map(|(container, id)| {
            let state = if running {
                json!({"running": {"startedAt": time}})
            } else {
                json!({"waiting": {"reason": "ContainerCreating"}})
            };
            json!({"name": wire::text_field(container, 1), "image": wire::text_field(container, 2),
                "imageID": "registry.example.com/image@sha256:0", "ready": ready, "started": running, "restartCount": 0,
                "containerID": format!("containerd://{id}"), "state": state, "lastState": {}})
        })
        .collect();
    status
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::SampleOptions;

    #[test]
    fn the_population_is_stable_and_every_step_is_one_event() {
        let cluster = Cluster::sample(&SampleOptions::new(200, 1));
        let pods = cluster.count("pods").unwrap();
        let deployments = cluster.list("deployments").unwrap().len();
        let mut churn = Churn::new(&cluster, 1);
        for _ in 0..2000 {
            let before = cluster.resource_version();
            assert!(churn.step());
            assert!(cluster.resource_version() <= before + 1);
        }
        let now = cluster.count("pods").unwrap();
        assert!((pods - FLIGHTS..=pods).contains(&now), "{pods} pods before, {now} after");
        assert_eq!(cluster.count("deployments").unwrap(), deployments);
        let uids: BTreeSet<_> =
            cluster.list("pods").unwrap().iter().map(|pod| pod["metadata"]["uid"].to_string()).collect();
        assert_eq!(uids.len(), now);
    }

    #[test]
    fn replacements_end_up_ready_on_a_node() {
        let cluster = Cluster::sample(&SampleOptions::new(60, 1));
        let names = |cluster: &Cluster| -> Vec<_> {
            cluster
                .list("pods")
                .unwrap()
                .iter()
                .map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned())
                .collect()
        };
        let before = names(&cluster);
        let mut churn = Churn::new(&cluster, 1);
        (0..2000).for_each(|_| assert!(churn.step()));
        let new = |pod: &Value| !before.iter().any(|name| pod["metadata"]["name"] == name.as_str());
        let pods: Vec<_> = cluster.list("pods").unwrap().into_iter().filter(new).collect();
        assert!(pods.len() > 10);
        let ready = |pod: &&Value| pod["status"]["conditions"][2]["status"] == "True";
        let pod = pods.iter().find(ready).unwrap();
        assert_eq!(pod["status"]["phase"], "Running");
        assert!(pod["spec"]["nodeName"].as_str().unwrap().starts_with("node-"));
        assert!(pod["status"]["containerStatuses"][0]["ready"].as_bool().unwrap());
    }
}

//! Random clusters, sets, API servers, faults and reshards, by seed.
//!
//! Each seed is a run of its own in virtual time: a set is scaled several times while its API servers fail, lists take
//! their time, pods crash or are drained, objects come and go, and all shards are scraped every second. Three things must
//! hold:
//!
//! - with an overlap, no object that is there throughout is ever missing from the union of the shards. Excused are, until
//!   the set is complete again, those that a crashed pod served, those that a drained one had as its own (or served, if
//!   another one stops that is to stay), and those of a pod that was scaled away and back before the others can have
//!   noticed: to them it is a pod that restarts;
//! - no object is served twice but in an overlap, or before everybody can know that the set was scaled;
//! - after quiet, every object is served by exactly one shard, as it is, and nothing else is.
//!
//! `KSM_SEEDS` is the number of seeds (or `from..to`), 1 000 unless set. A failure names its seed.

mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use futures::FutureExt;
use ksm_core::shard::{Scheme, Shard};
use ksm_testbed::Cluster;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::control_plane::ControlPlane;
use crate::member::Member;

const SECOND: Duration = Duration::from_secs(1);

/// As `--reshard-grace` has it by default.
const GRACE: Duration = Duration::from_secs(30);

/// How long a pod that is to go may take, as `terminationGracePeriodSeconds` in `deploy/`.
const TERMINATION_GRACE: Duration = Duration::from_secs(300);

/// Within this time, or not before the end of an outage, every shard knows that its set was scaled.
const NOTICE: u32 = 20;

/// From the last change to the look at what was made of it; more than two back-offs and two graces, and than a watch
/// may be silent.
const QUIET: u32 = 300;

/// How long a set must have been complete then: for the grace, and until that is known.
const REST: u32 = 60;

/// What `creationTimestamp`s count from: the start of 2026, in seconds since the Unix epoch.
const EPOCH: u32 = 1_767_225_600;

#[test]
fn no_object_is_lost_and_none_is_left_doubled() {
    let seeds = seeds();
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut failures = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end || failures.len() > 2 {
                    return failures;
                }
                if catch_unwind(AssertUnwindSafe(|| run(seed))).is_err() {
                    failures.push(format!("KSM_SEEDS={seed}..{}", seed + 1));
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "failed: {}", failures.join(", "));
}

fn seeds() -> std::ops::Range<u64> {
    let text = std::env::var("KSM_SEEDS").unwrap_or_else(|_| "1000".to_owned());
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("KSM_SEEDS: {text:?} is no number"));
    match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(&text),
    }
}

fn run(seed: u64) {
    // Jitter of the program under test comes from this generator as well.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async { Simulation::new(seed).run().await });
}

/// Ordinal and total.
type Place = (u32, u32);

/// A pod of the set.
struct Pod {
    /// When its process starts; `None` once it has.
    starts: Option<Instant>,
    member: Option<Member>,
    /// As its set sees it, and for how many seconds it has been otherwise.
    ready: bool,
    unlike: u32,
    /// When its set was scaled so that there was no place for it, and whether there was one again too soon.
    condemned: Option<u32>,
    restarts: bool,
    /// Told to stop: when it is killed, and its lingering, which ends with the place it had then.
    stopping: Option<(Instant, JoinHandle<Option<Place>>)>,
    /// Told to stop although the set has a place for it, which its successor is to take.
    drained: bool,
    /// What the API says of it: whether it is ready, and told to stop.
    published: Option<(bool, bool)>,
}

struct Simulation {
    seed: u64,
    rng: Rng,
    cluster: Cluster,
    plane: ControlPlane,
    scheme: Scheme,
    overlap: Option<Duration>,
    /// Whether pods come and go one by one.
    ordered: bool,
    /// Where their ordinals start.
    first: u32,
    /// How often the set was made.
    edition: u32,
    /// Whether lists of config maps were refused: once, since what is refused again and again is not waited for.
    refused: bool,
    /// Seconds until a change of readiness shows.
    probe_lag: u32,
    replicas: u32,
    generation: i64,
    status: serde_json::Value,
    pods: BTreeMap<u32, Pod>,
    /// Objects that are there throughout.
    stable: BTreeSet<String>,
    /// Objects that are there now, and when they were made, as they say.
    objects: BTreeMap<String, u32>,
    made: u32,
    second: u32,
    started: bool,
    down_until: u32,
    /// Until when some may not know of the last change.
    unnoticed_until: u32,
    /// Objects that a restart may have cost.
    excused: BTreeSet<String>,
    log: Vec<String>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let cluster = Cluster::new(if rng.bool() { 10_000 } else { 64 }, seed);
        let mut sharding = vec![rng.bool()];
        if rng.bool() {
            sharding.push(rng.bool());
        }
        let plane = ControlPlane::new(&cluster, &sharding, rng.u8(..4) > 0);
        let mut simulation = Self {
            seed,
            cluster,
            plane,
            scheme: if rng.u8(..4) == 0 { Scheme::Md5 } else { Scheme::Range },
            overlap: (rng.u8(..8) > 0).then_some(GRACE),
            ordered: rng.bool(),
            first: [0, 0, 5][rng.usize(..3)],
            edition: 1,
            refused: false,
            probe_lag: rng.u32(1..=6),
            replicas: rng.u32(1..=4),
            generation: 1,
            status: json!({}),
            pods: BTreeMap::new(),
            stable: BTreeSet::new(),
            objects: BTreeMap::new(),
            made: 0,
            second: 0,
            started: false,
            down_until: 0,
            unnoticed_until: 0,
            excused: BTreeSet::new(),
            log: Vec::new(),
            rng,
        };
        for _ in 0..simulation.rng.u32(5..60) {
            simulation.make_object();
        }
        simulation.stable = simulation.objects.keys().cloned().collect();
        let latency = SECOND * [0, 0, 20, 80][simulation.rng.usize(..4)];
        simulation.plane.set_latency(latency);
        simulation.note(format!(
            "sharding {sharding:?}, {}, overlap {:?}, ordered {}, {} replicas, {} objects, lists take up to {latency:?}",
            simulation.scheme,
            simulation.overlap,
            simulation.ordered,
            simulation.replicas,
            simulation.objects.len()
        ));
        simulation
    }

    fn note(&mut self, what: impl std::fmt::Display) {
        self.log.push(format!("{:4} s: {what}", self.second));
    }

    async fn run(mut self) {
        self.write_set();
        // Nothing goes wrong before all have started once.
        self.rest(QUIET * 2).await;
        self.started = true;
        self.check_exact("at start");
        let changes = self.rng.u32(2..6);
        for change in 1..=changes {
            self.change(change == changes);
            let pause = match self.rng.u8(..3) {
                0 => self.rng.u32(0..3),
                1 => self.rng.u32(3..40),
                _ => self.rng.u32(40..140),
            };
            for _ in 0..pause {
                self.tick(true).await;
            }
        }
        self.plane.servers().iter().for_each(|server| server.faults().clear());
        self.plane.set_latency(Duration::ZERO);
        self.down_until = 0;
        self.plane.set_down(false);
        for _ in 0..QUIET {
            self.tick(false).await;
        }
        self.rest(QUIET * 2).await;
        self.check_exact("at the end");
    }

    /// Waits until the set has been complete for a while, but no longer than that many seconds.
    async fn rest(&mut self, limit: u32) {
        let mut complete = 0;
        for _ in 0..limit {
            complete = if self.is_complete() { complete + 1 } else { 0 };
            if complete > REST {
                return;
            }
            self.tick(false).await;
        }
    }

    /// Scales the set; `last` leaves it with a pod at least.
    fn change(&mut self, last: bool) {
        self.replicas = match self.rng.u8(..16) {
            0 | 1 => 8,
            2 if !last => 0,
            _ => self.rng.u32(1..=5),
        };
        self.generation += 1;
        if self.rng.u8(..12) == 0 && self.pods.values().all(|pod| pod.stopping.is_none()) {
            // Its pods stay, for the next one of that name to adopt.
            self.note("set made anew");
            self.cluster.delete("statefulsets", "mon", "ksm").unwrap();
            self.edition += 1;
            self.generation = 1;
        }
        let known_from = self.second.max(self.down_until) + NOTICE;
        self.unnoticed_until = self.unnoticed_until.max(known_from);
        for (&ordinal, pod) in &mut self.pods {
            if ordinal >= self.replicas {
                pod.condemned.get_or_insert(known_from);
            } else if let Some(known_from) = pod.condemned.take() {
                pod.restarts |= self.second < known_from;
                // The set has a place again for who is on its way out, in the way of its own successor.
                pod.drained |= pod.stopping.is_some();
            }
        }
        if self.replicas == 0 {
            // Nobody is to have them.
            self.excused = self.stable.clone();
        }
        self.note(format!("{} replicas", self.replicas));
        self.write_set();
    }

    fn is_complete(&self) -> bool {
        self.pods.len() == self.replicas as usize && self.pods.values().all(|pod| pod.ready)
    }

    /// One second.
    async fn tick(&mut self, trouble: bool) {
        sleep(SECOND).await;
        self.second += 1;
        if trouble {
            self.trouble();
            self.churn();
        }
        if self.second == self.down_until {
            self.note("API server back");
            self.plane.set_down(false);
        }
        self.start_processes();
        self.note_readiness();
        self.stop_processes();
        // The controller needs the API server as much as anybody.
        if self.second >= self.down_until {
            self.control();
            self.write_set();
            self.write_pods();
        }
        self.scrape();
    }

    fn start_processes(&mut self) {
        let now = Instant::now();
        for (&ordinal, pod) in &mut self.pods {
            if pod.starts.is_some_and(|starts| starts <= now) {
                pod.starts = None;
                let client = self.plane.client(None);
                pod.member = Some(Member::start_pod(&client, self.first + ordinal, self.scheme, self.overlap));
            }
        }
    }

    fn note_readiness(&mut self) {
        for pod in self.pods.values_mut() {
            let is_ready = |member: &Member| member.progress.is_settled() && !member.shares.status().stopping;
            let is_ready = pod.member.as_ref().is_some_and(is_ready);
            pod.unlike = if is_ready == pod.ready { 0 } else { pod.unlike + 1 };
            if pod.unlike >= self.probe_lag {
                (pod.ready, pod.unlike) = (is_ready, 0);
            }
        }
    }

    /// Ends what was told to stop and has lingered.
    fn stop_processes(&mut self) {
        let now = Instant::now();
        let ended = |pod: &Pod| pod.stopping.as_ref().is_some_and(|(kill, done)| done.is_finished() || *kill <= now);
        let gone: Vec<u32> = self.pods.iter().filter(|(_, pod)| ended(pod)).map(|(&ordinal, _)| ordinal).collect();
        for ordinal in gone {
            let pod = self.pods.remove(&ordinal).unwrap();
            let (_, lingering) = pod.stopping.unwrap();
            let place = lingering.now_or_never();
            self.note(format!("shard {ordinal} gone{}", if place.is_none() { ", killed" } else { "" }));
            // Of two that stop at the same time in the middle of a change, one cannot know what the other has.
            let stays = |(ordinal, total): Place| ordinal < total;
            let others_stop = self.pods.iter().any(|(&other, pod)| other < self.replicas && pod.stopping.is_some());
            if let Some(mut member) = pod.member {
                let names = member.names().iter();
                match place.map(|place| place.unwrap()) {
                    Some(Some(place)) if !pod.restarts && others_stop && stays(place) => {
                        self.excused.extend(names.cloned());
                    }
                    Some(place) if !pod.restarts && pod.drained => {
                        let own = place.and_then(|(ordinal, total)| Shard::new(ordinal, total, self.scheme).ok());
                        let owned = names.filter(|name| own.is_some_and(|own| own.owns(&uid(&self.cluster, name))));
                        self.excused.extend(owned.cloned());
                    }
                    Some(_) if !pod.restarts => {}
                    _ => self.excused.extend(names.cloned()),
                }
            }
            self.cluster.delete("pods", "mon", &format!("ksm-{}", self.first + ordinal)).unwrap();
        }
    }

    /// What the StatefulSet controller does.
    fn control(&mut self) {
        let all_ready = |pods: &BTreeMap<u32, Pod>, below: u32| {
            (0..below).all(|ordinal| pods.get(&ordinal).is_some_and(|pod| pod.ready && pod.stopping.is_none()))
        };
        for ordinal in 0..self.replicas {
            if self.pods.contains_key(&ordinal) || (self.ordered && !all_ready(&self.pods, ordinal)) {
                continue;
            }
            self.note(format!("shard {ordinal} made"));
            let owner =
                json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ksm", "uid": "u", "controller": true});
            let name = format!("ksm-{}", self.first + ordinal);
            let metadata = json!({"namespace": "mon", "name": name, "ownerReferences": [owner]});
            self.cluster.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})).unwrap();
            let starts = Some(Instant::now() + SECOND * self.rng.u32(0..15));
            let pod = Pod {
                starts,
                member: None,
                ready: false,
                unlike: 0,
                condemned: None,
                restarts: false,
                stopping: None,
                drained: false,
                published: None,
            };
            self.pods.insert(ordinal, pod);
        }
        let condemned: Vec<u32> = self.pods.keys().rev().copied().filter(|&ordinal| ordinal >= self.replicas).collect();
        for ordinal in condemned {
            if self.ordered && !all_ready(&self.pods, self.replicas) {
                return;
            }
            if self.pods[&ordinal].stopping.is_none() {
                self.tell_to_stop(ordinal);
                self.note(format!("shard {ordinal} told to stop"));
            }
            if self.ordered {
                return;
            }
        }
    }

    /// What kubelets and the API server say of the pods.
    fn write_pods(&mut self) {
        for (ordinal, pod) in &mut self.pods {
            let now = (pod.ready, pod.stopping.is_some());
            if pod.published.replace(now) == Some(now) {
                continue;
            }
            let name = format!("ksm-{}", self.first + ordinal);
            let mut object = self.cluster.get("pods", "mon", &name).unwrap().unwrap();
            let status = if pod.ready { "True" } else { "False" };
            object["status"] = json!({"conditions": [{"type": "Ready", "status": status}]});
            if pod.stopping.is_some() {
                object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            self.cluster.apply(object).unwrap();
        }
    }

    fn write_set(&mut self) {
        let ready = self.pods.values().filter(|pod| pod.ready).count();
        // The first write after a change of the spec is the user's, and says nothing new about pods.
        let observed = if self.second == 0 { 0 } else { self.generation };
        let changed = self.status["observedGeneration"] != json!(observed);
        if !changed || self.rng.bool() {
            self.status = json!({
                "observedGeneration": observed, "replicas": self.pods.len(), "readyReplicas": ready,
            });
        }
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"namespace": "mon", "name": "ksm", "uid": format!("set-{}", self.edition),
                "generation": self.generation},
            "spec": {"replicas": self.replicas, "ordinals": {"start": self.first}, "selector": {}, "serviceName": "ksm", "template": {}},
            "status": self.status,
        });
        self.cluster.apply(set).unwrap();
    }

    fn scrape(&mut self) {
        let (mut union, mut twice) = (BTreeSet::new(), Vec::new());
        let mut overlapping = false;
        for (ordinal, pod) in &mut self.pods {
            let Some(member) = &mut pod.member else { continue };
            assert!(!member.has_ended(), "seed {}: a task of shard {ordinal} ended", self.seed);
            overlapping |= member.shares.status().overlapping;
            twice.extend(member.names().intersection(&union).cloned().collect::<Vec<String>>());
            union.extend(member.names().iter().cloned());
        }
        if !twice.is_empty() && !overlapping && self.second > self.unnoticed_until {
            self.fail(&format!("twice in a scrape without an overlap: {twice:?}"));
        }
        if self.overlap.is_some() && self.started {
            // What kubelets say is late, and a pod that is refused may be ready and have nothing.
            let total = self.replicas;
            let has_all = |member: &Member| {
                let place = member.shares.status().place;
                place.is_some_and(|(_, of)| of == total) && member.shares.is_taken() && member.progress.is_synced()
            };
            if total > 0 && self.is_complete() && self.pods.values().all(|pod| pod.member.as_ref().is_some_and(has_all))
            {
                self.excused.clear();
            }
            let missing = self.stable.difference(&union).filter(|name| !self.excused.contains(*name));
            let missing: Vec<&String> = missing.collect();
            if !missing.is_empty() {
                self.fail(&format!("missing in a scrape: {missing:?}"));
            }
        }
    }

    fn check_exact(&mut self, when: &str) {
        let mut owners: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut stale = Vec::new();
        for (&ordinal, pod) in &mut self.pods {
            let Some(member) = &mut pod.member else { continue };
            for (name, value) in member.values() {
                owners.entry(name.clone()).or_default().push(ordinal);
                if self.objects.get(name).is_some_and(|made| f64::from(EPOCH + made) != *value) {
                    stale.push(name.clone());
                }
            }
        }
        let served: BTreeSet<&String> = owners.keys().collect();
        let there: BTreeSet<&String> = self.objects.keys().collect();
        let twice: Vec<_> = owners.iter().filter(|(_, owners)| owners.len() != 1).collect();
        let overlapping = self.pods.iter().any(|(_, pod)| {
            pod.member.as_ref().is_none_or(|member| member.shares.status().overlapping || !member.shares.is_taken())
        });
        let wrong = served != there || !twice.is_empty() || !stale.is_empty();
        if wrong || overlapping || self.pods.len() != self.replicas as usize {
            let missing: Vec<_> = there.difference(&served).collect();
            let extra: Vec<_> = served.difference(&there).collect();
            self.fail(&format!(
                "{when}: {} of {} pods, overlapping {overlapping}; missing {missing:?}, extra {extra:?}, not once {twice:?}, \
                 not as they are {stale:?}",
                self.pods.len(),
                self.replicas
            ));
        }
    }

    fn fail(&self, what: &str) -> ! {
        let pods: Vec<String> = self
            .pods
            .iter()
            .map(|(ordinal, pod)| {
                let status = pod.member.as_ref().map(|member| (member.shares.status(), member.progress.phase()));
                format!("shard {ordinal}: ready {}, stopping {}, {status:?}", pod.ready, pod.stopping.is_some())
            })
            .collect();
        panic!("seed {}, {} s: {what}\n{}\n{}", self.seed, self.second, pods.join("\n"), self.log.join("\n"))
    }
}

fn uid(cluster: &Cluster, name: &str) -> String {
    let object = cluster.get("configmaps", "team-a", name).unwrap();
    object.and_then(|object| object["metadata"]["uid"].as_str().map(str::to_owned)).unwrap_or_default()
}

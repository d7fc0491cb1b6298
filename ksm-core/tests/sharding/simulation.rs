//! Random clusters, sets, API servers, faults and reshards, by seed.
//!
//! Each seed is a run of its own in virtual time: a set is scaled several times while its API servers fail, objects come
//! and go, and all shards are scraped every second. Two things must hold:
//!
//! - with an overlap, no object that is there throughout is ever missing from the union of the shards. Excused are those
//!   of a pod that was scaled away and back before the others can have noticed: to them it is a pod that restarts;
//! - after quiet, every object is served by exactly one shard, and nothing else is.
//!
//! `KSM_SEEDS` is the number of seeds (or `from..to`), 1 000 unless set. A failure names its seed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use ksm_core::autoshard::linger;
use ksm_core::shard::Scheme;
use ksm_testbed::{Cluster, Fault, Verb, WatchFault};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::control_plane::{Choice, ControlPlane};
use crate::member::Member;

const SECOND: Duration = Duration::from_secs(1);

/// As `--reshard-grace` has it by default.
const GRACE: Duration = Duration::from_secs(30);

/// How long a pod that is to go may take, as `terminationGracePeriodSeconds` in `deploy/`.
const TERMINATION_GRACE: Duration = Duration::from_secs(300);

/// Within this time, or not before the end of an outage, every shard knows that its set was scaled.
const NOTICE: u32 = 20;

/// From the last change to the look at what was made of it; more than two back-offs and two graces.
const QUIET: u32 = 300;

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
    /// Told to stop: when it is killed, and its lingering.
    stopping: Option<(Instant, tokio::task::JoinHandle<()>)>,
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
    /// Seconds until a change of readiness shows.
    probe_lag: u32,
    replicas: u32,
    generation: i64,
    status: serde_json::Value,
    pods: BTreeMap<u32, Pod>,
    /// Objects that are there throughout.
    stable: BTreeSet<String>,
    /// Objects that are there now.
    objects: BTreeSet<String>,
    made: u32,
    second: u32,
    started: bool,
    down_until: u32,
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
            probe_lag: rng.u32(1..=6),
            replicas: rng.u32(1..=4),
            generation: 1,
            status: json!({}),
            pods: BTreeMap::new(),
            stable: BTreeSet::new(),
            objects: BTreeSet::new(),
            made: 0,
            second: 0,
            started: false,
            down_until: 0,
            excused: BTreeSet::new(),
            log: Vec::new(),
            rng,
        };
        for _ in 0..simulation.rng.u32(5..60) {
            simulation.make_object();
        }
        simulation.stable = simulation.objects.clone();
        simulation.note(format!(
            "sharding {sharding:?}, {}, overlap {:?}, ordered {}, {} replicas, {} objects",
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
        while self.second < 60 || !self.is_complete() {
            self.tick(false).await;
            assert!(self.second < QUIET, "seed {}: not started", self.seed);
        }
        self.started = true;
        self.check_exact("at start");
        let changes = self.rng.u32(2..6);
        for _ in 0..changes {
            self.replicas = match self.rng.u8(..8) {
                0 => 8,
                _ => self.rng.u32(1..=5),
            };
            self.generation += 1;
            let known_from = self.second.max(self.down_until) + NOTICE;
            for (&ordinal, pod) in &mut self.pods {
                if ordinal >= self.replicas {
                    pod.condemned.get_or_insert(known_from);
                } else if let Some(known_from) = pod.condemned.take() {
                    pod.restarts |= self.second < known_from;
                }
            }
            self.note(format!("{} replicas", self.replicas));
            self.write_set();
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
        self.down_until = 0;
        self.plane.set_down(false);
        for second in 0..QUIET * 2 {
            // Pods that come one by one take their time.
            if second >= QUIET && self.is_complete() {
                break;
            }
            self.tick(false).await;
        }
        self.check_exact("at the end");
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
        }
        self.scrape();
    }

    fn trouble(&mut self) {
        if self.rng.u8(..100) >= 8 {
            return;
        }
        let code = [429, 500, 503, 410][self.rng.usize(..4)];
        let after = self.rng.u64(..8);
        let fault = match self.rng.u8(..15) {
            0 if self.second > self.down_until => {
                self.down_until = self.second + self.rng.u32(1..20);
                self.note(format!("API server away until {} s", self.down_until));
                return self.plane.set_down(true);
            }
            1 | 2 => {
                self.note("connections cut");
                return self.plane.cut();
            }
            3 => {
                self.note("history compacted");
                return self.cluster.compact();
            }
            4 => {
                let choice = match self.rng.u8(..2) {
                    0 => Choice::InTurn,
                    _ => Choice::Fixed(self.rng.usize(..self.plane.servers().len())),
                };
                self.note(format!("{choice:?}"));
                return self.plane.choose(choice);
            }
            5 | 6 => Fault::Status { code, retry_after: None },
            7 => Fault::Watch { after, event: WatchFault::Error { code: 410 } },
            8 => Fault::Watch { after, event: WatchFault::Cut },
            9 => Fault::Watch { after, event: WatchFault::CutFrame },
            10 => Fault::Watch { after, event: WatchFault::UnknownType },
            11 => Fault::Watch { after, event: WatchFault::Garbage },
            12 => Fault::NoInitialEventsEnd,
            13 => Fault::IgnoreShardSelector,
            _ => Fault::CutAfterBytes { bytes: self.rng.u64(..4000) },
        };
        let verb = [Verb::List, Verb::StreamedList, Verb::Watch][self.rng.usize(..3)];
        let resource = if self.rng.u8(..4) == 0 { "statefulsets" } else { "configmaps" };
        self.note(format!("{fault:?} on {verb:?} of {resource}"));
        let server = self.rng.usize(..self.plane.servers().len());
        let times = self.rng.u32(1..3);
        self.plane.servers()[server].faults().add(fault.on(resource, verb, times));
    }

    fn churn(&mut self) {
        for _ in 0..self.rng.u8(..4) {
            let passing: Vec<String> = self.objects.difference(&self.stable).cloned().collect();
            match self.rng.u8(..3) {
                0 => self.make_object(),
                1 if !passing.is_empty() => {
                    let name = &passing[self.rng.usize(..passing.len())];
                    self.cluster.delete("configmaps", "team-a", name).unwrap();
                    self.objects.remove(name);
                }
                _ => {
                    let all: Vec<&String> = self.objects.iter().collect();
                    let name = all[self.rng.usize(..all.len())].clone();
                    let mut object = self.cluster.get("configmaps", "team-a", &name).unwrap().unwrap();
                    // The sample shows when an object was made, so that this changes its text.
                    let minute = self.second / 60 % 60;
                    object["metadata"]["creationTimestamp"] =
                        json!(format!("2026-01-01T00:{minute:02}:{:02}Z", self.second % 60));
                    self.cluster.apply(object).unwrap();
                }
            }
        }
    }

    fn make_object(&mut self) {
        self.made += 1;
        let name = format!("cm-{}", self.made);
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "team-a", "name": name},
        });
        if self.rng.u8(..16) == 0 {
            // Nobody says that UIDs are UUIDs.
            object["metadata"]["uid"] = json!(format!("made-{}", self.made));
        }
        self.cluster.apply(object).unwrap();
        self.objects.insert(name);
    }

    fn start_processes(&mut self) {
        let now = Instant::now();
        for (&ordinal, pod) in &mut self.pods {
            if pod.starts.is_some_and(|starts| starts <= now) {
                pod.starts = None;
                let client = self.plane.client(None);
                pod.member = Some(Member::start_pod(&client, ordinal, self.scheme, self.overlap));
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
            self.note(format!("shard {ordinal} gone"));
            if let Some(Pod { restarts: true, member: Some(mut member), .. }) = self.pods.remove(&ordinal) {
                self.excused.extend(member.names().iter().cloned());
            }
            self.cluster.delete("pods", "mon", &format!("ksm-{ordinal}")).unwrap();
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
            let metadata = json!({"namespace": "mon", "name": format!("ksm-{ordinal}"), "ownerReferences": [owner]});
            self.cluster.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})).unwrap();
            let starts = Some(Instant::now() + SECOND * self.rng.u32(0..15));
            let pod =
                Pod { starts, member: None, ready: false, unlike: 0, condemned: None, restarts: false, stopping: None };
            self.pods.insert(ordinal, pod);
        }
        let condemned: Vec<u32> = self.pods.keys().rev().copied().filter(|&ordinal| ordinal >= self.replicas).collect();
        for ordinal in condemned {
            if self.ordered && !all_ready(&self.pods, self.replicas) {
                return;
            }
            let pod = self.pods.get_mut(&ordinal).unwrap();
            if pod.stopping.is_none() {
                let shares = pod.member.as_ref().map(|member| member.shares.clone());
                let lingers = self.overlap.is_some();
                let lingering = tokio::spawn(async move {
                    if let Some(shares) = shares.filter(|_| lingers) {
                        linger(&shares).await;
                    }
                });
                pod.stopping = Some((Instant::now() + TERMINATION_GRACE, lingering));
                self.note(format!("shard {ordinal} told to stop"));
            }
            if self.ordered {
                return;
            }
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
            "metadata": {"namespace": "mon", "name": "ksm", "generation": self.generation},
            "spec": {"replicas": self.replicas, "selector": {}, "serviceName": "ksm", "template": {}},
            "status": self.status,
        });
        self.cluster.apply(set).unwrap();
    }

    fn scrape(&mut self) {
        let mut union = BTreeSet::new();
        for (ordinal, pod) in &mut self.pods {
            let Some(member) = &mut pod.member else { continue };
            assert!(!member.has_ended(), "seed {}: a task of shard {ordinal} ended", self.seed);
            union.extend(member.names().iter().cloned());
        }
        if self.overlap.is_some() && self.started {
            if self.is_complete() {
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
        for (&ordinal, pod) in &mut self.pods {
            for name in pod.member.iter_mut().flat_map(|member| member.names().clone()) {
                owners.entry(name).or_default().push(ordinal);
            }
        }
        let served: BTreeSet<String> = owners.keys().cloned().collect();
        let twice: Vec<_> = owners.iter().filter(|(_, owners)| owners.len() != 1).collect();
        let overlapping = self.pods.iter().any(|(_, pod)| {
            pod.member.as_ref().is_none_or(|member| member.shares.status().overlapping || !member.shares.is_taken())
        });
        if served != self.objects || !twice.is_empty() || overlapping || self.pods.len() != self.replicas as usize {
            let missing: Vec<_> = self.objects.difference(&served).collect();
            let extra: Vec<_> = served.difference(&self.objects).collect();
            self.fail(&format!(
                "{when}: {} of {} pods, overlapping {overlapping}; missing {missing:?}, extra {extra:?}, not once {twice:?}",
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

//! What a sample cluster consists of, before any object is made: nodes, workloads, and pods with their states.

use std::collections::HashSet;
use std::ops::Range;

use fastrand::Rng;

use super::SampleOptions;
use crate::cluster::{SUFFIX_ALPHABET, random, uuid};

/// The moment sample clusters are seen at, in seconds since the epoch: 2026-03-02T09:00:00Z. A fixed one, so that the
/// same options make the same objects on any day.
pub(crate) const NOW: i64 = 1_772_442_000;
const DAY: i64 = 86_400;

pub(crate) const SYSTEM: &str = "kube-system";
pub(crate) const NODE_LEASES: &str = "kube-node-lease";

const NOUNS: &[&str] = &[
    "cart",
    "checkout",
    "catalog",
    "search",
    "billing",
    "ledger",
    "mailer",
    "gateway",
    "profile",
    "session",
    "pricing",
    "stock",
    "review",
    "report",
    "upload",
    "thumbnail",
    "notify",
    "audit",
    "export",
    "import",
    "feed",
    "quota",
    "router",
    "vault",
];
const ROLES: &[&str] = &["api", "web", "worker", "cache", "proxy", "sync", "cron", "admin", "batch", "stream"];
const TEAMS: &[&str] =
    &["shop", "payments", "media", "identity", "data", "platform", "search", "growth", "infra", "mobile"];

/// What a pod looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum State {
    Running,
    /// Running, readiness probe failing.
    NotReady,
    /// Running again after having been killed for memory.
    Restarted,
    CrashLoop,
    ImagePull,
    Creating,
    Initializing,
    Unscheduled,
    Terminating,
    Evicted,
    Succeeded,
    Failed,
    /// The node does not answer.
    Unknown,
}

/// States that even a small cluster should show, with the index of the deployment pod that shows it first.
const EARLY: &[(usize, State)] = &[
    (3, State::CrashLoop),
    (5, State::Unscheduled),
    (8, State::ImagePull),
    (11, State::Restarted),
    (14, State::Initializing),
    (17, State::NotReady),
    (20, State::Terminating),
    (23, State::Evicted),
    (26, State::Creating),
    (29, State::Unknown),
];

pub(crate) struct NodePlan {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) ip: String,
    pub(crate) zone: char,
    pub(crate) control_plane: bool,
    pub(crate) ready: bool,
    pub(crate) created: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WorkloadKind {
    Deployment {
        replica_set: String,
        replica_set_uid: String,
        hash: String,
    },
    StatefulSet,
    DaemonSet,
    Job {
        outcome: State,
        cron_job: Option<(String, String)>,
    },
    /// Pods that the kubelet makes from files; each is owned by its node.
    Static,
    /// Pods that nobody owns.
    Bare,
}

pub(crate) struct Workload {
    pub(crate) kind: WorkloadKind,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) team: &'static str,
    pub(crate) uid: String,
    pub(crate) created: i64,
    /// Decides containers, resources and extras.
    pub(crate) style: u64,
    /// Indices into the plan's pods.
    pub(crate) pods: Range<usize>,
}

pub(crate) struct PodPlan {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) ip: String,
    /// Index into the plan's nodes; `None` while unscheduled.
    pub(crate) node: Option<usize>,
    pub(crate) state: State,
    pub(crate) created: i64,
    /// Seed for container IDs.
    pub(crate) seed: u64,
}

pub(crate) struct Plan {
    pub(crate) namespaces: Vec<String>,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) pods: Vec<PodPlan>,
    rng: Rng,
    deployment_pods: usize,
    /// Of pods whose names end at random, as thousands of them would else meet by chance.
    names: HashSet<String>,
}

impl Plan {
    pub(crate) fn new(options: &SampleOptions) -> Self {
        let mut plan = Self {
            namespaces: namespaces(options.namespaces),
            nodes: Vec::new(),
            workloads: Vec::new(),
            pods: Vec::with_capacity(options.pods),
            rng: random("sample", options.seed),
            deployment_pods: 0,
            names: HashSet::new(),
        };
        plan.add_nodes(options.nodes.max(1));
        let nodes = plan.nodes.len();
        // Daemons take at most 15 of 100 pods; a cluster with two pods a node has at least one.
        let daemons = (options.pods * 15 / 100 / nodes).clamp(usize::from(options.pods >= 2 * nodes), 3);
        for name in ["node-agent", "log-shipper", "net-plugin"].into_iter().take(daemons) {
            plan.add_workload(WorkloadKind::DaemonSet, name.to_owned(), SYSTEM.to_owned(), nodes);
        }
        let statics = plan.nodes.iter().filter(|node| node.control_plane).count();
        if options.pods >= 30 {
            plan.add_workload(WorkloadKind::Static, "kube-apiserver".to_owned(), SYSTEM.to_owned(), statics);
        }
        let (stateful, jobs, bare) = (options.pods / 10, options.pods.div_ceil(20), options.pods / 200);
        // Ordinals of one digit only, as templates need it.
        plan.add_many(stateful, 3..10, |_| WorkloadKind::StatefulSet, "store");
        plan.add_many(jobs, 1..4, Self::job, "task");
        plan.add_many(bare, 1..2, |_| WorkloadKind::Bare, "debug");
        let rest = options.pods.saturating_sub(plan.pods.len());
        plan.add_many(rest, 1..60, Self::deployment, "");
        plan
    }

    pub(crate) fn pods_of(&self, workload: &Workload) -> &[PodPlan] {
        &self.pods[workload.pods.clone()]
    }

    fn add_nodes(&mut self, count: usize) {
        let control_planes = if count > 5 { 3 } else { 1 };
        for index in 0..count {
            let created = NOW - self.rng.i64(30 * DAY..200 * DAY);
            self.nodes.push(NodePlan {
                // Of fixed length, as templates need it.
                name: format!("node-{index:05}"),
                uid: uuid(&mut self.rng),
                ip: format!("192.168.{}.{}", 100 + index / 156 % 156, 100 + index % 156),
                zone: char::from(b'a' + (index % 3) as u8),
                control_plane: index < control_planes,
                // One of a hundred is down, and in clusters of ten and more the last.
                ready: if count < 100 { count < 10 || index != count - 1 } else { index % 100 != 99 },
                created,
            });
        }
    }

    fn add_many(
        &mut self,
        mut pods: usize,
        sizes: Range<usize>,
        mut kind: impl FnMut(&mut Self) -> WorkloadKind,
        suffix: &str,
    ) {
        let system = self.namespaces.iter().position(|name| name == NODE_LEASES).unwrap_or_default();
        while pods > 0 {
            // Many small ones, few large ones.
            let size = self.rng.usize(sizes.clone()).min(self.rng.usize(sizes.clone())).clamp(1, pods);
            let index = self.workloads.len();
            let noun = NOUNS[self.rng.usize(..NOUNS.len())];
            let role = if suffix.is_empty() { ROLES[self.rng.usize(..ROLES.len())] } else { suffix };
            let namespace = self.namespaces[self.rng.usize(system + 1..self.namespaces.len())].clone();
            let kind = kind(self);
            self.add_workload(kind, format!("{noun}-{role}-{index}"), namespace, size);
            pods -= size;
        }
    }

    fn add_workload(&mut self, mut kind: WorkloadKind, name: String, namespace: String, size: usize) {
        if let WorkloadKind::Deployment { replica_set, hash, .. } = &mut kind {
            *replica_set = format!("{name}-{hash}");
        }
        if let WorkloadKind::Job { cron_job: Some((cron_job, _)), .. } = &mut kind {
            *cron_job = name.rsplit_once('-').map_or_else(|| name.clone(), |(stem, _)| stem.to_owned());
        }
        let team = TEAMS.iter().find(|team| namespace.starts_with(**team)).copied().unwrap_or("platform");
        let start = self.pods.len();
        let uid = uuid(&mut self.rng);
        let created = NOW - self.rng.i64(DAY..30 * DAY);
        let style = self.rng.u64(..);
        for ordinal in 0..size {
            let pod = self.pod(&kind, &name, ordinal, created);
            self.pods.push(pod);
        }
        let pods = start..self.pods.len();
        self.workloads.push(Workload { kind, name, namespace, team, uid, created, style, pods });
    }

    fn pod(&mut self, kind: &WorkloadKind, workload: &str, ordinal: usize, created: i64) -> PodPlan {
        let state = match kind {
            WorkloadKind::Deployment { .. } => self.deployment_state(),
            WorkloadKind::Job { outcome, .. } => *outcome,
            _ => State::Running,
        };
        let index = self.pods.len();
        let node = match kind {
            WorkloadKind::DaemonSet | WorkloadKind::Static => ordinal,
            // Not on the control planes, where there are other nodes.
            _ => self.rng.usize(
                self.nodes.iter().filter(|node| node.control_plane).count() % self.nodes.len()..self.nodes.len(),
            ),
        };
        let state = if state == State::Running && !self.nodes[node].ready { State::Unknown } else { state };
        let name = match kind {
            WorkloadKind::Deployment { replica_set, .. } => self.free_name(replica_set),
            WorkloadKind::DaemonSet | WorkloadKind::Job { .. } => self.free_name(workload),
            WorkloadKind::StatefulSet => format!("{workload}-{ordinal}"),
            WorkloadKind::Static => format!("{workload}-{}", self.nodes[node].name),
            WorkloadKind::Bare => workload.to_owned(),
        };
        PodPlan {
            name,
            uid: uuid(&mut self.rng),
            // Octets of three digits: of fixed length, and no two pods share one.
            ip: format!("10.{}.{}.{}", 100 + index / 24_336 % 156, 100 + index / 156 % 156, 100 + index % 156),
            node: (state != State::Unscheduled).then_some(node),
            state,
            created: self.rng.i64(created..NOW - 3600),
            seed: self.rng.u64(..),
        }
    }

    fn deployment_state(&mut self) -> State {
        let index = self.deployment_pods;
        self.deployment_pods += 1;
        if let Some((_, state)) = EARLY.iter().find(|(at, _)| *at == index) {
            return *state;
        }
        match self.rng.u32(..1000) {
            0..15 => State::Restarted,
            15..25 => State::NotReady,
            25..35 => State::CrashLoop,
            35..40 => State::ImagePull,
            40..45 => State::Creating,
            45..55 => State::Unscheduled,
            55..58 => State::Initializing,
            58..61 => State::Evicted,
            61..64 => State::Terminating,
            _ => State::Running,
        }
    }

    fn deployment(&mut self) -> WorkloadKind {
        let hash = (0..9).map(|_| self.letter()).collect();
        WorkloadKind::Deployment { replica_set: String::new(), replica_set_uid: uuid(&mut self.rng), hash }
    }

    fn job(&mut self) -> WorkloadKind {
        let outcome = match self.rng.u32(..10) {
            0..6 => State::Succeeded,
            6..8 => State::Failed,
            _ => State::Running,
        };
        let cron_job = self.rng.bool().then(|| (String::new(), uuid(&mut self.rng)));
        WorkloadKind::Job { outcome, cron_job }
    }

    /// A name that no pod has yet.
    fn free_name(&mut self, stem: &str) -> String {
        loop {
            let name = format!("{stem}-{}", self.suffix());
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }

    fn suffix(&mut self) -> String {
        (0..5).map(|_| self.letter()).collect()
    }

    fn letter(&mut self) -> char {
        char::from(SUFFIX_ALPHABET[self.rng.usize(..SUFFIX_ALPHABET.len())])
    }
}

fn namespaces(count: usize) -> Vec<String> {
    let mut namespaces: Vec<_> = ["default", SYSTEM, NODE_LEASES].map(str::to_owned).into();
    for index in 0..count.max(4) - 3 {
        namespaces.push(match index / TEAMS.len() {
            0 => TEAMS[index].to_owned(),
            round => format!("{}-{round}", TEAMS[index % TEAMS.len()]),
        });
    }
    namespaces
}

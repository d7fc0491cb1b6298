//! Pods by the stamp: one encoded pod of a workload and state, and the places where its siblings differ.
//!
//! All differing values have a fixed length on the wire, so that a sibling is a copy with some bytes overwritten.

use std::collections::HashMap;

use super::{
    plan::{Plan, PodPlan, State, Workload, WorkloadKind},
    pod_status::TIMES,
    pods::{self, CONTAINER_IDS, Identity},
};
use crate::codec::wire;

/// Letters of a generated name's suffix.
const SUFFIX: usize = 5;
/// Stands for the creation time; not a moment that any pod would have.
const MARK: i64 = 1_111_111_111;

#[derive(Debug, Clone, Copy)]
enum Hole {
    Suffix,
    /// The last digit of the name.
    Ordinal,
    Uid,
    Node,
    HostIp,
    PodIp,
    ContainerId(usize),
    /// Seconds after creation.
    Time(i64),
}

/// A workload's pods without status, by whether they have a node and whether they are terminating.
#[derive(Default)]
pub(super) struct Bases(HashMap<(bool, bool), Vec<u8>>);

impl Bases {
    fn encode(&mut self, workload: &Workload, identity: &Identity) -> Vec<u8> {
        let key = (identity.node.is_some(), identity.state == State::Terminating);
        let base = self.0.entry(key).or_insert_with(|| pods::encode_without_status(workload, identity));
        pods::with_status(base, workload, identity)
    }
}

pub(super) struct Template {
    bytes: Vec<u8>,
    holes: Vec<(usize, Hole)>,
}

impl Template {
    /// Encodes a pod of the workload in the state of one of its pods, with marks where the pods differ.
    pub(super) fn new(plan: &Plan, workload: &Workload, pod: &PodPlan, bases: &mut Bases) -> Self {
        let mut identity = Identity::of(plan, pod);
        let mut marks = Vec::new();
        let mut mark = |hole, text: String| {
            marks.push((text.clone().into_bytes(), hole));
            text
        };
        let ordinal = workload.kind == WorkloadKind::StatefulSet;
        if ordinal {
            identity.name = format!("{}-0", workload.name);
        } else {
            let stem = &pod.name[..pod.name.len() - SUFFIX];
            identity.name = format!("{stem}{}", mark(Hole::Suffix, "~SFX~".to_owned()));
        }
        identity.uid = mark(Hole::Uid, format!("{:~<36}", "~UID"));
        identity.node = identity.node.map(|_| mark(Hole::Node, format!("{:~<10}", "~NODE")));
        identity.host_ip = mark(Hole::HostIp, format!("{:~<15}", "~HOSTIP"));
        identity.pod_ip = mark(Hole::PodIp, format!("{:~<14}", "~PODIP"));
        identity.container_ids =
            std::array::from_fn(|index| mark(Hole::ContainerId(index), format!("{:~<64}", format!("~CID{index}"))));
        identity.created = MARK;
        marks.extend(TIMES.iter().map(|delay| (time(MARK + delay), Hole::Time(*delay))));
        let bytes = bases.encode(workload, &identity);
        let mut holes = Vec::new();
        let mut offset = 0;
        while offset < bytes.len() {
            // Marks begin with a tilde or with the tag of a number.
            let found = matches!(bytes[offset], b'~' | 0x08)
                .then(|| marks.iter().find(|(mark, _)| bytes[offset..].starts_with(mark)))
                .flatten();
            if let Some((mark, hole)) = found {
                holes.push((offset, *hole));
                offset += mark.len();
            } else {
                offset += 1;
            }
        }
        if ordinal {
            // A digit is too short for a mark: it is where a sibling differs.
            identity.name = format!("{}-1", workload.name);
            let sibling = pods::encode(workload, &identity);
            let differs = bytes.iter().zip(&sibling).enumerate().filter(|(_, (left, right))| left != right);
            holes.extend(differs.map(|(offset, _)| (offset, Hole::Ordinal)));
        }
        Self { bytes, holes }
    }

    /// The encoded pod of a plan.
    pub(super) fn stamp(&self, plan: &Plan, pod: &PodPlan) -> Vec<u8> {
        let identity = Identity::of(plan, pod);
        let mut bytes = self.bytes.clone();
        for (offset, hole) in &self.holes {
            let time;
            let value = match hole {
                Hole::Suffix => &identity.name.as_bytes()[identity.name.len() - SUFFIX..],
                Hole::Ordinal => &identity.name.as_bytes()[identity.name.len() - 1..],
                Hole::Uid => identity.uid.as_bytes(),
                Hole::Node => identity.node.as_deref().unwrap_or_default().as_bytes(),
                Hole::HostIp => identity.host_ip.as_bytes(),
                Hole::PodIp => identity.pod_ip.as_bytes(),
                Hole::ContainerId(index) => identity.container_ids[*index].as_bytes(),
                Hole::Time(delay) => {
                    time = self::time(identity.created + delay);
                    &time
                }
            };
            bytes[*offset..offset + value.len()].copy_from_slice(value);
        }
        bytes
    }
}

/// The seconds of a `metav1.Time` as encoded: of one length from 1978 to 3058.
fn time(seconds: i64) -> Vec<u8> {
    let mut out = Vec::with_capacity(6);
    wire::put_uint(&mut out, 1, seconds as u64);
    out
}

const _: () = assert!(CONTAINER_IDS < 10);

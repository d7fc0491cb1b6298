//! What goes wrong, and what changes, in a simulated cluster.

use ksm_core::autoshard::linger;
use ksm_testbed::{Fault, Verb, WatchFault};
use serde_json::json;
use tokio::time::Instant;

use super::{NOTICE, SECOND, Simulation, TERMINATION_GRACE};
use crate::control_plane::Choice;

impl Simulation {
    pub(super) fn trouble(&mut self) {
        if self.rng.u8(..100) >= 8 {
            return;
        }
        let code = [400, 401, 403, 404, 410, 422, 429, 500, 503][self.rng.usize(..9)];
        let retry_after = (code == 429 && self.rng.bool()).then(|| self.rng.u32(1..20));
        let after = self.rng.u64(..8);
        let fault = match self.rng.u8(..21) {
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
            5..=7 => Fault::Status { code, retry_after },
            8 => Fault::Watch { after, event: WatchFault::Error { code: 410 } },
            9 => Fault::Watch { after, event: WatchFault::Cut },
            10 => Fault::Watch { after, event: WatchFault::CutFrame },
            11 => Fault::Watch { after, event: WatchFault::UnknownType },
            12 => Fault::Watch { after, event: WatchFault::Garbage },
            13 => Fault::NoInitialEventsEnd,
            14 => Fault::IgnoreShardSelector,
            15 => Fault::RefuseShardSelector { code: [400, 422, 500][self.rng.usize(..3)] },
            16 => Fault::Watch { after, event: WatchFault::Stall },
            17 => Fault::StallAfterBytes { bytes: self.rng.u64(..4000) },
            18 | 19 => return self.lose_pod(),
            _ => Fault::CutAfterBytes { bytes: self.rng.u64(..4000) },
        };
        let verb = [Verb::List, Verb::StreamedList, Verb::Watch][self.rng.usize(..3)];
        let resource = if self.rng.u8(..4) == 0 { "statefulsets" } else { "configmaps" };
        if resource == "statefulsets" {
            self.unnoticed_until = self.unnoticed_until.max(self.second + NOTICE);
        }
        self.note(format!("{fault:?} on {verb:?} of {resource}"));
        let server = self.rng.usize(..self.plane.servers().len());
        let mut times = self.rng.u32(1..3);
        if matches!(fault, Fault::Status { code: 403 | 404, .. }) && resource == "configmaps" && verb != Verb::Watch {
            if std::mem::replace(&mut self.refused, true) {
                return;
            }
            times = 1;
        }
        self.plane.servers()[server].faults().add(fault.on(resource, verb, times));
    }

    /// Has a pod that is to stay crash, or be told to stop.
    fn lose_pod(&mut self) {
        let staying = self.pods.iter().filter(|(_, pod)| pod.condemned.is_none() && pod.stopping.is_none());
        let staying: Vec<u32> = staying.filter(|(_, pod)| pod.member.is_some()).map(|(&ordinal, _)| ordinal).collect();
        if staying.is_empty() {
            return;
        }
        let ordinal = staying[self.rng.usize(..staying.len())];
        if self.rng.bool() {
            self.note(format!("shard {ordinal} drained"));
            self.tell_to_stop(ordinal);
            self.pods.get_mut(&ordinal).unwrap().drained = true;
        } else {
            self.note(format!("shard {ordinal} crashes"));
            let starts = Some(Instant::now() + SECOND * self.rng.u32(1..15));
            let pod = self.pods.get_mut(&ordinal).unwrap();
            (pod.starts, pod.ready, pod.unlike) = (starts, false, 0);
            let mut member = pod.member.take().unwrap();
            self.excused.extend(member.names().iter().cloned());
        }
    }

    pub(super) fn tell_to_stop(&mut self, ordinal: u32) {
        let lingers = self.overlap.is_some();
        let pod = self.pods.get_mut(&ordinal).unwrap();
        let shares = pod.member.as_ref().map(|member| member.shares.clone());
        let lingering = tokio::spawn(async move {
            let shares = shares?;
            if lingers {
                linger(&shares).await;
            }
            shares.status().place
        });
        pod.stopping = Some((Instant::now() + TERMINATION_GRACE, lingering));
    }

    pub(super) fn churn(&mut self) {
        for _ in 0..self.rng.u8(..4) {
            let passing = self.objects.keys().filter(|name| !self.stable.contains(*name));
            let passing: Vec<String> = passing.cloned().collect();
            match self.rng.u8(..3) {
                0 => self.make_object(),
                1 if !passing.is_empty() => {
                    let name = &passing[self.rng.usize(..passing.len())];
                    self.cluster.delete("configmaps", "team-a", name).unwrap();
                    self.objects.remove(name);
                }
                _ => {
                    let all: Vec<&String> = self.objects.keys().collect();
                    let name = all[self.rng.usize(..all.len())].clone();
                    let mut object = self.cluster.get("configmaps", "team-a", &name).unwrap().unwrap();
                    // The sample shows when an object was made, so that this changes its text.
                    object["metadata"]["creationTimestamp"] = self.now().into();
                    self.cluster.apply(object).unwrap();
                    self.objects.insert(name, self.second % 3600);
                }
            }
        }
    }

    /// The time as objects have it, which starts anew every hour.
    fn now(&self) -> String {
        format!("2026-01-01T00:{:02}:{:02}Z", self.second / 60 % 60, self.second % 60)
    }

    pub(super) fn make_object(&mut self) {
        self.made += 1;
        let name = format!("cm-{}", self.made);
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "team-a", "name": name, "creationTimestamp": self.now()},
        });
        if self.rng.u8(..16) == 0 {
            // Nobody says that UIDs are UUIDs.
            object["metadata"]["uid"] = json!(format!("made-{}", self.made));
        }
        self.cluster.apply(object).unwrap();
        self.objects.insert(name, self.second % 3600);
    }
}

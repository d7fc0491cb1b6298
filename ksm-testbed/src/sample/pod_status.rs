//! Statuses of pods: phase, conditions and containers in each state.

use serde_json::{Value, json};

use super::{
    plan::{State, Workload},
    pods::{Identity, Shape, image},
};

// Seconds from a pod's creation to what happens to it.
pub(super) const CREATED: i64 = 0;
pub(super) const SCHEDULED: i64 = 1;
pub(super) const INITIALIZED: i64 = 3;
pub(super) const STARTED: i64 = 4;
pub(super) const READY: i64 = 12;
pub(super) const ENDED: i64 = 600;
pub(super) const CRASHED: i64 = 900;
pub(super) const BACK: i64 = 930;
pub(super) const DELETED: i64 = 3000;
/// All of the above.
pub(super) const TIMES: &[i64] = &[CREATED, SCHEDULED, INITIALIZED, STARTED, READY, ENDED, CRASHED, BACK, DELETED];

/// The status of a pod in its state.
pub(super) fn status(workload: &Workload, identity: &Identity) -> Value {
    let shape = Shape::of(workload);
    let state = identity.state;
    let phase = match state {
        State::Unscheduled | State::Creating | State::Initializing | State::ImagePull => "Pending",
        State::Succeeded => "Succeeded",
        State::Failed | State::Evicted => "Failed",
        State::Unknown => "Unknown",
        _ => "Running",
    };
    let mut status = json!({"phase": phase, "qosClass": "Burstable"});
    status["conditions"] = conditions(identity);
    if state == State::Unscheduled {
        return status;
    }
    status["hostIP"] = identity.host_ip.as_str().into();
    status["hostIPs"] = json!([{"ip": identity.host_ip}]);
    status["startTime"] = identity.at(SCHEDULED).into();
    if state == State::Evicted {
        status["reason"] = "Evicted".into();
        status["message"] = "The node was low on resource: memory.".into();
        return status;
    }
    if state == State::Unknown {
        status["reason"] = "NodeLost".into();
        status["message"] = "Node which was running pod is unresponsive".into();
    }
    if !matches!(state, State::Creating | State::ImagePull) {
        status["podIP"] = identity.pod_ip.as_str().into();
        status["podIPs"] = json!([{"ip": identity.pod_ip}]);
    }
    if (workload.style / 3000).is_multiple_of(25) {
        let claim = format!("{}-accelerator", identity.name);
        status["resourceClaimStatuses"] = json!([{"name": "accelerator", "resourceClaimName": claim}]);
    }
    let inits = shape.init_names().count();
    let init: Vec<_> =
        shape.init_names().enumerate().map(|(i, name)| init_status(workload, identity, i, name)).collect();
    if !init.is_empty() {
        status["initContainerStatuses"] = init.into();
    }
    let main = |(index, name)| container_status(workload, identity, inits + index, name);
    status["containerStatuses"] = shape.names().enumerate().map(main).collect::<Vec<_>>().into();
    status
}

fn conditions(identity: &Identity) -> Value {
    let state = identity.state;
    let condition = |kind: &str, on: bool, delay: i64, reason: &str| {
        let mut condition = json!({"type": kind, "status": if on { "True" } else { "False" },
            "lastProbeTime": null, "lastTransitionTime": identity.at(delay), "observedGeneration": 1});
        if !reason.is_empty() {
            condition["reason"] = reason.into();
            condition["message"] = format!("{kind}: {reason}").into();
        }
        condition
    };
    if state == State::Unscheduled {
        return json!([condition("PodScheduled", false, SCHEDULED, "Unschedulable")]);
    }
    let up = matches!(state, State::Running | State::Restarted | State::Terminating | State::Unknown);
    let initialized = !matches!(state, State::Initializing);
    let started = !matches!(state, State::Initializing | State::Creating | State::ImagePull | State::Evicted);
    let (delay, reason) = match state {
        State::Succeeded => (ENDED, "PodCompleted"),
        State::Failed => (ENDED, "PodFailed"),
        State::Restarted => (BACK, ""),
        State::CrashLoop | State::NotReady => (CRASHED, "ContainersNotReady"),
        _ if up => (READY, ""),
        _ => (SCHEDULED, "ContainersNotReady"),
    };
    let mut conditions = vec![
        condition("PodReadyToStartContainers", started, STARTED, ""),
        condition("Initialized", initialized, INITIALIZED, if initialized { "" } else { "ContainersNotInitialized" }),
        condition("Ready", up, delay, reason),
        condition("ContainersReady", up, delay, reason),
        condition("PodScheduled", true, SCHEDULED, ""),
    ];
    if state == State::Evicted {
        conditions.push(condition("DisruptionTarget", true, DELETED, "TerminationByKubelet"));
    }
    conditions.into()
}

fn init_status(workload: &Workload, identity: &Identity, index: usize, name: &str) -> Value {
    let sidecar = name == "mesh-proxy";
    let waiting = matches!(identity.state, State::Creating | State::ImagePull);
    let running = !waiting && (sidecar || identity.state == State::Initializing);
    let state = match (waiting, running) {
        (true, _) => json!({"waiting": {"reason": "PodInitializing"}}),
        (_, true) => json!({"running": {"startedAt": identity.at(SCHEDULED)}}),
        _ => terminated(identity, index, 0, "Completed", (SCHEDULED, INITIALIZED)),
    };
    let mut status = base_status(workload, identity, index, name, state, !waiting && (!running || sidecar), 0);
    if identity.state == State::Initializing && !sidecar {
        status["restartCount"] = 1.into();
        status["lastState"] = terminated(identity, index, 2, "Error", (SCHEDULED, INITIALIZED));
    }
    status
}

fn container_status(workload: &Workload, identity: &Identity, index: usize, name: &str) -> Value {
    let main = name == "main";
    let running = |delay| json!({"running": {"startedAt": identity.at(delay)}});
    let waiting =
        |reason: &str| json!({"waiting": {"reason": reason, "message": format!("container {name}: {reason}")}});
    let ended = |code, reason, times| terminated(identity, index, code, reason, times);
    let (state, ready, restarts, last) = match identity.state {
        State::Running | State::Terminating | State::Unknown => (running(STARTED), true, 0, None),
        State::NotReady => (running(STARTED), !main, 0, None),
        State::Restarted if main => {
            (running(BACK), true, 1 + workload.style % 7, Some(ended(137, "OOMKilled", (STARTED, CRASHED))))
        }
        State::CrashLoop if main => {
            let restarts = 3 + workload.style % 40;
            (waiting("CrashLoopBackOff"), false, restarts, Some(ended(1, "Error", (STARTED, CRASHED))))
        }
        State::Restarted | State::CrashLoop => (running(STARTED), true, 0, None),
        State::ImagePull if main => (waiting("ImagePullBackOff"), false, 0, None),
        State::ImagePull | State::Creating | State::Unscheduled | State::Evicted => {
            (waiting("ContainerCreating"), false, 0, None)
        }
        State::Initializing => (waiting("PodInitializing"), false, 0, None),
        State::Succeeded => (ended(0, "Completed", (STARTED, ENDED)), false, 0, None),
        State::Failed => (
            ended(if main { 3 } else { 0 }, if main { "Error" } else { "Completed" }, (STARTED, ENDED)),
            false,
            0,
            None,
        ),
    };
    let mut status = base_status(workload, identity, index, name, state, ready, restarts);
    status["lastState"] = last.unwrap_or_else(|| json!({}));
    status
}

fn base_status(
    workload: &Workload,
    identity: &Identity,
    index: usize,
    name: &str,
    state: Value,
    ready: bool,
    restarts: u64,
) -> Value {
    let image = image(workload, name);
    let created = state["waiting"].is_null();
    let mut status = json!({
        "name": name,
        "image": image,
        "imageID": "",
        "restartCount": restarts,
        "ready": ready,
        "started": !state["running"].is_null(),
        "state": state,
        "lastState": {},
    });
    if created {
        let repository = image.split(':').next().unwrap_or_default();
        status["imageID"] =
            format!("{repository}@sha256:{:064x}", u128::from(workload.style) << 40 | name.len() as u128).into();
        status["containerID"] = format!("containerd://{}", identity.container_ids[index]).into();
    }
    status
}

fn terminated(identity: &Identity, index: usize, code: i32, reason: &str, (start, end): (i64, i64)) -> Value {
    json!({"terminated": {
        "exitCode": code, "reason": reason, "startedAt": identity.at(start), "finishedAt": identity.at(end),
        "containerID": format!("containerd://{}", identity.container_ids[index]),
    }})
}

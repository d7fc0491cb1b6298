//! Hand-made pods whose status is what matters: phases, reasons, conditions, container states, addresses.
//!
//! Invariant: one pod a case, named after it.

use serde_json::{Value, json};

use super::pods::{container, pod};
use super::{Object, condition, time};

/// All of them.
pub fn objects() -> Vec<Object> {
    [phases(), reasons(), conditions(), disruptions(), waiting(), terminated(), mixed(), addresses()]
        .into_iter()
        .flatten()
        .collect()
}

fn phases() -> Vec<Object> {
    let phase = |name: &str, status: Value| pod(&format!("phase-{name}"), json!({})).status(status);
    vec![
        pod("phase-untouched", json!({})),
        phase("pending", json!({"phase": "Pending", "startTime": time(1)})),
        phase("running", json!({"phase": "Running", "startTime": time(2), "qosClass": "BestEffort"})),
        phase("succeeded", json!({"phase": "Succeeded", "startTime": time(3)})),
        phase("failed", json!({"phase": "Failed"})),
        phase("unknown", json!({"phase": "Unknown"})),
        phase("nominated", json!({"phase": "Pending", "observedGeneration": 1})),
    ]
}

/// The reason of the whole pod, known and unknown ones.
fn reasons() -> Vec<Object> {
    let words = [
        "Evicted",
        "NodeAffinity",
        "NodeLost",
        "Shutdown",
        "UnexpectedAdmissionError",
        "SchedulingGated",
        "TerminationByKubelet",
        "PreemptionByScheduler",
        "OutOfcpu",
        "evicted",
    ];
    let failed = |(n, reason): (usize, &str)| {
        pod(&format!("reason-{n}"), json!({}))
            .status(json!({"phase": "Failed", "reason": reason, "message": "not shown"}))
    };
    words.into_iter().enumerate().map(failed).collect()
}

fn conditions() -> Vec<Object> {
    let with = |name: &str, spec: Value, conditions: Value| pod(name, spec).status(json!({"conditions": conditions}));
    vec![
        with(
            "cond-ready",
            json!({}),
            json!([
                condition("PodReadyToStartContainers", "True", "", 0),
                condition("Initialized", "True", "", 1),
                condition("Ready", "True", "", 4),
                condition("ContainersReady", "True", "", 3),
                condition("PodScheduled", "True", "", 0),
            ]),
        ),
        with(
            "cond-not-ready",
            json!({}),
            json!([
                condition("Initialized", "False", "ContainersNotInitialized", 1),
                condition("Ready", "False", "ContainersNotReady", 2),
                condition("ContainersReady", "False", "ContainersNotReady", 2),
                condition("PodScheduled", "True", "", 0),
            ]),
        ),
        with(
            "cond-unknown",
            json!({}),
            json!([
                condition("Ready", "Unknown", "", 5),
                condition("PodScheduled", "Unknown", "", 5),
                condition("ContainersReady", "Unknown", "", 5),
                condition("Initialized", "Unknown", "", 5),
            ]),
        ),
        with(
            "cond-unschedulable",
            json!({"nodeName": null}),
            json!([condition("PodScheduled", "False", "Unschedulable", 7)]),
        ),
        with(
            "cond-gated",
            json!({"nodeName": null, "schedulingGates": [{"name": "example.com/gate"}]}),
            json!([condition("PodScheduled", "False", "SchedulingGated", 8),]),
        ),
        with(
            "cond-scheduler-error",
            json!({"nodeName": null}),
            json!([condition("PodScheduled", "False", "SchedulerError", 9)]),
        ),
        with(
            "cond-own-gate",
            json!({"readinessGates": [{"conditionType": "example.com/lb"}]}),
            json!([
                condition("example.com/lb", "True", "Attached", 9),
                condition("Ready", "False", "ReadinessGatesNotReady", 9),
            ]),
        ),
    ]
}

fn disruptions() -> Vec<Object> {
    let words = [
        ("True", "DeletionByPodGC"),
        ("True", "DeletionByTaintManager"),
        ("True", "EvictionByEvictionAPI"),
        ("True", "PreemptionByScheduler"),
        ("True", "TerminationByKubelet"),
        ("True", "SomethingElse"),
        ("False", "EvictionByEvictionAPI"),
    ];
    let target = |(n, (status, reason)): (usize, (&str, &str))| {
        let conditions = json!([condition("DisruptionTarget", status, reason, 70)]);
        pod(&format!("disruption-{n}"), json!({})).status(json!({"phase": "Failed", "conditions": conditions}))
    };
    words.into_iter().enumerate().map(target).collect()
}

/// The status of a container.
fn container_status(name: &str, ready: bool, restarts: u32, state: Value, last: Value) -> Value {
    json!({
        "name": name, "image": format!("registry.example.test/{name}:1"),
        "imageID": format!("registry.example.test/{name}@sha256:0123456789abcdef"),
        "containerID": format!("containerd://{name}-{restarts}"),
        "ready": ready, "restartCount": restarts, "state": state, "lastState": last,
    })
}

fn waiting() -> Vec<Object> {
    let words = [
        "ContainerCreating",
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "PodInitializing",
        "AReasonOfItsOwn",
        "",
    ];
    let pods = words.into_iter().enumerate().map(|(n, reason)| {
        let status = container_status("main", false, 0, json!({"waiting": {"reason": reason}}), json!({}));
        pod(&format!("waiting-{n}"), json!({})).status(json!({"phase": "Pending", "containerStatuses": [status]}))
    });
    pods.collect()
}

fn terminated() -> Vec<Object> {
    let words = [
        ("OOMKilled", 137),
        ("Completed", 0),
        ("Error", 1),
        ("ContainerCannotRun", 128),
        ("DeadlineExceeded", 143),
        ("Evicted", 2),
        ("AReasonOfItsOwn", 255),
        ("", 3),
    ];
    let ended = |reason: &str, code: i32, from: u32| {
        json!({"terminated": {
            "exitCode": code, "signal": code.max(128) - 128, "reason": reason,
            "startedAt": time(from), "finishedAt": time(from + 30),
        }})
    };
    let mut objects = Vec::new();
    for (n, (reason, code)) in words.into_iter().enumerate() {
        let status = container_status("main", false, 1, ended(reason, code, 100), json!({}));
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        objects.push(
            pod(&format!("terminated-{n}"), json!({"restartPolicy": "Never"}))
                .status(json!({"phase": phase, "containerStatuses": [status]})),
        );
        let running = json!({"running": {"startedAt": time(200)}});
        let restarted = container_status("main", true, 4, running, ended(reason, code, 150));
        objects.push(
            pod(&format!("restarted-{n}"), json!({}))
                .status(json!({"phase": "Running", "containerStatuses": [restarted]})),
        );
    }
    objects
}

fn mixed() -> Vec<Object> {
    let three = json!({"restartPolicy": "Never", "containers": [
        container("first", json!({})), container("second", json!({})), container("third", json!({})),
    ]});
    let at = |start: u32, finish: u32| json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": time(start), "finishedAt": time(finish)}});
    vec![
        // The pod is complete when its last container is.
        pod("mixed-complete", three.clone()).status(json!({"phase": "Succeeded", "containerStatuses": [
            container_status("first", false, 0, at(10, 400), json!({})),
            container_status("second", false, 0, at(10, 900), json!({})),
            container_status("third", false, 0, at(10, 20), json!({})),
        ]})),
        pod("mixed-states", three.clone()).status(json!({"phase": "Running", "containerStatuses": [
            container_status("first", true, 0, json!({"running": {"startedAt": time(10)}}), json!({})),
            container_status("second", false, 3, json!({"waiting": {"reason": "CrashLoopBackOff"}}), at(1, 2)),
            container_status("third", false, 0, at(1, 2), json!({})),
        ]})),
        // Fewer statuses than containers, one of them unknown to the spec, one without any state.
        pod("mixed-stray", three).status(json!({"phase": "Running", "containerStatuses": [
            {"name": "second", "image": "", "imageID": "", "ready": false, "restartCount": 0},
            container_status("not-in-spec", true, 1_000_000, json!({"running": {"startedAt": time(77)}}), json!({})),
        ]})),
        pod("mixed-negative-code", json!({"restartPolicy": "Never"})).status(json!({
            "phase": "Failed",
            "containerStatuses": [container_status(
                "main", false, 0,
                json!({"terminated": {"exitCode": -1, "startedAt": time(1), "finishedAt": time(2)}}),
                json!({"terminated": {"exitCode": -1, "startedAt": time(0), "finishedAt": time(1)}}),
            )],
        })),
    ]
}

fn addresses() -> Vec<Object> {
    let with = |name: &str, status: Value| pod(name, json!({})).status(status);
    vec![
        with("ip-four", json!({"hostIP": "192.0.2.1", "podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}]})),
        with(
            "ip-dual",
            json!({
                "hostIP": "192.0.2.1", "hostIPs": [{"ip": "192.0.2.1"}, {"ip": "fd00::1"}],
                "podIP": "10.0.0.8", "podIPs": [{"ip": "10.0.0.8"}, {"ip": "fd00::8"}],
            }),
        ),
        with("ip-six", json!({"hostIP": "fd00::1", "podIP": "fd00::9", "podIPs": [{"ip": "fd00::9"}]})),
        with("ip-host-only", json!({"hostIP": "192.0.2.3"})),
    ]
}

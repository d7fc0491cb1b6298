//! What a field-by-field walk cannot know: fields that only mean something together, and combinations that crash the
//! exporter that ours is compared with.
//!
//! Fields are brought together most of the time only, so that the loose ends of the walk stay in view.

use serde_json::{Value, json};

use super::{values::pick, walk::Walk};

/// Makes sense of an object of that kind.
pub(super) fn make(kind: &str, object: &mut Value, walk: &mut Walk) {
    match kind {
        "Pod" => pod(object, walk),
        "CronJob" => cron_job(object, walk),
        "Deployment" => deployment(object, walk),
        "Ingress" => ingress(object, walk),
        "HorizontalPodAutoscaler" => autoscaler(object, walk),
        _ => {}
    }
}

/// Statuses are about containers that are there, each in one state.
fn pod(pod: &mut Value, walk: &mut Walk) {
    for (containers, statuses, prefix) in [
        ("/spec/containers", "/status/containerStatuses", "c"),
        ("/spec/initContainers", "/status/initContainerStatuses", "i"),
    ] {
        for (index, container) in list(pod, containers).iter_mut().enumerate() {
            if walk.chance(0.85) {
                container["name"] = format!("{prefix}{index}").into();
            }
        }
        for (index, status) in list(pod, statuses).iter_mut().enumerate() {
            if walk.chance(0.85) {
                status["name"] = format!("{prefix}{index}").into();
            }
            for state in ["state", "lastState"] {
                if let Some(state) = status.get_mut(state).filter(|_| walk.chance(0.8)) {
                    keep_one(state, walk);
                }
            }
        }
        // A second status of one container, first of all and without a time.
        let all = pod.pointer_mut(statuses).and_then(Value::as_array_mut).filter(|all| !all.is_empty());
        if let Some(all) = all.filter(|_| walk.chance(0.05)) {
            let mut twin = all[0].clone();
            twin["state"] = json!({"running": {"startedAt": "0001-01-01T00:00:00Z"}});
            all.insert(0, twin);
        }
    }
}

/// Schedules with a zone and a time just before something happens: clocks skip or repeat an hour, a week ends. None
/// about a whole day that a zone skips, as Pacific/Apia did in December 2011: the other exporter looks for it for ever.
const TELLING_TIMES: &[(&str, &str, &str)] = &[
    ("0 0 * * 1/2", "UTC", "2026-03-07T12:00:00Z"),
    ("30 2 * * *", "America/New_York", "2026-03-08T06:59:59Z"),
    ("30 1 * * *", "Europe/London", "2026-03-29T00:59:59Z"),
    ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T15:00:00Z"),
    ("0 2 * * *", "Europe/Berlin", "2026-03-29T00:30:00Z"),
    ("*/20 * * * *", "Europe/Berlin", "2026-03-29T00:50:00Z"),
    ("0 * * * *", "America/New_York", "2026-03-08T06:59:59Z"),
    ("0 0 * * *", "America/Sao_Paulo", "2018-11-04T02:00:00Z"),
    ("30 1 * * *", "America/New_York", "2026-11-01T05:30:00Z"),
    ("30 1 * * *", "Europe/London", "2026-10-25T00:30:00Z"),
    ("*/20 * * * *", "Europe/London", "2026-10-25T00:50:00Z"),
];

/// Now and then something happens just before the next run.
fn cron_job(cron_job: &mut Value, walk: &mut Walk) {
    if cron_job["spec"].is_object() && cron_job["status"].is_object() && walk.chance(0.15) {
        let (schedule, zone, last) = pick(walk.random(), TELLING_TIMES);
        cron_job["spec"]["schedule"] = schedule.into();
        cron_job["spec"]["timeZone"] = zone.into();
        cron_job["status"]["lastScheduleTime"] = last.into();
    }
}

/// A rolling update is a share of replicas.
fn deployment(deployment: &mut Value, walk: &mut Walk) {
    if let Some(spec) = deployment.get_mut("spec").filter(|_| walk.chance(0.8)) {
        spec["replicas"] = json!(pick(walk.random(), &[0, 1, 3, 10, 33, i32::MAX]));
    }
}

/// A path of an Ingress with neither kind of backend crashes the other exporter.
fn ingress(ingress: &mut Value, walk: &mut Walk) {
    for rule in list(ingress, "/spec/rules") {
        for path in list(rule, "/http/paths") {
            if !path["backend"]["service"].is_object() && !path["backend"]["resource"].is_object() {
                let key = if walk.chance(0.5) { "service" } else { "resource" };
                let value = walk.at(&format!("spec.rules.http.paths.backend.{key}"));
                path["backend"][key] = value.expect("a backend has both fields");
            }
        }
    }
}

/// Types of metrics, and the source that goes with each.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
    ("External", "external"),
];

/// In the spec, a known type without its source crashes the other exporter; in the status it may be missing.
fn autoscaler(autoscaler: &mut Value, walk: &mut Walk) {
    for (metrics, share) in [("spec.metrics", 1.0), ("status.currentMetrics", 0.7)] {
        for metric in list(autoscaler, &format!("/{}", metrics.replace('.', "/"))) {
            let Some((_, source)) = SOURCES.iter().find(|(name, _)| metric["type"] == *name) else { continue };
            if !metric[source].is_object() && walk.chance(share) {
                metric[source] = walk.at(&format!("{metrics}.{source}")).expect("a metric has every source");
            }
        }
    }
}

/// The items of the list at a JSON pointer; none if it is absent.
fn list<'a>(value: &'a mut Value, pointer: &str) -> &'a mut [Value] {
    value.pointer_mut(pointer).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

/// Leaves one of the fields that an object has.
fn keep_one(value: &mut Value, walk: &mut Walk) {
    let Some(object) = value.as_object_mut().filter(|object| object.len() > 1) else { return };
    let keep = walk.random().usize(..object.len());
    let mut index = 0;
    object.retain(|_, _| {
        index += 1;
        index - 1 == keep
    });
}

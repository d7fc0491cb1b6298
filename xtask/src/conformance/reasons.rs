//! Differences on purpose, each with its reason; docs/migrating.md tells users of them.
//!
//! Invariant: a reason is narrow. It names families and looks at the numbers and at the object, and explains nothing
//! that the object does not call for.

use serde_json::Value;

use super::{quantity, schedule};
use crate::compare::{Difference, Kind, same_number};

/// Why something differs.
pub struct Reason {
    /// A few words.
    pub name: &'static str,
    /// What the reference does, and why ours is the better.
    pub why: &'static str,
    /// Whether it explains a difference about an object.
    pub applies: fn(&Difference, &Value) -> bool,
}

/// Every reason; the first that applies counts.
pub static REASONS: &[Reason] = &[
    Reason {
        name: "quantities past 64 bits",
        why: "the reference counts thousandths in 64 bits and wraps around or stops at the largest; ours is the nearest \
              float64",
        applies: |difference, object| {
            is_value_of(difference, QUANTITIES) && has_quantity(object, |text| is_wide(text, difference))
        },
    },
    Reason {
        name: "last digit of long quantities",
        why: "the reference rounds to a float64 twice, before and after dividing by a thousand; ours rounds once",
        applies: |difference, _| {
            is_value_of(difference, QUANTITIES)
                && is_last_digit(difference.found.unwrap_or(f64::NAN), difference.wanted[0])
        },
    },
    Reason {
        name: "long negative quantities",
        why: "the reference rounds them toward zero and adds one, and counts billionths in 64 bits, so that some turn \
              positive; ours rounds away from zero, as the reference does with short ones",
        applies: |difference, object| {
            is_value_of(difference, QUANTITIES) && has_quantity(object, |text| is_negative(text, difference))
        },
    },
    Reason {
        name: "resource names that are equal once sanitised",
        why: "the reference writes the series once a name, in random order; ours writes the first by name",
        applies: |difference, _| is_value_of(difference, RESOURCE_MAPS) && has_another(difference),
    },
    Reason {
        name: "times that are set to zero",
        why: "the reference writes -6.21355968e+10, the year 1, which is how the API says \"not set\"; ours writes nothing",
        applies: |difference, _| {
            difference.kind == Kind::SampleMissing
                && TIMES.contains(&difference.name.as_str())
                && difference.wanted.iter().all(|time| *time == ZERO_TIME)
        },
    },
    Reason {
        name: "repeated states of which the first has no time",
        why: "the reference writes the year 1 and then the other time; ours writes the one that is set",
        applies: |difference, _| {
            is_value_of(difference, TIMES) && difference.wanted.first() == Some(&ZERO_TIME) && has_another(difference)
        },
    },
    Reason {
        name: "schedules that never come",
        why: "the reference writes -6.21355968e+10; ours writes nothing, since there is no next run",
        applies: |difference, _| {
            difference.kind == Kind::SampleMissing && difference.name == NEXT_RUN && difference.wanted == [ZERO_TIME]
        },
    },
    Reason {
        name: "schedules with days of the month and of the week",
        why: "the reference waits for a day that is both; ours takes one that is either, as the CronJob controller does",
        applies: |difference, object| {
            schedule::restricts_both_days(object) && is_next_run(difference, |found, wanted| found < wanted)
        },
    },
    Reason {
        name: "runs in the hour that the clock skips",
        why: "the reference runs right after it; ours waits for a day that has the time, as the controller does",
        applies: |difference, _| {
            is_next_run(difference, |found, wanted| found > wanted && CLOCK_CHANGES.contains(&wanted))
        },
    },
    Reason {
        name: "days of the week from one on, by steps",
        why: "the reference goes on to Sunday as the seventh day; ours ends with Saturday, as the controller does",
        applies: |difference, object| {
            schedule::steps_through_week(object) && is_next_run(difference, |found, wanted| found > wanted)
        },
    },
    Reason {
        name: "repeated series",
        why: "the reference writes one sample for each repetition in the object, which Prometheus drops with a warning; \
              ours writes the first",
        applies: |difference, _| difference.kind == Kind::WrittenOnce && REPEATED.contains(&difference.name.as_str()),
    },
];

/// 0001-01-01T00:00:00Z in seconds since the epoch.
const ZERO_TIME: f64 = -62_135_596_800.0;

/// Past this, thousandths do not fit into 64 bits.
const WIDE: f64 = 9.2e15;

/// Past this, billionths do not fit into 64 bits.
const BILLIONTHS: f64 = 9.2e9;

/// Past this, thousandths have more digits than a float64.
const LONG: f64 = 9.007e12;

/// Families with quantities.
const QUANTITIES: &[&str] = &[
    "kube_horizontalpodautoscaler_spec_behavior_scale_down_tolerance",
    "kube_horizontalpodautoscaler_spec_behavior_scale_up_tolerance",
    "kube_horizontalpodautoscaler_spec_target_metric",
    "kube_horizontalpodautoscaler_status_target_metric",
    "kube_limitrange",
    "kube_node_status_allocatable",
    "kube_node_status_capacity",
    "kube_persistentvolume_capacity_bytes",
    "kube_persistentvolumeclaim_resource_requests_storage_bytes",
    "kube_pod_container_resource_limits",
    "kube_pod_container_resource_requests",
    "kube_pod_init_container_resource_limits",
    "kube_pod_init_container_resource_requests",
    "kube_pod_overhead_cpu_cores",
    "kube_pod_overhead_memory_bytes",
    "kube_resourcequota",
];

/// Families with a sample for each entry of a map of sanitised names.
const RESOURCE_MAPS: &[&str] = &[
    "kube_node_status_allocatable",
    "kube_node_status_capacity",
    "kube_pod_container_resource_limits",
    "kube_pod_container_resource_requests",
    "kube_pod_init_container_resource_limits",
    "kube_pod_init_container_resource_requests",
];

/// Families with times that the reference writes whatever they are.
const TIMES: &[&str] = &[
    "kube_cronjob_status_last_schedule_time",
    "kube_cronjob_status_last_successful_time",
    "kube_job_status_completion_time",
    "kube_job_status_start_time",
    "kube_networkpolicy_created",
    "kube_pod_completion_time",
    "kube_pod_container_state_started",
    "kube_pod_container_status_last_terminated_timestamp",
    "kube_pod_init_container_state_started",
    "kube_pod_init_container_status_last_terminated_timestamp",
    "kube_pod_start_time",
    "kube_pod_status_container_ready_time",
    "kube_pod_status_initialized_time",
    "kube_pod_status_ready_time",
    "kube_pod_status_scheduled_time",
    "kube_pod_status_unscheduled_time",
];

/// Families with a sample for each item of a list, or of a map of sanitised names, that may say the same twice.
const REPEATED: &[&str] = &[
    "kube_deployment_owner",
    "kube_deployment_status_condition",
    "kube_endpoint_address",
    "kube_endpoint_ports",
    "kube_endpointslice_endpoints",
    "kube_endpointslice_endpoints_hints",
    "kube_endpointslice_ports",
    "kube_horizontalpodautoscaler_spec_target_metric",
    "kube_horizontalpodautoscaler_status_condition",
    "kube_horizontalpodautoscaler_status_target_metric",
    "kube_ingress_path",
    "kube_ingress_tls",
    "kube_job_complete",
    "kube_job_failed",
    "kube_job_owner",
    "kube_job_status_failed",
    "kube_job_status_suspended",
    "kube_lease_owner",
    "kube_limitrange",
    "kube_mutatingwebhookconfiguration_webhook_clientconfig_service",
    "kube_namespace_status_condition",
    "kube_node_spec_pod_cidrs",
    "kube_node_spec_taint",
    "kube_node_status_addresses",
    "kube_node_status_allocatable",
    "kube_node_status_capacity",
    "kube_node_status_condition",
    "kube_persistentvolume_access_mode",
    "kube_persistentvolumeclaim_access_mode",
    "kube_persistentvolumeclaim_status_condition",
    "kube_pod_container_info",
    "kube_pod_container_resource_limits",
    "kube_pod_container_resource_requests",
    "kube_pod_container_state_started",
    "kube_pod_container_status_last_terminated_exitcode",
    "kube_pod_container_status_last_terminated_reason",
    "kube_pod_container_status_last_terminated_timestamp",
    "kube_pod_container_status_ready",
    "kube_pod_container_status_restarts_total",
    "kube_pod_container_status_running",
    "kube_pod_container_status_terminated",
    "kube_pod_container_status_terminated_reason",
    "kube_pod_container_status_waiting",
    "kube_pod_container_status_waiting_reason",
    "kube_pod_init_container_info",
    "kube_pod_init_container_resource_limits",
    "kube_pod_init_container_resource_requests",
    "kube_pod_init_container_state_started",
    "kube_pod_init_container_status_last_terminated_exitcode",
    "kube_pod_init_container_status_last_terminated_reason",
    "kube_pod_init_container_status_last_terminated_timestamp",
    "kube_pod_init_container_status_ready",
    "kube_pod_init_container_status_restarts_total",
    "kube_pod_init_container_status_running",
    "kube_pod_init_container_status_terminated",
    "kube_pod_init_container_status_terminated_reason",
    "kube_pod_init_container_status_waiting",
    "kube_pod_init_container_status_waiting_reason",
    "kube_pod_ips",
    "kube_pod_owner",
    "kube_pod_resourceclaim_info",
    "kube_pod_spec_volumes_persistentvolumeclaims_info",
    "kube_pod_spec_volumes_persistentvolumeclaims_readonly",
    "kube_pod_status_container_ready_time",
    "kube_pod_status_disruption_reason",
    "kube_pod_status_initialized_time",
    "kube_pod_status_ready",
    "kube_pod_status_ready_time",
    "kube_pod_status_scheduled",
    "kube_pod_status_scheduled_time",
    "kube_pod_status_unschedulable",
    "kube_pod_status_unscheduled_time",
    "kube_replicaset_owner",
    "kube_replicationcontroller_owner",
    "kube_secret_owner",
    "kube_service_spec_external_ip",
    "kube_service_status_load_balancer_ingress",
    "kube_serviceaccount_image_pull_secret",
    "kube_serviceaccount_secret",
    "kube_validatingadmissionpolicybinding_validation_action",
    "kube_validatingwebhookconfiguration_webhook_clientconfig_service",
];

/// When a cron job runs next.
const NEXT_RUN: &str = "kube_cronjob_next_schedule_time";

/// When clocks go forward in the time zones of generated cron jobs: 2026-03-29T01:00Z in Europe, 2026-03-08T07:00Z in New
/// York, 2018-11-04T03:00Z in Sao Paulo.
const CLOCK_CHANGES: &[f64] = &[1_774_746_000.0, 1_772_953_200.0, 1_541_300_400.0];

/// Whether both sides know the next run, or the reference none, and what it is fits.
fn is_next_run(difference: &Difference, fits: impl Fn(f64, f64) -> bool) -> bool {
    let (Some(found), [wanted]) = (difference.found, difference.wanted.as_slice()) else { return false };
    is_value_of(difference, &[NEXT_RUN]) && (*wanted == ZERO_TIME || fits(found, *wanted))
}

fn is_value_of(difference: &Difference, families: &[&str]) -> bool {
    difference.kind == Kind::Value && families.contains(&difference.name.as_str())
}

/// Whether the number that is there is one that is expected, only not the first.
fn has_another(difference: &Difference) -> bool {
    let found = difference.found.unwrap_or(f64::NAN);
    difference.wanted.iter().skip(1).any(|wanted| same_number(*wanted, found) || is_last_digit(found, *wanted))
}

fn has_quantity(object: &Value, fits: impl Fn(f64) -> bool) -> bool {
    let mut texts = Vec::new();
    quantity::texts(object, &mut texts);
    texts.into_iter().filter_map(quantity::nearest).any(fits)
}

/// Whether the number that is there is this quantity, and it does not fit.
fn is_wide(quantity: f64, difference: &Difference) -> bool {
    quantity.abs() > WIDE && is_near(difference.found.unwrap_or(f64::NAN), quantity)
}

/// Equal but for the last digit.
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= a.abs() * 2.0 * f64::EPSILON
}

fn is_last_digit(found: f64, wanted: f64) -> bool {
    found.abs() > LONG && is_near(found, wanted)
}

/// Whether the number that is there is this negative quantity in whole units or in thousandths, and the other is what
/// the reference makes of it: rounded the wrong way, or anything once billionths do not fit.
fn is_negative(quantity: f64, difference: &Difference) -> bool {
    let (found, wanted) = (difference.found.unwrap_or(f64::NAN), difference.wanted[0]);
    let slack = quantity.abs() * 2.0 * f64::EPSILON;
    quantity < 0.0
        && [1.0, 1000.0].into_iter().any(|unit| {
            let excess = quantity - found;
            let is_found = excess >= -slack && excess < 1.0 / unit + slack;
            let exact = quantity * unit;
            let is_wrong_way = exact.fract() != 0.0 && wanted == (exact.trunc() + 1.0) / unit;
            is_found && (is_wrong_way || quantity.abs() > BILLIONTHS)
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compare::{View, compare, written_once};
    use crate::exposition::{Format, parse};

    /// The reason for the one difference between two bodies of a family about an object.
    #[track_caller]
    fn reason(family: &str, theirs: &[&str], ours: &[&str], object: &Value) -> Option<&'static str> {
        let view = |values: &[&str]| {
            let samples: String = values.iter().map(|value| format!("{family}{{a=\"b\"}} {value}\n")).collect();
            View::of([&parse(&format!("# HELP {family} x\n# TYPE {family} gauge\n{samples}"), Format::Text).unwrap()])
        };
        let (expected, actual) = (view(theirs), view(ours));
        let mut differences = compare(&expected, &actual).into_differences();
        if differences.is_empty() {
            differences = written_once(&expected, &actual);
        }
        let [difference] = differences.as_slice() else { panic!("{differences:?}") };
        REASONS.iter().find(|reason| (reason.applies)(difference, object)).map(|reason| reason.name)
    }

    #[test]
    fn reasons_are_narrow() {
        let quantity = |text: &str| json!({"spec": {"overhead": {"memory": text}}});
        let (bytes, started) = ("kube_pod_overhead_memory_bytes", "kube_pod_container_state_started");
        let schedule = |text: &str| json!({"spec": {"schedule": text}});
        let nothing = json!({});
        for (family, theirs, ours, object, expected) in [
            (bytes, &["0"][..], &["1e19"][..], quantity("1e19"), Some("quantities past 64 bits")),
            (bytes, &["0"], &["1e19"], quantity("1e18"), None),
            (bytes, &["0"], &["1e18"], quantity("1e18"), Some("quantities past 64 bits")),
            (bytes, &["0"], &["1000"], quantity("1e3"), None),
            ("kube_pod_info", &["0"], &["1e19"], quantity("1e19"), None),
            (
                bytes,
                &["9007199254740994"],
                &["9007199254740992"],
                nothing.clone(),
                Some("last digit of long quantities"),
            ),
            (bytes, &["9007199254741092"], &["9007199254740992"], nothing.clone(), None),
            (bytes, &["1001"], &["1000"], nothing.clone(), None),
            (bytes, &["0"], &["-2"], quantity("-1.5"), Some("long negative quantities")),
            (bytes, &["973"], &["-10000000001"], quantity("-10000000000.5"), Some("long negative quantities")),
            (bytes, &["973"], &["-10000000002"], quantity("-10000000000.5"), None),
            (bytes, &["973"], &["-101"], quantity("-100.5"), None),
            (bytes, &["0"], &["-1"], quantity("-1"), None),
            (bytes, &["0"], &["2"], quantity("1.5"), None),
            (started, &["-6.21355968e+10"], &[], nothing.clone(), Some("times that are set to zero")),
            (started, &["1"], &[], nothing.clone(), None),
            ("kube_pod_created", &["-6.21355968e+10"], &[], nothing.clone(), None),
            (
                started,
                &["-6.21355968e+10", "5"],
                &["5"],
                nothing.clone(),
                Some("repeated states of which the first has no time"),
            ),
            (started, &["-6.21355968e+10", "5"], &["6"], nothing.clone(), None),
            (started, &["4", "5"], &["5"], nothing.clone(), None),
            (started, &["4", "5"], &["4"], nothing.clone(), Some("repeated series")),
            ("kube_pod_info", &["4", "5"], &["4"], nothing.clone(), None),
            (NEXT_RUN, &["-6.21355968e+10"], &[], schedule("@none"), Some("schedules that never come")),
            (NEXT_RUN, &["5"], &[], schedule("@none"), None),
            (NEXT_RUN, &["5"], &["4"], schedule("0 0 1 * 1"), Some("schedules with days of the month and of the week")),
            (NEXT_RUN, &["5"], &["6"], schedule("0 0 1 * 1"), None),
            (NEXT_RUN, &["5"], &["4"], schedule("0 0 1 * *"), None),
            (
                NEXT_RUN,
                &["1774746000"],
                &["1774828800"],
                nothing.clone(),
                Some("runs in the hour that the clock skips"),
            ),
            (NEXT_RUN, &["1774746001"], &["1774828800"], nothing.clone(), None),
            (NEXT_RUN, &["5"], &["6"], schedule("0 0 * * 1/2"), Some("days of the week from one on, by steps")),
            (NEXT_RUN, &["5"], &["4"], schedule("0 0 * * 1/2"), None),
            (
                "kube_node_status_capacity",
                &["4", "5"],
                &["5"],
                nothing.clone(),
                Some("resource names that are equal once sanitised"),
            ),
        ] {
            assert_eq!(reason(family, theirs, ours, &object), expected, "{family} {theirs:?} {ours:?}");
        }
    }

    #[test]
    fn every_family_of_a_reason_is_one_that_is_served() {
        let served: Vec<&str> = ksm_core::resources::all()
            .iter()
            .flat_map(|resource| resource.families().into_iter().map(|family| family.name))
            .collect();
        let named = [QUANTITIES, RESOURCE_MAPS, TIMES, REPEATED].into_iter().flatten();
        assert_eq!(named.filter(|family| !served.contains(family)).collect::<Vec<_>>(), [&""; 0]);
    }
}

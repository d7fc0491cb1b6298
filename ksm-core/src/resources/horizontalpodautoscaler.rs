//! HorizontalPodAutoscalers (`autoscaling/v2`): families `kube_horizontalpodautoscaler_*`. Decodes metadata, the target,
//! limits, metrics of every type with their targets and current values, tolerances, counts and conditions.

use serde::Deserialize;

use super::common::{self, Condition};
use crate::family::Stability::{Experimental, Stable};
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta, Quantity};
use metric::{MetricSpec, MetricStatus, Reading};

mod metric;

pub(crate) static RESOURCE: Resource<HorizontalPodAutoscaler> = Resource {
    descriptor: Descriptor {
        plural: "horizontalpodautoscalers",
        group: "autoscaling",
        version: "v2",
        kind: "HorizontalPodAutoscaler",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("horizontalpodautoscaler")],
    families: FAMILIES,
};

const FAMILIES: &[Family<HorizontalPodAutoscaler>] = &[
    Family::gauge(
        "kube_horizontalpodautoscaler_info",
        Experimental,
        &["scaletargetref_api_version", "scaletargetref_kind", "scaletargetref_name"],
        "What the autoscaler scales; always 1.",
        info,
    ),
    common::generation("kube_horizontalpodautoscaler_metadata_generation", Stable),
    Family::gauge(
        "kube_horizontalpodautoscaler_spec_max_replicas",
        Stable,
        &[],
        "Most pods that the autoscaler may ask for.",
        |autoscaler, out| out.value(autoscaler.spec.max_replicas),
    ),
    Family::gauge(
        "kube_horizontalpodautoscaler_spec_min_replicas",
        Stable,
        &[],
        "Fewest pods that the autoscaler may ask for, 1 if none is set.",
        |autoscaler, out| out.value(autoscaler.spec.min_replicas.unwrap_or(1)),
    ),
    Family::gauge(
        "kube_horizontalpodautoscaler_spec_target_metric",
        Experimental,
        METRIC_LABELS,
        "Values at which the autoscaler aims, one sample for each metric and type of target; utilization in percent.",
        |autoscaler, out| metrics(autoscaler.spec.metrics.iter().filter_map(MetricSpec::target), out),
    ),
    Family::gauge(
        "kube_horizontalpodautoscaler_spec_behavior_scale_down_tolerance",
        Experimental,
        &[],
        "Deviation from the target, as a ratio, up to which the autoscaler does not scale down.",
        |autoscaler, out| tolerance(autoscaler.spec.behavior.scale_down.as_ref(), out),
    ),
    Family::gauge(
        "kube_horizontalpodautoscaler_spec_behavior_scale_up_tolerance",
        Experimental,
        &[],
        "Deviation from the target, as a ratio, up to which the autoscaler does not scale up.",
        |autoscaler, out| tolerance(autoscaler.spec.behavior.scale_up.as_ref(), out),
    ),
    Family::gauge(
        "kube_horizontalpodautoscaler_status_target_metric",
        Stable,
        METRIC_LABELS,
        "Values that the autoscaler last saw, one sample for each metric and type of target; utilization in percent.",
        |autoscaler, out| metrics(autoscaler.status.current_metrics.iter().filter_map(MetricStatus::current), out),
    ),
    Family::gauge(
        "kube_horizontalpodautoscaler_status_current_replicas",
        Stable,
        &[],
        "Pods that the autoscaler last saw.",
        |autoscaler, out| out.value(autoscaler.status.current_replicas),
    ),
    Family::gauge(
        "kube_horizontalpodautoscaler_status_desired_replicas",
        Stable,
        &[],
        "Pods that the autoscaler last asked for.",
        |autoscaler, out| out.value(autoscaler.status.desired_replicas),
    ),
    common::annotations("kube_horizontalpodautoscaler_annotations", Experimental),
    common::labels("kube_horizontalpodautoscaler_labels", Stable),
    Family::gauge(
        "kube_horizontalpodautoscaler_status_condition",
        Stable,
        &["condition", "status"],
        "Conditions of the autoscaler: 1 for the status that each has, 0 for the others.",
        |autoscaler, out| common::conditions(&autoscaler.status.conditions, out),
    ),
    common::created("kube_horizontalpodautoscaler_created", Experimental),
    common::deletion_timestamp("kube_horizontalpodautoscaler_deletion_timestamp", Experimental),
];

const METRIC_LABELS: &[&str] = &["metric_name", "metric_target_type", "container"];

/// View of a HorizontalPodAutoscaler.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct HorizontalPodAutoscaler {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(message, required, tag = "1")]
    scale_target_ref: ScaleTarget,
    #[prost(int32, optional, tag = "2")]
    min_replicas: Option<i32>,
    #[prost(int32, tag = "3")]
    max_replicas: i32,
    #[prost(message, repeated, tag = "4")]
    metrics: Vec<MetricSpec>,
    #[prost(message, required, tag = "5")]
    behavior: Behavior,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScaleTarget {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    api_version: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Behavior {
    #[prost(message, optional, tag = "1")]
    scale_up: Option<ScalingRules>,
    #[prost(message, optional, tag = "2")]
    scale_down: Option<ScalingRules>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScalingRules {
    #[prost(message, optional, tag = "4")]
    tolerance: Option<Quantity>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(int32, tag = "3")]
    current_replicas: i32,
    #[prost(int32, tag = "4")]
    desired_replicas: i32,
    #[prost(message, repeated, tag = "5")]
    current_metrics: Vec<MetricStatus>,
    #[prost(message, repeated, tag = "6")]
    conditions: Vec<Condition>,
}

impl Object for HorizontalPodAutoscaler {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn info(autoscaler: &HorizontalPodAutoscaler, out: &mut Samples<'_>) {
    let target = &autoscaler.spec.scale_target_ref;
    // The API version is left out where there is none, not empty: so has this family always been.
    let api_version = Some(("scaletargetref_api_version", target.api_version.as_str()));
    let labels = [("scaletargetref_kind", target.kind.as_str()), ("scaletargetref_name", target.name.as_str())];
    out.labelled(api_version.filter(|(_, version)| !version.is_empty()).into_iter().chain(labels), 1);
}

/// Two metrics can differ in what the labels do not show, such as the selector; the first one counts.
fn metrics<'a>(readings: impl Iterator<Item = Reading<'a>>, out: &mut Samples<'_>) {
    for reading in readings {
        let values = [
            ("value", reading.value.and_then(Quantity::thousandths)),
            ("utilization", reading.utilization.map(f64::from)),
            ("average", reading.average.and_then(Quantity::thousandths)),
        ];
        for (target_type, value) in values {
            if let Some(value) = value {
                out.sample(&[reading.name, target_type, reading.container], value);
            }
        }
    }
}

fn tolerance(rules: Option<&ScalingRules>, out: &mut Samples<'_>) {
    out.optional(rules.and_then(|rules| rules.tolerance.as_ref()).and_then(Quantity::approximate));
}

#[cfg(test)]
mod tests;

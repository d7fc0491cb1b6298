//! HorizontalPodAutoscaler families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything, only};

#[test]
fn every_family_of_a_full_autoscaler_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: web
  generation: 3
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: web}
  annotations: {note: n}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 9
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
  behavior:
    scaleUp: {tolerance: 50m, selectPolicy: Max}
    scaleDown: {tolerance: '0.2', stabilizationWindowSeconds: 60}
status:
  observedGeneration: 2
  currentReplicas: 4
  desiredReplicas: 5
  currentMetrics:
  - {type: Resource, resource: {name: cpu, current: {averageUtilization: 91, averageValue: 455m}}}
  conditions:
  - {type: AbleToScale, status: 'True', reason: ReadyForNewScale}
  - {type: ScalingLimited, status: Unknown}
",
        expect![[r#"
            kube_horizontalpodautoscaler_info{namespace="ns",horizontalpodautoscaler="web",scaletargetref_api_version="apps/v1",scaletargetref_kind="Deployment",scaletargetref_name="web"} 1
            kube_horizontalpodautoscaler_metadata_generation{namespace="ns",horizontalpodautoscaler="web"} 3
            kube_horizontalpodautoscaler_spec_max_replicas{namespace="ns",horizontalpodautoscaler="web"} 9
            kube_horizontalpodautoscaler_spec_min_replicas{namespace="ns",horizontalpodautoscaler="web"} 2
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="cpu",metric_target_type="utilization",container=""} 80
            kube_horizontalpodautoscaler_spec_behavior_scale_down_tolerance{namespace="ns",horizontalpodautoscaler="web"} 0.2
            kube_horizontalpodautoscaler_spec_behavior_scale_up_tolerance{namespace="ns",horizontalpodautoscaler="web"} 0.05
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="cpu",metric_target_type="utilization",container=""} 91
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="cpu",metric_target_type="average",container=""} 0.455
            kube_horizontalpodautoscaler_status_current_replicas{namespace="ns",horizontalpodautoscaler="web"} 4
            kube_horizontalpodautoscaler_status_desired_replicas{namespace="ns",horizontalpodautoscaler="web"} 5
            kube_horizontalpodautoscaler_annotations{namespace="ns",horizontalpodautoscaler="web",annotation_note="n"} 1
            kube_horizontalpodautoscaler_labels{namespace="ns",horizontalpodautoscaler="web",label_app="web"} 1
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="AbleToScale",status="true"} 1
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="AbleToScale",status="false"} 0
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="AbleToScale",status="unknown"} 0
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="ScalingLimited",status="true"} 0
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="ScalingLimited",status="false"} 0
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="ScalingLimited",status="unknown"} 1
            kube_horizontalpodautoscaler_created{namespace="ns",horizontalpodautoscaler="web"} 1.7733456e+09
            kube_horizontalpodautoscaler_deletion_timestamp{namespace="ns",horizontalpodautoscaler="web"} 1.77334566e+09
        "#]],
    );
}

#[test]
fn an_omitted_minimum_is_one_and_an_unset_api_version_has_no_label() {
    // R03, https://github.com/kubernetes/kube-state-metrics/issues/1014
    check(
        &RESOURCE,
        "
metadata: {namespace: team-a, name: web}
spec: {maxReplicas: 4, scaleTargetRef: {kind: Deployment, name: web}}
",
        expect![[r#"
            kube_horizontalpodautoscaler_info{namespace="team-a",horizontalpodautoscaler="web",scaletargetref_kind="Deployment",scaletargetref_name="web"} 1
            kube_horizontalpodautoscaler_metadata_generation{namespace="team-a",horizontalpodautoscaler="web"} 0
            kube_horizontalpodautoscaler_spec_max_replicas{namespace="team-a",horizontalpodautoscaler="web"} 4
            kube_horizontalpodautoscaler_spec_min_replicas{namespace="team-a",horizontalpodautoscaler="web"} 1
            kube_horizontalpodautoscaler_status_current_replicas{namespace="team-a",horizontalpodautoscaler="web"} 0
            kube_horizontalpodautoscaler_status_desired_replicas{namespace="team-a",horizontalpodautoscaler="web"} 0
        "#]],
    );
}

#[test]
fn a_minimum_of_zero_is_exported() {
    check_with(
        &RESOURCE,
        &only(&["kube_horizontalpodautoscaler_spec_min_replicas"]),
        "{metadata: {namespace: ns, name: web}, spec: {minReplicas: 0}}",
        expect![[r#"
            kube_horizontalpodautoscaler_spec_min_replicas{namespace="ns",horizontalpodautoscaler="web"} 0
        "#]],
    );
}

#[test]
fn status_metrics_without_their_source_or_of_an_unknown_type_are_skipped() {
    // R03, https://github.com/kubernetes/kube-state-metrics/issues/2991
    check_with(
        &RESOURCE,
        &only(&["kube_horizontalpodautoscaler_spec_min", "kube_horizontalpodautoscaler_status_target_metric"]),
        "
metadata: {namespace: team-a, name: web}
spec: {maxReplicas: 4}
status:
  currentMetrics:
  - type: Resource
  - {type: Resource, resource: {name: cpu, current: {averageUtilization: 37}}}
  - {type: Weather, external: {metric: {name: rain}, current: {value: '1'}}}
",
        expect![[r#"
            kube_horizontalpodautoscaler_spec_min_replicas{namespace="team-a",horizontalpodautoscaler="web"} 1
            kube_horizontalpodautoscaler_status_target_metric{namespace="team-a",horizontalpodautoscaler="web",metric_name="cpu",metric_target_type="utilization",container=""} 37
        "#]],
    );
}

#[test]
fn spec_metrics_without_their_source_are_skipped() {
    check_with(
        &RESOURCE,
        &only(&["kube_horizontalpodautoscaler_spec_target_metric"]),
        "
metadata: {namespace: ns, name: web}
spec:
  metrics:
  - type: Object
  - type: Pods
  - type: Resource
  - type: ContainerResource
  - {type: External, resource: {name: memory, target: {averageUtilization: 1}}}
  - {type: '', resource: {name: memory, target: {averageUtilization: 1}}}
  - {type: Resource, resource: {name: cpu, target: {}}}
  - {type: Resource, resource: {name: cpu, target: {averageUtilization: 0}}}
",
        expect![[r#"
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="cpu",metric_target_type="utilization",container=""} 0
        "#]],
    );
}

#[test]
fn targets_and_current_values_of_every_type_are_exported() {
    check_with(
        &RESOURCE,
        &only(&["kube_horizontalpodautoscaler_spec_target", "kube_horizontalpodautoscaler_status_target"]),
        "
metadata: {namespace: ns, name: web}
spec:
  metrics:
  - type: Object
    object:
      describedObject: {kind: Ingress, name: main}
      metric: {name: hits}
      target: {type: Value, value: 10k}
  - type: Pods
    pods: {metric: {name: rate}, target: {type: AverageValue, averageValue: 1500m}}
  - type: Resource
    resource: {name: memory, target: {type: AverageValue, value: '1', averageValue: 1Gi, averageUtilization: 3}}
  - type: ContainerResource
    containerResource: {name: cpu, container: app, target: {type: Utilization, averageUtilization: 60}}
  - type: External
    external: {metric: {name: queue, selector: {matchLabels: {q: a}}}, target: {type: AverageValue, averageValue: '30'}}
status:
  currentMetrics:
  - type: Object
    object: {describedObject: {kind: Ingress, name: main}, metric: {name: hits}, current: {value: '9876543.21'}}
  - type: Pods
    pods: {metric: {name: rate}, current: {averageValue: 250m}}
  - type: Resource
    resource: {name: memory, current: {value: '1', averageValue: 512Mi, averageUtilization: 2}}
  - type: ContainerResource
    containerResource: {name: cpu, container: app, current: {averageValue: 60m, averageUtilization: 30}}
  - type: External
    external: {metric: {name: queue}, current: {value: '0', averageValue: '15'}}
",
        expect![[r#"
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="hits",metric_target_type="value",container=""} 10000
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="rate",metric_target_type="average",container=""} 1.5
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="memory",metric_target_type="value",container=""} 1
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="memory",metric_target_type="utilization",container=""} 3
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="memory",metric_target_type="average",container=""} 1.073741824e+09
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="cpu",metric_target_type="utilization",container="app"} 60
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="queue",metric_target_type="average",container=""} 30
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="hits",metric_target_type="value",container=""} 9.87654321e+06
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="rate",metric_target_type="average",container=""} 0.25
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="memory",metric_target_type="value",container=""} 1
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="memory",metric_target_type="utilization",container=""} 2
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="memory",metric_target_type="average",container=""} 5.36870912e+08
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="cpu",metric_target_type="utilization",container="app"} 30
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="cpu",metric_target_type="average",container="app"} 0.06
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="queue",metric_target_type="value",container=""} 0
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="queue",metric_target_type="average",container=""} 15
        "#]],
    );
}

#[test]
fn quantities_of_metrics_are_rounded_up_to_a_thousandth() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    check_with(
        &RESOURCE,
        &only(&["kube_horizontalpodautoscaler_status_target"]),
        "
metadata: {namespace: ns, name: web}
status:
  currentMetrics:
  - {type: Pods, pods: {metric: {name: fine}, current: {averageValue: 100u}}}
  - {type: Pods, pods: {metric: {name: large}, current: {averageValue: 12345678901234567890}}}
",
        expect![[r#"
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="fine",metric_target_type="average",container=""} 0.001
            kube_horizontalpodautoscaler_status_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="large",metric_target_type="average",container=""} 1.2345678901234567e+19
        "#]],
    );
}

#[test]
fn of_metrics_with_one_name_the_first_is_exported() {
    // R49
    check_with(
        &RESOURCE,
        &only(&["kube_horizontalpodautoscaler_spec_target"]),
        "
metadata: {namespace: ns, name: web}
spec:
  metrics:
  - type: External
    external: {metric: {name: queue_depth, selector: {matchLabels: {q: a}}}, target: {type: Value, value: '5'}}
  - type: External
    external: {metric: {name: queue_depth, selector: {matchLabels: {q: b}}}, target: {type: Value, value: '9'}}
",
        expect![[r#"
            kube_horizontalpodautoscaler_spec_target_metric{namespace="ns",horizontalpodautoscaler="web",metric_name="queue_depth",metric_target_type="value",container=""} 5
        "#]],
    );
}

#[test]
fn tolerances_are_what_the_api_library_makes_of_them() {
    let tolerance = only(&["kube_horizontalpodautoscaler_spec_behavior"]);
    check_with(
        &RESOURCE,
        &tolerance,
        "
metadata: {namespace: ns, name: web}
spec: {behavior: {scaleUp: {tolerance: 9m}, scaleDown: {tolerance: '0.3'}}}
",
        expect![[r#"
            kube_horizontalpodautoscaler_spec_behavior_scale_down_tolerance{namespace="ns",horizontalpodautoscaler="web"} 0.30000000000000004
            kube_horizontalpodautoscaler_spec_behavior_scale_up_tolerance{namespace="ns",horizontalpodautoscaler="web"} 0.009000000000000001
        "#]],
    );
    check_with(
        &RESOURCE,
        &tolerance,
        "{metadata: {namespace: ns, name: web}, spec: {behavior: {scaleUp: {}, scaleDown: {tolerance: '0'}}}}",
        expect![[r#"
            kube_horizontalpodautoscaler_spec_behavior_scale_down_tolerance{namespace="ns",horizontalpodautoscaler="web"} 0
        "#]],
    );
}

#[test]
fn repeated_conditions_are_exported_once_and_the_first_wins() {
    check_with(
        &RESOURCE,
        &only(&["kube_horizontalpodautoscaler_status_condition"]),
        "
metadata: {namespace: ns, name: web}
status: {conditions: [{type: ScalingActive, status: 'True'}, {type: ScalingActive, status: 'False'}]}
",
        expect![[r#"
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="ScalingActive",status="true"} 1
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="ScalingActive",status="false"} 0
            kube_horizontalpodautoscaler_status_condition{namespace="ns",horizontalpodautoscaler="web",condition="ScalingActive",status="unknown"} 0
        "#]],
    );
}

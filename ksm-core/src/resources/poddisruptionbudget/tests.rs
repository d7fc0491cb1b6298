//! PodDisruptionBudget families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_with, everything};

#[test]
fn every_family_of_a_full_budget_is_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: web
  generation: 4
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: web}
  annotations: {note: n}
spec: {minAvailable: 50%}
status:
  observedGeneration: 3
  disruptionsAllowed: 2
  currentHealthy: 6
  desiredHealthy: 5
  expectedPods: 7
  disruptedPods: {web-0: 2026-03-12T20:00:00Z}
",
        expect![[r#"
            kube_poddisruptionbudget_annotations{namespace="ns",poddisruptionbudget="web",annotation_note="n"} 1
            kube_poddisruptionbudget_labels{namespace="ns",poddisruptionbudget="web",label_app="web"} 1
            kube_poddisruptionbudget_created{namespace="ns",poddisruptionbudget="web"} 1.7733456e+09
            kube_poddisruptionbudget_status_current_healthy{namespace="ns",poddisruptionbudget="web"} 6
            kube_poddisruptionbudget_status_desired_healthy{namespace="ns",poddisruptionbudget="web"} 5
            kube_poddisruptionbudget_status_pod_disruptions_allowed{namespace="ns",poddisruptionbudget="web"} 2
            kube_poddisruptionbudget_status_expected_pods{namespace="ns",poddisruptionbudget="web"} 7
            kube_poddisruptionbudget_status_observed_generation{namespace="ns",poddisruptionbudget="web"} 3
            kube_poddisruptionbudget_deletion_timestamp{namespace="ns",poddisruptionbudget="web"} 1.77334566e+09
        "#]],
    );
}

#[test]
fn missing_status_counters_are_zero() {
    // R05, https://github.com/kubernetes/kube-state-metrics/issues/50
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: web}",
        expect![[r#"
        kube_poddisruptionbudget_status_current_healthy{namespace="ns",poddisruptionbudget="web"} 0
        kube_poddisruptionbudget_status_desired_healthy{namespace="ns",poddisruptionbudget="web"} 0
        kube_poddisruptionbudget_status_pod_disruptions_allowed{namespace="ns",poddisruptionbudget="web"} 0
        kube_poddisruptionbudget_status_expected_pods{namespace="ns",poddisruptionbudget="web"} 0
        kube_poddisruptionbudget_status_observed_generation{namespace="ns",poddisruptionbudget="web"} 0
    "#]],
    );
}

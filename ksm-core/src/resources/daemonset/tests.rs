//! DaemonSet families.

use expect_test::expect;

use super::RESOURCE;
use crate::resources::testing::{check, check_headers, check_with, everything, only};

#[test]
fn missing_status_counters_are_zero() {
    check(
        &RESOURCE,
        "metadata: {namespace: ns, name: ds, uid: u}",
        expect![[r#"
        kube_daemonset_status_current_number_scheduled{namespace="ns",daemonset="ds"} 0
        kube_daemonset_status_desired_number_scheduled{namespace="ns",daemonset="ds"} 0
        kube_daemonset_status_number_available{namespace="ns",daemonset="ds"} 0
        kube_daemonset_status_number_misscheduled{namespace="ns",daemonset="ds"} 0
        kube_daemonset_status_number_ready{namespace="ns",daemonset="ds"} 0
        kube_daemonset_status_number_unavailable{namespace="ns",daemonset="ds"} 0
        kube_daemonset_status_observed_generation{namespace="ns",daemonset="ds"} 0
        kube_daemonset_status_updated_number_scheduled{namespace="ns",daemonset="ds"} 0
        kube_daemonset_metadata_generation{namespace="ns",daemonset="ds"} 0
    "#]],
    );
}

#[test]
fn counters_times_and_copied_keys_are_exported() {
    check_with(
        &RESOURCE,
        &everything(),
        "
metadata:
  namespace: ns
  name: ds
  generation: 21
  creationTimestamp: 2026-03-12T20:00:00Z
  deletionTimestamp: 2026-03-12T20:01:00Z
  labels: {app: a}
  annotations: {note: n}
status:
  currentNumberScheduled: 15
  desiredNumberScheduled: 16
  numberAvailable: 14
  numberMisscheduled: 10
  numberReady: 13
  numberUnavailable: 2
  observedGeneration: 20
  updatedNumberScheduled: 12
",
        expect![[r#"
            kube_daemonset_created{namespace="ns",daemonset="ds"} 1.7733456e+09
            kube_daemonset_status_current_number_scheduled{namespace="ns",daemonset="ds"} 15
            kube_daemonset_status_desired_number_scheduled{namespace="ns",daemonset="ds"} 16
            kube_daemonset_status_number_available{namespace="ns",daemonset="ds"} 14
            kube_daemonset_status_number_misscheduled{namespace="ns",daemonset="ds"} 10
            kube_daemonset_status_number_ready{namespace="ns",daemonset="ds"} 13
            kube_daemonset_status_number_unavailable{namespace="ns",daemonset="ds"} 2
            kube_daemonset_status_observed_generation{namespace="ns",daemonset="ds"} 20
            kube_daemonset_status_updated_number_scheduled{namespace="ns",daemonset="ds"} 12
            kube_daemonset_metadata_generation{namespace="ns",daemonset="ds"} 21
            kube_daemonset_deletion_timestamp{namespace="ns",daemonset="ds"} 1.77334566e+09
            kube_daemonset_annotations{namespace="ns",daemonset="ds",annotation_note="n"} 1
            kube_daemonset_labels{namespace="ns",daemonset="ds",label_app="a"} 1
        "#]],
    );
}

#[test]
fn headers_come_in_table_order() {
    check_headers(
        &RESOURCE,
        &only(&["kube_daemonset_created", "kube_daemonset_status_number_ready"]),
        "metadata: {namespace: ns, name: ds}",
        expect![[r##"
            # HELP kube_daemonset_created When the object was created, in seconds since the Unix epoch.
            # TYPE kube_daemonset_created gauge
            # HELP kube_daemonset_status_number_ready Nodes that should run a pod of the DaemonSet and have one that is ready.
            # TYPE kube_daemonset_status_number_ready gauge
            kube_daemonset_status_number_ready{namespace="ns",daemonset="ds"} 0
        "##]],
    );
}

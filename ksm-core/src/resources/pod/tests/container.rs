//! Containers: images, resources, states.

use expect_test::expect;

use crate::resources::pod::RESOURCE;
use crate::resources::testing::{check_with, only};

const POD: &str = "
metadata: {namespace: ns, name: p, uid: u}
spec:
  nodeName: n
  containers:
  - {name: run, image: 'registry.test/run:1'}
  - {name: done, image: 'registry.test/done'}
  - {name: wait, image: 'registry.test/wait'}
  - {name: new, image: 'registry.test/new'}
status:
  containerStatuses:
  - name: done
    image: registry.test/done:latest
    state: {terminated: {exitCode: 0, reason: Completed, startedAt: '2026-03-12T20:00:00Z', finishedAt: '2026-03-12T20:05:00Z'}}
  - name: run
    image: registry.test/run@sha256:1
    imageID: sha256:abc
    containerID: containerd://def
    ready: true
    restartCount: 3
    state: {running: {startedAt: '2026-03-12T20:01:00Z'}}
    lastState: {terminated: {exitCode: 137, reason: OOMKilled, startedAt: '2026-03-12T19:00:00Z', finishedAt: '2026-03-12T19:59:00Z'}}
  - name: wait
    image: registry.test/wait
    state: {waiting: {reason: ImagePullBackOff, message: m}}
  - name: gone
    state: {}
";

#[test]
fn info_is_in_spec_order_and_needs_a_status() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_info"]),
        POD,
        expect![[r#"
        kube_pod_container_info{namespace="ns",pod="p",uid="u",container="run",image_spec="registry.test/run:1",image="registry.test/run@sha256:1",image_id="sha256:abc",container_id="containerd://def"} 1
        kube_pod_container_info{namespace="ns",pod="p",uid="u",container="done",image_spec="registry.test/done",image="registry.test/done:latest",image_id="",container_id=""} 1
        kube_pod_container_info{namespace="ns",pod="p",uid="u",container="wait",image_spec="registry.test/wait",image="registry.test/wait",image_id="",container_id=""} 1
    "#]],
    );
}

#[test]
fn states_come_from_the_statuses_alone() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_state", "kube_pod_container_status"]),
        POD,
        expect![[r#"
        kube_pod_container_state_started{namespace="ns",pod="p",uid="u",container="done"} 1.7733456e+09
        kube_pod_container_state_started{namespace="ns",pod="p",uid="u",container="run"} 1.77334566e+09
        kube_pod_container_status_last_terminated_reason{namespace="ns",pod="p",uid="u",container="run",reason="OOMKilled"} 1
        kube_pod_container_status_last_terminated_exitcode{namespace="ns",pod="p",uid="u",container="run"} 137
        kube_pod_container_status_last_terminated_timestamp{namespace="ns",pod="p",uid="u",container="run"} 1.77334554e+09
        kube_pod_container_status_ready{namespace="ns",pod="p",uid="u",container="done"} 0
        kube_pod_container_status_ready{namespace="ns",pod="p",uid="u",container="run"} 1
        kube_pod_container_status_ready{namespace="ns",pod="p",uid="u",container="wait"} 0
        kube_pod_container_status_ready{namespace="ns",pod="p",uid="u",container="gone"} 0
        kube_pod_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="done"} 0
        kube_pod_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="run"} 3
        kube_pod_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="wait"} 0
        kube_pod_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="gone"} 0
        kube_pod_container_status_running{namespace="ns",pod="p",uid="u",container="done"} 0
        kube_pod_container_status_running{namespace="ns",pod="p",uid="u",container="run"} 1
        kube_pod_container_status_running{namespace="ns",pod="p",uid="u",container="wait"} 0
        kube_pod_container_status_running{namespace="ns",pod="p",uid="u",container="gone"} 0
        kube_pod_container_status_terminated{namespace="ns",pod="p",uid="u",container="done"} 1
        kube_pod_container_status_terminated{namespace="ns",pod="p",uid="u",container="run"} 0
        kube_pod_container_status_terminated{namespace="ns",pod="p",uid="u",container="wait"} 0
        kube_pod_container_status_terminated{namespace="ns",pod="p",uid="u",container="gone"} 0
        kube_pod_container_status_terminated_reason{namespace="ns",pod="p",uid="u",container="done",reason="Completed"} 1
        kube_pod_container_status_waiting{namespace="ns",pod="p",uid="u",container="done"} 0
        kube_pod_container_status_waiting{namespace="ns",pod="p",uid="u",container="run"} 0
        kube_pod_container_status_waiting{namespace="ns",pod="p",uid="u",container="wait"} 1
        kube_pod_container_status_waiting{namespace="ns",pod="p",uid="u",container="gone"} 0
        kube_pod_container_status_waiting_reason{namespace="ns",pod="p",uid="u",container="wait",reason="ImagePullBackOff"} 1
    "#]],
    );
}

#[test]
fn a_state_without_reason_has_an_empty_reason() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_status"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  containerStatuses:
  - {name: a, state: {terminated: {exitCode: -1}}, lastState: {terminated: {}}}
  - {name: b, state: {waiting: {}}}
",
        expect![[r#"
            kube_pod_container_status_last_terminated_reason{namespace="ns",pod="p",uid="u",container="a",reason=""} 1
            kube_pod_container_status_last_terminated_exitcode{namespace="ns",pod="p",uid="u",container="a"} 0
            kube_pod_container_status_ready{namespace="ns",pod="p",uid="u",container="a"} 0
            kube_pod_container_status_ready{namespace="ns",pod="p",uid="u",container="b"} 0
            kube_pod_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="a"} 0
            kube_pod_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="b"} 0
            kube_pod_container_status_running{namespace="ns",pod="p",uid="u",container="a"} 0
            kube_pod_container_status_running{namespace="ns",pod="p",uid="u",container="b"} 0
            kube_pod_container_status_terminated{namespace="ns",pod="p",uid="u",container="a"} 1
            kube_pod_container_status_terminated{namespace="ns",pod="p",uid="u",container="b"} 0
            kube_pod_container_status_terminated_reason{namespace="ns",pod="p",uid="u",container="a",reason=""} 1
            kube_pod_container_status_waiting{namespace="ns",pod="p",uid="u",container="a"} 0
            kube_pod_container_status_waiting{namespace="ns",pod="p",uid="u",container="b"} 1
            kube_pod_container_status_waiting_reason{namespace="ns",pod="p",uid="u",container="b",reason=""} 1
        "#]],
    );
}

#[test]
fn times_that_are_not_known_have_no_sample_and_the_epoch_has() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_state_started", "kube_pod_container_status_last_terminated_timestamp"]),
        "
metadata: {namespace: ns, name: p, uid: u}
status:
  containerStatuses:
  - {name: a, state: {running: {}}, lastState: {terminated: {finishedAt: null}}}
  - {name: b, state: {terminated: {startedAt: null}}, lastState: {terminated: {finishedAt: '0001-01-01T00:00:00Z'}}}
  - {name: c, state: {running: {startedAt: '1970-01-01T00:00:00Z'}}, lastState: {terminated: {finishedAt: '1970-01-01T00:00:00Z'}}}
  - {name: d, state: {waiting: {}}, lastState: {running: {startedAt: '2026-03-12T20:00:00Z'}}}
",
        expect![[r#"
            kube_pod_container_state_started{namespace="ns",pod="p",uid="u",container="c"} 0
            kube_pod_container_status_last_terminated_timestamp{namespace="ns",pod="p",uid="u",container="c"} 0
        "#]],
    );
}

/// No API server lets such a pod through, but nothing may be written twice whatever comes in.
#[test]
fn the_first_of_two_statuses_of_one_container_counts() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_info", "kube_pod_container_status_re"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec: {containers: [{name: a, image: i}, {name: a, image: j}]}
status: {containerStatuses: [{name: a, ready: true, restartCount: 1}, {name: a, restartCount: 2}]}
",
        expect![[r#"
            kube_pod_container_info{namespace="ns",pod="p",uid="u",container="a",image_spec="i",image="",image_id="",container_id=""} 1
            kube_pod_container_info{namespace="ns",pod="p",uid="u",container="a",image_spec="j",image="",image_id="",container_id=""} 1
            kube_pod_container_status_ready{namespace="ns",pod="p",uid="u",container="a"} 1
            kube_pod_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="a"} 1
        "#]],
    );
}

#[test]
fn resources_have_the_node_a_clean_name_and_a_unit() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_resource"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec:
  nodeName: n
  containers:
  - name: a
    resources:
      limits: {cpu: '2', memory: 1Gi, ephemeral-storage: 2G, nvidia.com/gpu: 1, hugepages-2Mi: 4Mi, pods: 1}
      requests: {cpu: 200m, memory: 100M, storage: 400M, attachable-volumes-csi-x: 3, kubernetes.io/batch-cpu: 1}
  - {name: none, resources: {}}
  - {name: b, resources: {requests: {cpu: 1n}}}
",
        expect![[r#"
            kube_pod_container_resource_limits{namespace="ns",pod="p",uid="u",container="a",node="n",resource="cpu",unit="core"} 2
            kube_pod_container_resource_limits{namespace="ns",pod="p",uid="u",container="a",node="n",resource="ephemeral_storage",unit="byte"} 2e+09
            kube_pod_container_resource_limits{namespace="ns",pod="p",uid="u",container="a",node="n",resource="hugepages_2Mi",unit="byte"} 4.194304e+06
            kube_pod_container_resource_limits{namespace="ns",pod="p",uid="u",container="a",node="n",resource="memory",unit="byte"} 1.073741824e+09
            kube_pod_container_resource_limits{namespace="ns",pod="p",uid="u",container="a",node="n",resource="nvidia_com_gpu",unit="integer"} 1
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="a",node="n",resource="attachable_volumes_csi_x",unit="byte"} 3
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="a",node="n",resource="cpu",unit="core"} 0.2
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="a",node="n",resource="memory",unit="byte"} 1e+08
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="a",node="n",resource="storage",unit="byte"} 4e+08
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="b",node="n",resource="cpu",unit="core"} 0.001
        "#]],
    );
}

#[test]
fn a_pod_without_a_node_has_an_empty_node_label() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_resource"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec: {containers: [{name: a, resources: {limits: {cpu: 1}}}]}
",
        expect![[r#"
            kube_pod_container_resource_limits{namespace="ns",pod="p",uid="u",container="a",node="",resource="cpu",unit="core"} 1
        "#]],
    );
}

#[test]
fn resources_that_are_equal_once_cleaned_count_once() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_resource_limits"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec: {containers: [{name: a, resources: {limits: {example.com/foo_bar: 2, example.com/foo-bar: 1}}}]}
",
        expect![[r#"
            kube_pod_container_resource_limits{namespace="ns",pod="p",uid="u",container="a",node="",resource="example_com_foo_bar",unit="integer"} 1
        "#]],
    );
}

#[test]
fn every_way_to_write_a_quantity_is_read() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_resource_requests"]),
        "
metadata: {namespace: ns, name: p, uid: u}
spec:
  containers:
  - {name: a, resources: {requests: {cpu: 1e3, memory: 100m}}}
  - {name: b, resources: {requests: {cpu: 100m, memory: 129e6}}}
  - {name: c, resources: {requests: {cpu: '0.5', memory: 123Mi}}}
  - {name: d, resources: {requests: {cpu: 0.5, memory: 1Ei}}}
  - {name: e, resources: {requests: {cpu: 12345678901234567890, memory: 1e19}}}
",
        expect![[r#"
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="a",node="",resource="cpu",unit="core"} 1000
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="a",node="",resource="memory",unit="byte"} 1
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="b",node="",resource="cpu",unit="core"} 0.1
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="b",node="",resource="memory",unit="byte"} 1.29e+08
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="c",node="",resource="cpu",unit="core"} 0.5
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="c",node="",resource="memory",unit="byte"} 1.28974848e+08
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="d",node="",resource="cpu",unit="core"} 0.5
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="d",node="",resource="memory",unit="byte"} 1.152921504606847e+18
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="e",node="",resource="cpu",unit="core"} 1.2345678901234567e+19
            kube_pod_container_resource_requests{namespace="ns",pod="p",uid="u",container="e",node="",resource="memory",unit="byte"} 1e+19
        "#]],
    );
}

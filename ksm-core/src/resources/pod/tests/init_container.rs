//! Init containers: the twins of the container families, from their own part of spec and status.

use expect_test::expect;

use crate::resources::pod::RESOURCE;
use crate::resources::testing::{check_with, only};

const POD: &str = "
metadata: {namespace: ns, name: p, uid: u}
spec:
  nodeName: n
  containers: [{name: app, image: i, resources: {limits: {cpu: 9}}}]
  initContainers:
  - {name: setup, image: 'registry.test/setup', resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}}
  - {name: sidecar, image: 'registry.test/sidecar', restartPolicy: Always}
status:
  containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]
  initContainerStatuses:
  - name: setup
    image: registry.test/setup:1
    imageID: sha256:abc
    containerID: containerd://def
    ready: true
    restartCount: 1
    state: {terminated: {exitCode: 0, reason: Completed, startedAt: '2026-03-12T20:00:00Z', finishedAt: '2026-03-12T20:05:00Z'}}
    lastState: {terminated: {exitCode: 2, reason: Error, finishedAt: '2026-03-12T19:59:00Z'}}
  - name: sidecar
    state: {waiting: {reason: CrashLoopBackOff}}
  - name: third
    state: {running: {startedAt: '2026-03-12T20:06:00Z'}}
";

#[test]
fn init_containers_have_the_families_of_containers() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_init_container"]),
        POD,
        expect![[r#"
        kube_pod_init_container_info{namespace="ns",pod="p",uid="u",container="setup",image_spec="registry.test/setup",image="registry.test/setup:1",image_id="sha256:abc",container_id="containerd://def",restart_policy=""} 1
        kube_pod_init_container_info{namespace="ns",pod="p",uid="u",container="sidecar",image_spec="registry.test/sidecar",image="",image_id="",container_id="",restart_policy="Always"} 1
        kube_pod_init_container_resource_limits{namespace="ns",pod="p",uid="u",container="setup",node="n",resource="cpu",unit="core"} 1
        kube_pod_init_container_resource_limits{namespace="ns",pod="p",uid="u",container="setup",node="n",resource="memory",unit="byte"} 1.073741824e+09
        kube_pod_init_container_resource_requests{namespace="ns",pod="p",uid="u",container="setup",node="n",resource="cpu",unit="core"} 0.5
        kube_pod_init_container_state_started{namespace="ns",pod="p",uid="u",container="setup"} 1.7733456e+09
        kube_pod_init_container_state_started{namespace="ns",pod="p",uid="u",container="third"} 1.77334596e+09
        kube_pod_init_container_status_last_terminated_reason{namespace="ns",pod="p",uid="u",container="setup",reason="Error"} 1
        kube_pod_init_container_status_last_terminated_exitcode{namespace="ns",pod="p",uid="u",container="setup"} 2
        kube_pod_init_container_status_last_terminated_timestamp{namespace="ns",pod="p",uid="u",container="setup"} 1.77334554e+09
        kube_pod_init_container_status_ready{namespace="ns",pod="p",uid="u",container="setup"} 1
        kube_pod_init_container_status_ready{namespace="ns",pod="p",uid="u",container="sidecar"} 0
        kube_pod_init_container_status_ready{namespace="ns",pod="p",uid="u",container="third"} 0
        kube_pod_init_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="setup"} 1
        kube_pod_init_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="sidecar"} 0
        kube_pod_init_container_status_restarts_total{namespace="ns",pod="p",uid="u",container="third"} 0
        kube_pod_init_container_status_running{namespace="ns",pod="p",uid="u",container="setup"} 0
        kube_pod_init_container_status_running{namespace="ns",pod="p",uid="u",container="sidecar"} 0
        kube_pod_init_container_status_running{namespace="ns",pod="p",uid="u",container="third"} 1
        kube_pod_init_container_status_terminated{namespace="ns",pod="p",uid="u",container="setup"} 1
        kube_pod_init_container_status_terminated{namespace="ns",pod="p",uid="u",container="sidecar"} 0
        kube_pod_init_container_status_terminated{namespace="ns",pod="p",uid="u",container="third"} 0
        kube_pod_init_container_status_terminated_reason{namespace="ns",pod="p",uid="u",container="setup",reason="Completed"} 1
        kube_pod_init_container_status_waiting{namespace="ns",pod="p",uid="u",container="setup"} 0
        kube_pod_init_container_status_waiting{namespace="ns",pod="p",uid="u",container="sidecar"} 1
        kube_pod_init_container_status_waiting{namespace="ns",pod="p",uid="u",container="third"} 0
        kube_pod_init_container_status_waiting_reason{namespace="ns",pod="p",uid="u",container="sidecar",reason="CrashLoopBackOff"} 1
    "#]],
    );
}

#[test]
fn containers_and_init_containers_do_not_mix() {
    check_with(
        &RESOURCE,
        &only(&["kube_pod_container_info", "kube_pod_container_resource_limits", "kube_pod_container_status_waiting"]),
        POD,
        expect![[r#"
            kube_pod_container_info{namespace="ns",pod="p",uid="u",container="app",image_spec="i",image="",image_id="",container_id=""} 1
            kube_pod_container_resource_limits{namespace="ns",pod="p",uid="u",container="app",node="n",resource="cpu",unit="core"} 9
            kube_pod_container_status_waiting{namespace="ns",pod="p",uid="u",container="app"} 1
            kube_pod_container_status_waiting_reason{namespace="ns",pod="p",uid="u",container="app",reason="PodInitializing"} 1
        "#]],
    );
}

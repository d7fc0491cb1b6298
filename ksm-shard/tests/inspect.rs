//! `render` and `explain` through the binary.

#[path = "../../ksm-core/tests/support/cluster.rs"]
mod cluster;
#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use std::io::Write;
use std::process::{Command, Stdio};

use cluster::ApiServer;
use program::{Folder, Running, addresses, failed, get, refused, run, until};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-shard");

const MANIFESTS: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: p1, namespace: a, uid: u1, labels: {app: web}}
spec: {nodeName: n1}
---
# Nothing here.
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p2, namespace: b, uid: u2}
- apiVersion: v1
  kind: Node
  metadata: {name: n1, uid: u3}
- apiVersion: example.test/v1
  kind: Gadget
  metadata: {name: g}
- apiVersion: v1
  kind: Pod
  metadata: {name: broken, namespace: b}
  spec: 7
";

fn pods(body: &str) -> Vec<&str> {
    let infos = body.lines().filter(|line| line.starts_with("kube_pod_info{"));
    infos.filter_map(|line| line.split(",pod=\"").nth(1)?.split('"').next()).collect()
}

#[test]
fn manifests_are_rendered_as_a_server_would_serve_them() {
    let folder = Folder::new("render");
    let file = folder.write("manifests.yaml", MANIFESTS);
    let rendered = run(PROGRAM, &["render", "-f", &file]);
    assert_eq!(rendered.code, Some(0), "{}", rendered.stderr);
    assert_eq!(pods(&rendered.stdout), ["p1", "p2"]);
    assert!(rendered.stdout.contains("kube_node_info{node=\"n1\""), "{}", rendered.stdout);
    assert!(rendered.stderr.contains("note: skipped 1 of example.test/v1 Gadget, which is not served"));
    assert!(rendered.stderr.contains("warning: skipped Pod b/broken: "), "{}", rendered.stderr);

    let of = |options: &[&str]| run(PROGRAM, &[&["render", "-f", &file], options].concat()).stdout;
    assert_eq!(pods(&of(&["--namespaces=a"])), ["p1"]);
    assert_eq!(pods(&of(&["--namespaces-denylist=a"])), ["p2"]);
    assert_eq!(pods(&of(&["--node=n1"])), ["p1"]);
    assert_eq!(pods(&of(&["--track-unscheduled-pods"])), ["p2"]);
    assert_eq!(pods(&of(&["--resources=nodes"])), [""; 0]);
    assert_eq!(pods(&of(&["--object-limit=1"])), ["p1"]);
    assert!(of(&["--metric-labels-allowlist=pods=[app]"]).contains("label_app=\"web\""));
    assert!(of(&["--metric-allowlist=kube_pod_info"]).lines().all(|line| line.contains("kube_pod_info")));
    assert!(of(&["--openmetrics"]).ends_with("# EOF\n"));
    let shards: Vec<String> = ["0", "1"].map(|shard| of(&["--total-shards=2", &format!("--shard={shard}")])).into();
    assert_eq!(shards.iter().map(|body| pods(body).len()).sum::<usize>(), 2);
}

#[test]
fn json_of_kubectl_comes_over_stdin() {
    let item = |name: &str| json!({"metadata": {"name": name, "namespace": "a", "uid": name}});
    let list = json!({"kind": "PodList", "apiVersion": "v1", "items": [item("p1"), item("p2")]});
    let mut child = Command::new(PROGRAM)
        .args(["render", "-f", "-"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(list.to_string().as_bytes()).expect("stdin is read");
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success());
    assert_eq!(pods(&String::from_utf8_lossy(&output.stdout)), ["p1", "p2"]);
}

#[test]
fn what_is_rendered_is_what_is_served() {
    let server = ApiServer::start();
    for name in ["p1", "p2", "p3"] {
        let metadata = json!({"name": name, "namespace": "a", "labels": {"app": name}});
        server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
    }
    let options = ["--resources=pods", "--metric-labels-allowlist=pods=[*]"];
    let running = server.program(PROGRAM, &options);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    let folder = Folder::new("served");
    let items = server.testbed.cluster().list("pods").expect("pods are listed");
    let file = folder.write("pods.json", &json!({"kind": "List", "apiVersion": "v1", "items": items}).to_string());
    let sorted = |body: &str| {
        let mut lines: Vec<String> = body.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let rendered = run(PROGRAM, &[&["render", "-f", &file], &options[..]].concat());
    assert_eq!(sorted(&rendered.stdout), sorted(&get(&metrics, "/metrics").1));
    // And a running target is explained like its manifests.
    let url = format!("http://{metrics}/metrics");
    let explained = [&["explain", "--url", &url][..], &["explain", "-f", &file, options[0], options[1]]]
        .map(|arguments| run(PROGRAM, arguments));
    assert_eq!(explained[0].stdout, explained[1].stdout, "{}", explained[0].stderr);
    assert!(explained[0].stdout.contains("kube_pod_labels "), "{}", explained[0].stdout);
}

#[test]
fn an_exposition_is_explained_by_family_and_label() {
    let folder = Folder::new("explain");
    let file = folder.write("manifests.yaml", MANIFESTS);
    let explained = run(PROGRAM, &["explain", "-f", &file]).stdout;
    assert!(explained.lines().next().is_some_and(|line| line.contains(" families, ")), "{explained}");
    for expected in ["kube_pod_info ", "\nlabel ", "\nnamespace ", "\n--metric-denylist='^(", "labels that take most"] {
        assert!(explained.contains(expected), "{expected} in\n{explained}");
    }
    let saved = run(PROGRAM, &["explain", "-f", &file, "--metric-denylist=^kube_pod_"]).stdout;
    let line = saved.lines().last().unwrap_or_default();
    assert!(line.starts_with("the lists given save ") && line.contains(" samples ("), "{saved}");
    assert!(saved.contains("kube_pod_info "), "what would be saved is shown: {saved}");
    // An exposition in a file is as good as a target.
    let body = run(PROGRAM, &["render", "-f", &file]).stdout;
    let file = folder.write("metrics.txt", &body);
    let again = run(PROGRAM, &["explain", "-f", &file]).stdout;
    assert_eq!(again, explained);
}

#[test]
fn the_file_and_the_environment_count_for_manifests_too() {
    let folder = Folder::new("inspected");
    let manifests = folder.write("manifests.yaml", MANIFESTS);
    let config = folder.write("ksm.yaml", "namespaces: [a]\nresources: [pods]\n");
    let with = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.env_clear().envs(variables.iter().copied()).args(arguments).args(["-f", &manifests]);
        Running::spawn(command).ended()
    };
    let variables = [("KSM_CONFIG", config.as_str())];
    assert_eq!(pods(&with(&variables, &["render"]).stdout), ["p1"]);
    assert_eq!(with(&variables, &["render"]).stdout, with(&[], &["render", "--config", &config]).stdout);
    assert_eq!(with(&variables, &["explain"]).stdout, with(&[], &["explain", "--config", &config]).stdout);
    assert_ne!(with(&variables, &["explain"]).stdout, with(&[], &["explain"]).stdout);
    assert_eq!(pods(&with(&[("KSM_NAMESPACES", "b")], &["render"]).stdout), ["p2"]);
    let absent = folder.path("absent");
    let outcome = with(&[("KSM_CONFIG", &absent)], &["render"]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let outcome = with(&[("KSM_CONFIG", &absent), ("KSM_CONTINUE_WITHOUT_CONFIG", "1")], &["render"]);
    assert_eq!((outcome.code, pods(&outcome.stdout).len()), (Some(0), 2), "{}", outcome.stderr);
}

#[test]
fn a_version_that_is_not_read_is_told_with_the_one_that_is() {
    let folder = Folder::new("versions");
    let metadata = "metadata: {name: h, namespace: a, uid: u}";
    let kind = "kind: HorizontalPodAutoscaler";
    let file = folder.write("hpa.yaml", &format!("apiVersion: autoscaling/v1\n{kind}\n{metadata}\n"));
    let said = run(PROGRAM, &["render", "-f", &file]).stderr;
    let expected = "note: skipped 1 of autoscaling/v1 HorizontalPodAutoscaler, which is not served in this version; \
                    kubectl get horizontalpodautoscalers.v2.autoscaling gives the one that is\n";
    assert_eq!(said, expected);
}

#[test]
fn a_guarded_target_is_explained_from_what_another_program_fetched() {
    // As `curl … | ksm-shard explain` does.
    let folder = Folder::new("fetched");
    let file = folder.write("manifests.yaml", MANIFESTS);
    let body = run(PROGRAM, &["render", "-f", &file]).stdout;
    let mut child = Command::new(PROGRAM)
        .arg("explain")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(body.as_bytes()).expect("stdin is read");
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), run(PROGRAM, &["explain", "-f", &file]).stdout);
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = Folder::new("unreadable");
    let absent = folder.path("absent");
    failed(PROGRAM, &["render", "-f", &absent], 1, &format!("cannot read {absent}: No such file"));
    let broken = folder.write("broken.yaml", "a: [secret");
    failed(PROGRAM, &["render", "-f", &broken], 1, &format!("{broken}: "));
    assert!(!run(PROGRAM, &["render", "-f", &broken]).stderr.contains("secret"));
    failed(PROGRAM, &["explain", "--url=http://127.0.0.1:1/metrics"], 1, "http://127.0.0.1:1/metrics: ");
    failed(PROGRAM, &["explain", "--url=x"], 1, "x: no URL");
    refused(PROGRAM, &["--resources=pods", "render"], "cannot be used with");
}

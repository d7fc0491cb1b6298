//! Options through the binary, against a simulated API server: what is asked for is what is read and served.

#[path = "../../ksm-core/tests/support/cluster.rs"]
mod cluster;
#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use cluster::ApiServer;
use ksm_testbed::{Fault, Verb, WatchFault};
use program::{Folder, Running, addresses, failed, get, refused, run, until};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-shard");

/// Pods `a`, `b` and `c` in namespaces of the same names, the first on a node; and the node.
fn small() -> ApiServer {
    let server = ApiServer::start();
    for name in ["a", "b", "c"] {
        server.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        let spec = if name == "a" { json!({"nodeName": "n1"}) } else { json!({}) };
        let metadata = json!({"name": name, "namespace": name, "labels": {"app": name}});
        server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}));
    }
    server.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    server
}

/// What is served with these options once everything is listed, and the self-metrics.
fn served(server: &ApiServer, options: &[&str]) -> (String, String) {
    let running = server.program(PROGRAM, options);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    (get(&metrics, "/metrics").1, get(&telemetry, "/metrics").1)
}

/// Namespaces of the pods that are served.
fn pods(body: &str) -> Vec<&str> {
    let infos = body.lines().filter(|line| line.starts_with("kube_pod_info{"));
    let mut names: Vec<&str> = infos.filter_map(|line| line.split("namespace=\"").nth(1)?.split('"').next()).collect();
    names.sort_unstable();
    names
}

const RESOURCES: &str = "--resources=pods,nodes,namespaces";

#[test]
fn a_denied_namespace_is_left_out_and_cluster_scoped_resources_are_not() {
    // R26, https://github.com/kubernetes/kube-state-metrics/issues/2190
    let server = small();
    let (body, _) = served(&server, &[RESOURCES, "--namespaces-denylist=b"]);
    assert_eq!(pods(&body), ["a", "c"]);
    assert!(body.contains("kube_node_info{") && body.contains("kube_namespace_created{namespace=\"b\"}"), "{body}");
    let selectors = |resource: &str| {
        let records = server.testbed.stats().records();
        let of = records.iter().filter(|record| record.resource == resource);
        of.map(|record| record.parameter("fieldSelector").map(str::to_owned)).collect::<Vec<_>>()
    };
    assert!(selectors("pods").iter().all(|selector| selector.as_deref() == Some("metadata.namespace!=b")));
    assert!(selectors("nodes").iter().chain(&selectors("namespaces")).all(Option::is_none));
    let (body, _) = served(&server, &[RESOURCES, "--namespaces=a,b", "--namespaces-denylist=b"]);
    assert_eq!(pods(&body), ["a"]);
}

#[test]
fn pods_are_selected_by_node_or_by_having_none() {
    let server = small();
    assert_eq!(pods(&served(&server, &["--node=n1"]).0), ["a"]);
    assert_eq!(pods(&served(&server, &["--track-unscheduled-pods"]).0), ["b", "c"]);
    let message = "--resources: \"nodes\": only pods can be selected by node";
    refused(PROGRAM, &["--track-unscheduled-pods", "--resources=nodes"], message);
}

#[test]
fn an_object_limit_bounds_every_list_and_is_shown() {
    // R34, https://github.com/kubernetes/kube-state-metrics/issues/3085
    let server = ApiServer::start();
    for i in 0..1200 {
        let metadata = json!({"name": format!("cm-{i}"), "namespace": "x"});
        server.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
    }
    for (limit, lists) in [("100", 1), ("700", 2)] {
        server.testbed.stats().reset();
        // Again after a 410: the list that follows is no longer than the first.
        let gone = Fault::Watch { after: 0, event: WatchFault::Error { code: 410 } };
        server.testbed.faults().add(gone.on("configmaps", Verb::Watch, 1));
        let limit_flag = format!("--object-limit={limit}");
        let running = server.program(PROGRAM, &["--resources=configmaps", &limit_flag, "--use-apiserver-cache"]);
        let [metrics, telemetry] = addresses(&running.line());
        let relisted = "kube_state_metrics_sharded_relists_total{resource=\"configmaps\"} 1\n";
        until("it is relisted", || get(&telemetry, "/metrics").1.contains(relisted));
        let body = get(&metrics, "/metrics").1;
        let count = body.lines().filter(|line| line.starts_with("kube_configmap_info{")).count();
        assert_eq!(count.to_string(), limit);
        let told = get(&telemetry, "/metrics").1;
        for name in ["kube_state_metrics_list_objects", "kube_state_metrics_list_objects_limit"] {
            assert!(told.contains(&format!("{name}{{resource=\"configmaps\"}} {limit}.0")), "{told}");
        }
        assert_eq!(server.testbed.stats().requests("configmaps", Verb::List), 2 * lists);
        assert_eq!(server.testbed.stats().requests("configmaps", Verb::StreamedList), 0);
        running.terminate();
        let log = running.ended().stderr;
        assert!(log.contains(&format!("{limit_flag}: what is served may be partial")), "{log}");
    }
}

#[test]
fn options_come_from_the_environment() {
    let server = small();
    let mut command = Command::new(PROGRAM);
    command.env_clear().env("KSM_APISERVER", server.testbed.url()).env("KSM_HOST", "127.0.0.1").env("KSM_PORT", "0");
    command.env("KSM_TELEMETRY_HOST", "127.0.0.1").env("KSM_TELEMETRY_PORT", "0").env("KSM_NAMESPACES", "a,b");
    command.env("KSM_RESOURCES", "nodes").env("KSM_TYPO", "x").env("KSM_SERVICE_HOST", "10.0.0.1");
    // Flags override the environment.
    command.arg("--resources=pods");
    let running = Running::spawn(command);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    assert_eq!(pods(&get(&metrics, "/metrics").1), ["a", "b"]);
    running.terminate();
    let log = running.ended().stderr;
    assert!(log.contains("KSM_TYPO in the environment sets no option of ksm-shard"), "{log}");
    assert!(!log.contains("KSM_SERVICE_HOST"), "{log}");
    // A Service called ksm is no port.
    let mut command = Command::new(PROGRAM);
    command.env_clear().env("KSM_PORT", "tcp://10.0.0.1:8080").arg("version");
    assert_eq!(Running::spawn(command).ended().code, Some(0));
}

/// How long the body of a scrape is; nothing if it is cut.
fn scraped(metrics: &str) -> Option<usize> {
    let mut stream = program::connect(metrics);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    let (head, body) = reply.split_once("\r\n\r\n")?;
    let announced = format!("content-length: {}", body.len());
    head.lines().any(|line| line.eq_ignore_ascii_case(&announced)).then_some(body.len())
}

/// A connection on which the answer to a scrape has begun; nothing if it is cut before.
fn begun(metrics: &str) -> Option<TcpStream> {
    let mut stream = program::connect(metrics);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: test\r\n\r\n").ok()?;
    stream.read_exact(&mut [0; 12]).ok()?;
    Some(stream)
}

#[test]
fn a_slow_reader_is_cut_by_the_write_limit_given() {
    // R33: whoever does not read is cut, and nobody else notices.
    let server = ApiServer::start();
    let long = "v".repeat(200_000);
    for i in 0..60 {
        let metadata = json!({"name": format!("cm-{i}"), "namespace": "x", "annotations": {"long": long}});
        server.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
    }
    let options = [
        "--resources=configmaps",
        "--metric-annotations-allowlist=configmaps=[long]",
        "--server-write-timeout=500ms",
        "--server-read-header-timeout=500ms",
        "--server-idle-timeout=500ms",
    ];
    let running = server.program(PROGRAM, &options);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    // Where the machine halts for so long, who does read is cut as well, and tries again.
    let mut slow = None;
    until("a response begins", || {
        slow = begun(&metrics);
        slow.is_some()
    });
    // One that never ends its header.
    let mut silent = program::connect(&metrics);
    silent.write_all(b"GET /met").expect("the request is begun");
    let mut whole = 0;
    until("who reads is served", || {
        whole = scraped(&metrics).unwrap_or(0);
        whole > 0
    });
    assert!(whole > 12_000_000, "{whole}");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let mut read = Vec::new();
    // An end or a reset, but not the whole.
    let _ = slow.expect("it has begun").read_to_end(&mut read);
    assert!(read.len() < whole, "{} of {whole} bytes", read.len());
    assert_eq!(silent.read(&mut [0; 10]).unwrap_or(0), 0);
    until("who reads is served again", || scraped(&metrics) == Some(whole));
}

#[test]
fn patterns_that_take_too_long_are_refused() {
    // R38
    let server = small();
    let (body, _) = served(&server, &[RESOURCES, "--metric-denylist=^kube_(?!pod_|node_).*"]);
    let families = body.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    assert!(families.clone().count() > 10);
    assert!(families.into_iter().all(|name| name.starts_with("kube_pod_") || name.starts_with("kube_node_")));
    served(&server, &[RESOURCES, "--metric-denylist=^([a-z_]+)+[0-9]$"]);
    refused(PROGRAM, &["--metric-denylist=^(?=k*)(([a-z_]+)+)+\\1[0-9]$"], "takes too long");
}

#[test]
fn lists_add_up_but_label_lists_do_not() {
    // R40, https://github.com/kubernetes/kube-state-metrics/issues/1705
    let server = small();
    let (body, _) =
        served(&server, &["--resources=pods", "--resources= nodes,\n", "--metric-denylist=kube_node_.*,\n  x"]);
    assert!(body.contains("kube_pod_info{") && !body.contains("kube_node_"));
    let lists = ["--metric-labels-allowlist=nodes=[app]", "--metric-labels-allowlist=pods=[app]"];
    let (body, _) = served(&server, &[&[RESOURCES][..], &lists].concat());
    assert!(body.contains("label_app=\"a\"") && !body.contains("kube_node_labels{node"), "{body}");
}

#[test]
fn a_configuration_file_is_taken_or_named() {
    let folder = Folder::new("config");
    let server = small();
    let file = folder.write("ksm.yaml", "resources:\n  namespaces: {}\nunheard_of: 1\n");
    let running = server.program(PROGRAM, &["--resources=pods", "--config", &file]);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    let body = get(&metrics, "/metrics").1;
    assert!(body.contains("kube_namespace_created{") && !body.contains("kube_pod_info"));
    running.terminate();
    let log = running.ended().stderr;
    assert!(log.contains("configuration file: no such key: unheard_of"), "{log}");
    let broken = folder.write("broken.yaml", "port: many");
    failed(
        PROGRAM,
        &["--config", &broken],
        1,
        &format!("cannot use configuration file {broken}: invalid value 'many'"),
    );
    failed(PROGRAM, &["--config", &folder.path("absent")], 1, "No such file or directory");
}

#[test]
fn names_in_a_file_stay_as_they_are_written() {
    let server = ApiServer::start();
    for name in ["se", "no", "1e3", "007"] {
        let metadata = json!({"name": name, "namespace": name, "labels": {"y": name}});
        server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": name}}));
    }
    let folder = Folder::new("words");
    let with = |content: &str| {
        let file = folder.write("ksm.yaml", &format!("resources: [pods]\n{content}"));
        served(&server, &["--config", &file])
    };
    assert_eq!(pods(&with("namespaces: [se, no]\n").0), ["no", "se"]);
    assert_eq!(pods(&with("namespaces: {no: {}, 1e3: {}, 007: {}}\n").0), ["007", "1e3", "no"]);
    assert_eq!(pods(&with("namespaces: no\n").0), ["no"]);
    assert_eq!(pods(&with("node: 1e3\n").0), ["1e3"]);
    assert_eq!(pods(&with("namespaces_denylist: [no, 007]\n").0), ["1e3", "se"]);
    assert_eq!(pods(&with("node: ~\nnamespaces: null\n").0).len(), 4);
    let labels = with("namespaces: [no]\nlabels_allow_list: {pods: [y]}\n").0;
    assert!(labels.contains("label_y=\"no\""), "{labels}");
    // Where a switch or a number is meant, YAML may say it in its own ways.
    let (_, told) = with("use_api_server_cache: yes\nobject_limit: 0x2\nserver_idle_timeout: 30000000000\n");
    assert!(told.contains("kube_state_metrics_list_objects_limit{resource=\"pods\"} 2.0"), "{told}");
    let file = folder.write("ksm.yaml", "namespaces: [a, ~]\n");
    failed(PROGRAM, &["--config", &file], 1, "namespaces: expected a list of names");
}

#[test]
fn a_file_overrides_the_environment_and_one_that_is_there_is_taken_though_it_need_not_be() {
    let server = small();
    let folder = Folder::new("optional");
    let file = folder.write("ksm.yaml", "namespaces: [c]\n");
    let url = server.testbed.url();
    for flags in [&[][..], &["--namespaces=b"]] {
        let mut command = Command::new(PROGRAM);
        command.env_clear().env("KSM_NAMESPACES", "a,b").env("KSM_CONFIG", &file);
        command.env("KSM_CONTINUE_WITHOUT_CONFIG", "true").args(["--apiserver", &url, RESOURCES]).args(flags);
        command.args(["--host=127.0.0.1", "--port=0", "--telemetry-host=127.0.0.1", "--telemetry-port=0"]);
        let running = Running::spawn(command);
        let [metrics, telemetry] = addresses(&running.line());
        until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
        assert_eq!(pods(&get(&metrics, "/metrics").1), ["c"], "{flags:?}");
        running.terminate();
        let log = running.ended().stderr;
        assert!(!log.contains("configuration file"), "{log}");
    }
}

#[test]
fn lists_that_leave_nothing_are_warned_of() {
    let server = small();
    let log = |options: &[&str]| {
        let running = server.program(PROGRAM, options);
        running.line();
        running.terminate();
        running.ended().stderr
    };
    let warning = "leaves no family of the resources served";
    let nothing = log(&[RESOURCES, "--metric-allowlist=kube_deployment_.*"]);
    assert!(nothing.contains(&format!("--metric-allowlist {warning}")), "{nothing}");
    let nothing = log(&[RESOURCES, "--metric-denylist=kube"]);
    assert!(nothing.contains(&format!("--metric-denylist {warning}")), "{nothing}");
    assert!(!log(&[RESOURCES, "--metric-allowlist=kube_pod_info"]).contains(warning));
}

#[test]
fn what_cannot_be_honoured_is_refused_and_what_has_no_meaning_is_warned_of() {
    refused(PROGRAM, &["--custom-resource-state-config-file=f"], "custom resources are not served yet");
    refused(PROGRAM, &["--port", "-1"], "invalid value '-1' for '--port <PORT>': -1 is not in 0..=65535");
    let server = small();
    let options = ["--auto-gomemlimit", "--logtostderr=false", "--log_file=x", "--stderrthreshold=2", "--vmodule=a=1"];
    let running = server.program(PROGRAM, &options);
    running.line();
    running.terminate();
    let log = running.ended().stderr;
    assert_eq!(log.matches(" has no effect: ").count(), 5, "{log}");
}

#[test]
fn help_is_grouped_and_completions_are_printed() {
    let help = run(PROGRAM, &["--help"]).stdout;
    for heading in
        ["API server:", "Serving:", "What to watch:", "Metrics:", "Guards:", "Configuration file:", "Logging:"]
    {
        assert!(help.contains(&format!("\n{heading}\n")), "{heading}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = run(PROGRAM, &["completion", shell]);
        assert!(script.code == Some(0) && script.stdout.contains("metric-labels-allowlist"), "{shell}");
    }
    assert_eq!(run(PROGRAM, &["help"]).stdout, help);
    assert_eq!(run(PROGRAM, &["help", "render"]).stdout, run(PROGRAM, &["render", "--help"]).stdout);
    refused(PROGRAM, &["completion", "dos"], "invalid value 'dos' for '<SHELL>'");
}

#[test]
fn the_page_of_options_is_what_the_binary_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/options.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let table = run(PROGRAM, &["options"]).stdout;
    assert!(page.contains(&table), "docs/options.md is not what the binaries say: run `cargo xtask docs`");
}

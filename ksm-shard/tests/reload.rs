//! Files that change while the binary runs: nothing is lost, and what is wrong changes nothing.

#[path = "../../ksm-core/tests/support/cluster.rs"]
mod cluster;
#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use cluster::ApiServer;
use ksm_testbed::{Fault, Verb};
use program::{Folder, addresses, get, until};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-shard");

fn pods(server: &ApiServer, count: usize) {
    for i in 0..count {
        let metadata = json!({"name": format!("p-{i}"), "namespace": "x", "labels": {"app": "a", "team": "t"}});
        server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
    }
}

fn samples(body: &str, family: &str) -> usize {
    body.lines().filter(|line| line.starts_with(family) && line[family.len()..].starts_with('{')).count()
}

/// The value of a self-metric of the configuration file.
fn told(telemetry: &str, name: &str) -> String {
    let body = get(telemetry, "/metrics").1;
    let line = body.lines().find(|line| line.starts_with(&format!("{name}{{type=\"config\"")));
    line.and_then(|line| line.rsplit(' ').next()).unwrap_or_default().to_owned()
}

const SUCCESSFUL: &str = "kube_state_metrics_last_config_reload_successful";
const HASH: &str = "kube_state_metrics_config_hash";

#[test]
fn twenty_changes_in_ten_seconds_lose_no_scrape() {
    // R35, https://github.com/kubernetes/kube-state-metrics/issues/3070
    let server = ApiServer::start();
    pods(&server, 2000);
    let folder = Folder::new("reload");
    // Three of them, so that whoever looks once a second finds another one each time.
    let content = |i: usize| format!("labels_allow_list: {{pods: [{}]}}\n", ["app", "team", "app, other"][i % 3]);
    let file = folder.write("ksm.yaml", &content(0));
    let running = server.program(PROGRAM, &["--resources=pods", "--config", &file]);
    let process = running.id();
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    let first_hash = told(&telemetry, HASH);
    let (stop, scrapes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let scraper = {
        let (stop, scrapes, metrics) = (Arc::clone(&stop), Arc::clone(&scrapes), metrics.clone());
        thread::spawn(move || {
            while !stop.load(Relaxed) {
                let (status, body) = get(&metrics, "/metrics");
                // All pods, with labels of the one configuration or the other, never of both.
                assert_eq!((status, samples(&body, "kube_pod_info")), (200, 2000));
                let [app, team] = ["label_app=", "label_team="].map(|label| body.matches(label).count());
                assert!([(2000, 0), (0, 2000)].contains(&(app, team)), "{app} {team}");
                scrapes.fetch_add(1, Relaxed);
            }
        })
    };
    // On a slow machine it takes more of them until some were taken up, and scraped.
    let (started, mut changes) = (Instant::now(), 0);
    let reloads = || running.said().matches("new configuration in use").count();
    while (changes < 20 || reloads() < 5 || scrapes.load(Relaxed) <= 20) && !scraper.is_finished() {
        assert!(started.elapsed() < Duration::from_secs(180), "{} reloads, {scrapes:?} scrapes", reloads());
        changes += 1;
        folder.write("ksm.yaml", &content(changes));
        thread::sleep(Duration::from_millis(500));
    }
    folder.write("ksm.yaml", &content(1));
    until("the last content is in use", || get(&metrics, "/metrics").1.contains("label_team="));
    until("its hash is shown", || told(&telemetry, HASH) != first_hash);
    assert_eq!(told(&telemetry, SUCCESSFUL), "1");
    stop.store(true, Relaxed);
    scraper.join().expect("no scrape fails");
    assert_eq!(running.id(), process);
    running.terminate();
    let outcome = running.ended();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn a_bad_file_changes_nothing_and_a_good_one_is_taken() {
    let server = ApiServer::start();
    pods(&server, 3);
    server.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    let folder = Folder::new("bad-reload");
    let file = folder.path("ksm.yaml");
    // R37: it need not be there at first.
    let options = ["--resources=pods", "--continue-without-config", "--config", &file];
    let running = server.program(PROGRAM, &options);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    assert_eq!(told(&telemetry, SUCCESSFUL), "0");
    folder.write("ksm.yaml", "resources: [nodes]\n");
    until("the file is taken", || samples(&get(&metrics, "/metrics").1, "kube_node_info") == 1);
    until("it is said so", || told(&telemetry, SUCCESSFUL) == "1");
    let hash = told(&telemetry, HASH);
    for bad in ["resources: [podz]", "resources: [", "metric_denylist: ['(']"] {
        folder.write("ksm.yaml", bad);
        until("the bad file is noticed", || told(&telemetry, SUCCESSFUL) == "0");
        let body = get(&metrics, "/metrics").1;
        assert_eq!((samples(&body, "kube_node_info"), samples(&body, "kube_pod_info")), (1, 0), "{bad}");
        assert_eq!(told(&telemetry, HASH), hash);
        folder.write("ksm.yaml", "resources: [nodes]\n");
        until("the good file is taken again", || told(&telemetry, SUCCESSFUL) == "1");
    }
    running.terminate();
    let log = running.ended().stderr;
    assert!(log.contains("new configuration cannot be used, going on with the one before"), "{log}");
}

#[test]
fn what_counts_at_the_next_start_only_is_said_and_shown() {
    let server = ApiServer::start();
    pods(&server, 3);
    let folder = Folder::new("fixed");
    let file = folder.write("ksm.yaml", "resources: [pods]\nserver_idle_timeout: 30s\n");
    let running = server.program(PROGRAM, &["--config", &file]);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    let pending = || {
        let body = get(&telemetry, "/metrics").1;
        let keys =
            body.lines().filter_map(|line| line.strip_prefix("kube_state_metrics_sharded_restart_needed{key=\""));
        keys.filter_map(|rest| rest.strip_suffix("\"} 1")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(pending(), Vec::<String>::new());
    let web = folder.write("web.yaml", "basic_auth_users: {u: x}\n");
    for (content, keys) in [
        ("host: 127.0.0.2\n", &["host", "server_*_timeout"][..]),
        ("port: 1\ntelemetry_port: 2\nserver_idle_timeout: 30s\n", &["port", "telemetry_port"]),
        (
            "telemetry_host: 127.0.0.2\nauth_filter: true\nserver_idle_timeout: 30s\n",
            &["telemetry_host", "auth_filter"],
        ),
        ("shard_by: md5\nserver_idle_timeout: 30s\n", &["shard_by"]),
        (&format!("tls_config: {web}\nserver_idle_timeout: 30s\n"), &["tls_config"]),
        ("server_idle_timeout: 30s\n", &[]),
    ] {
        folder.write("ksm.yaml", &format!("resources: [pods]\n{content}"));
        until("it is shown", || pending() == keys);
        until("the rest is in use", || told(&telemetry, SUCCESSFUL) == "1");
        // Neither bound anew, nor asked for a password or token.
        assert_eq!(samples(&get(&metrics, "/metrics").1, "kube_pod_info"), 3);
    }
    running.terminate();
    let log = running.ended().stderr;
    for said in
        ["host, server_*_timeout", "port, telemetry_port", "telemetry_host, auth_filter", "shard_by", "tls_config"]
    {
        assert_eq!(log.matches(&format!("{said}: taken at the next start only")).count(), 1, "{said}: {log}");
    }
}

#[test]
fn what_is_logged_changes_with_the_file() {
    let server = ApiServer::start();
    pods(&server, 3);
    let folder = Folder::new("verbosity");
    let file = folder.write("ksm.yaml", "resources: [pods]\n");
    let running = server.program(PROGRAM, &["--config", &file]);
    let [_, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    let hash = told(&telemetry, HASH);
    let mut hashes = vec![hash];
    for verbosity in [10, 0, 1] {
        folder.write("ksm.yaml", &format!("resources: [pods]\nv: {verbosity}\n"));
        until("it is in use", || !hashes.contains(&told(&telemetry, HASH)));
        hashes.push(told(&telemetry, HASH));
        // Something to log at level 10, which every connection is.
        server.testbed.cluster().compact();
        get(&telemetry, "/livez");
    }
    running.terminate();
    let log = running.ended().stderr;
    // What is logged changes a moment before it is said: other threads may use that moment.
    let (before, _) = log.split_once("synced").expect("it is said");
    let (_, after) = log.split_once("new configuration in use").expect("it is said");
    let (between, after) = after.split_once("new configuration in use").expect("it is said twice");
    // Whoever was about to log something does so a moment later: what counts is the next list.
    let (_, after) = after.split_once("new configuration, listing aside").expect("there is a third one");
    assert!(!before.contains("TRACE") && between.contains("TRACE") && !after.contains("TRACE"), "{log}");
}

#[test]
fn every_event_is_logged_at_verbosity_six() {
    for (verbosity, is_logged) in [(6, true), (5, false)] {
        let server = ApiServer::start();
        pods(&server, 1);
        let running = server.program(PROGRAM, &["--resources=pods", &format!("-v={verbosity}")]);
        let [metrics, telemetry] = addresses(&running.line());
        until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
        server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late", "namespace": "shop"}}));
        until("it is served", || get(&metrics, "/metrics").1.contains("pod=\"late\""));
        running.terminate();
        let log = running.ended().stderr;
        let is_event = |line: &&str| ["TRACE", "Added", "late", "shop"].iter().all(|word| line.contains(word));
        assert_eq!(log.lines().filter(is_event).count(), usize::from(is_logged), "{log}");
    }
}

#[test]
fn a_configuration_that_cannot_be_listed_is_told_and_the_one_before_stays() {
    let server = ApiServer::start();
    pods(&server, 3);
    server.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    let folder = Folder::new("unlistable");
    let file = folder.write("ksm.yaml", "resources: [pods]\n");
    let running = server.program(PROGRAM, &["--config", &file]);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    let hash = told(&telemetry, HASH);
    let waiting = || {
        let body = get(&telemetry, "/metrics").1;
        let lines = body.lines().filter(|line| line.starts_with("kube_state_metrics_sharded_reload_waiting{"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(waiting(), [""; 0]);
    for verb in [Verb::List, Verb::StreamedList] {
        server.testbed.faults().add(Fault::Status { code: 500, retry_after: None }.always_on("nodes", verb));
    }
    folder.write("ksm.yaml", "resources: [pods, nodes]\n");
    let nodes = ["kube_state_metrics_sharded_reload_waiting{resource=\"nodes\"} 1.0"];
    until("it is said what is waited for", || waiting() == nodes);
    until("it is said to have failed", || told(&telemetry, SUCCESSFUL) == "0");
    let body = get(&metrics, "/metrics").1;
    assert_eq!((samples(&body, "kube_pod_info"), samples(&body, "kube_node_info")), (3, 0));
    assert_eq!(told(&telemetry, HASH), hash);
    // Back again: nothing is waited for.
    folder.write("ksm.yaml", "resources: [pods]\n");
    until("nothing is waited for", || waiting().is_empty());
    until("nothing has failed", || told(&telemetry, SUCCESSFUL) == "1");
    folder.write("ksm.yaml", "resources: [pods, nodes]\n");
    until("it is said again", || waiting() == nodes);
    server.testbed.faults().clear();
    until("it is in use", || samples(&get(&metrics, "/metrics").1, "kube_node_info") == 1);
    until("that is told", || told(&telemetry, HASH) != hash && waiting().is_empty());
    running.terminate();
    let log = running.ended().stderr;
    assert_eq!(log.matches("new configuration, listing aside").count(), 3, "{log}");
}

#[test]
fn two_files_that_change_at_once_are_both_taken() {
    // R35: a mounted ConfigMap is a folder of links, all of which change with the one link `..data`.
    let (old, new) = (ApiServer::start(), ApiServer::start());
    pods(&old, 3);
    new.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    let folder = Folder::new("mounted");
    let content = |version: &str, config: &str, server: &ApiServer| {
        std::fs::create_dir(folder.path(version)).expect("a folder can be made");
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: \"{}\"}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n",
            server.testbed.url()
        );
        std::fs::write(folder.path(&format!("{version}/ksm.yaml")), config).expect("a file can be written");
        std::fs::write(folder.path(&format!("{version}/kubeconfig")), kubeconfig).expect("a file can be written");
        let link = folder.path("..data_tmp");
        std::os::unix::fs::symlink(version, &link).expect("a link can be made");
        std::fs::rename(&link, folder.path("..data")).expect("a link can be exchanged");
    };
    content("..1", "resources: [pods]\n", &old);
    for name in ["ksm.yaml", "kubeconfig"] {
        let target = format!("..data/{name}");
        std::os::unix::fs::symlink(target, folder.path(name)).expect("a link can be made");
    }
    let options = ["--host=127.0.0.1", "--port=0", "--telemetry-host=127.0.0.1", "--telemetry-port=0"];
    let (config, kubeconfig) = (folder.path("ksm.yaml"), folder.path("kubeconfig"));
    let files = ["--config", &config, "--kubeconfig", &kubeconfig];
    let running = program::Running::start(PROGRAM, &[&options[..], &files].concat());
    let [metrics, _] = addresses(&running.line());
    until("pods are served", || samples(&get(&metrics, "/metrics").1, "kube_pod_info") == 3);
    content("..2", "resources: [nodes]\n", &new);
    until("both are in use", || samples(&get(&metrics, "/metrics").1, "kube_node_info") == 1);
    assert_eq!(samples(&get(&metrics, "/metrics").1, "kube_pod_info"), 0);
}

//! What users of other exporters have met, tried on the binary: missing rights, rotated tokens, an API server that does
//! not answer, and the end of a process.

#[path = "../../ksm-core/tests/support/cluster.rs"]
mod cluster;
#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use cluster::ApiServer;
use ksm_testbed::{Denial, Testbed, Token};
use program::{ALONE, Folder, Running, addresses, ask, connect, get, until};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-shard");

const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];

const PLACE: [&str; 4] = ["--host=127.0.0.1", "--port=0", "--telemetry-host=127.0.0.1", "--telemetry-port=0"];

/// A pod and a Secret in each of two namespaces.
fn fill(server: &ApiServer) {
    for namespace in ["team-a", "team-b"] {
        let metadata = json!({"name": "p", "namespace": namespace});
        server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
        server.apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}));
    }
}

/// A kubeconfig of that user.
fn kubeconfig(folder: &Folder, server: &ApiServer, user: &str) -> String {
    folder.write(
        "kubeconfig",
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: \"{}\"}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n",
            server.testbed.url()
        ),
    )
}

fn start(kubeconfig: &str, more: &[&str]) -> (Running, [String; 2]) {
    let kubeconfig = format!("--kubeconfig={kubeconfig}");
    let running = Running::start(PROGRAM, &[&PLACE[..], &[&kubeconfig], more].concat());
    let addresses = addresses(&running.line());
    (running, addresses)
}

fn has(body: &str, family: &str, namespace: &str) -> bool {
    body.lines().any(|line| line.starts_with(family) && line.contains(&format!("{{namespace=\"{namespace}\"")))
}

#[test]
fn what_may_be_read_is_served_and_what_is_refused_is_shown() {
    // R31, https://github.com/kubernetes/kube-state-metrics/issues/2400
    let cluster_wide = Denial { namespace: Some(String::new()), ..Denial::default() };
    let tokens = [Token::new("no-secrets").deny("list", "secrets").deny("watch", "secrets")];
    let team_a = Token::new("team-a").with_denial(cluster_wide);
    let team_a = team_a.with_denial(Denial { namespace: Some("team-b".to_owned()), ..Denial::default() });
    let server =
        ApiServer::start_with(tokens.into_iter().chain([team_a]).fold(Testbed::builder(), ksm_testbed::Builder::token));
    fill(&server);
    for (token, options, pods, secrets, refused) in [
        ("no-secrets", &[][..], &["team-a", "team-b"][..], &[][..], &["secrets"][..]),
        ("team-a", &[], &[], &[], &["pods", "secrets"]),
        ("team-a", &["--namespaces=team-a,team-b"], &["team-a"], &["team-a"], &["pods", "secrets"]),
    ] {
        let folder = Folder::new("rights");
        let config = kubeconfig(&folder, &server, &format!("token: {token}"));
        let (running, [metrics, telemetry]) = start(&config, &[&["--resources=pods,secrets"], options].concat());
        until("readiness does not wait for what is refused", || get(&telemetry, "/readyz").0 == 200);
        let body = get(&metrics, "/metrics").1;
        for namespace in ["team-a", "team-b"] {
            assert_eq!(has(&body, "kube_pod_info", namespace), pods.contains(&namespace), "{token}: {body}");
            assert_eq!(has(&body, "kube_secret_info", namespace), secrets.contains(&namespace), "{token}: {body}");
        }
        let told = get(&telemetry, "/metrics").1;
        for resource in ["pods", "secrets"] {
            let is_refused = f64::from(refused.contains(&resource));
            let shown = format!("kube_state_metrics_sharded_refused{{resource=\"{resource}\"}} {is_refused:?}\n");
            assert!(told.contains(&shown), "{token}: {told}");
            // What may not be read is there.
            let found = format!("kube_state_metrics_sharded_not_found{{resource=\"{resource}\"}} 0.0\n");
            assert!(told.contains(&found), "{token}: {told}");
            let no_error = format!("kube_state_metrics_list_total{{resource=\"{resource}\",result=\"error\"}} 0\n");
            assert_eq!(told.contains(&no_error), !refused.contains(&resource), "{token}: {told}");
        }
        running.terminate();
        let ended = running.ended();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for resource in refused {
            let named = format!("resource=\"{resource}\"");
            let lines = ended.stderr.lines().filter(|line| line.contains("list failed") && line.contains(&named));
            assert!(lines.clone().all(|line| line.contains("answered 403 Forbidden")), "{}", ended.stderr);
            assert_eq!(lines.count(), 1, "{resource}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_mounted_token_that_is_rotated_is_used_within_a_minute() {
    // R36, https://github.com/kubernetes/kube-state-metrics/issues/3080: what the first token may not read comes with
    // the second, and what it may read stays served.
    let first = Token::new("first").deny("list", "secrets").deny("watch", "secrets");
    let server = ApiServer::start_with(Testbed::builder().token(first).token(Token::new("second")));
    fill(&server);
    let folder = Folder::new("mounted");
    let token = folder.write("token", "first");
    let config = kubeconfig(&folder, &server, &format!("tokenFile: {token}"));
    let (_running, [metrics, telemetry]) = start(&config, &["--resources=pods,secrets"]);
    until("what may be read is listed", || get(&telemetry, "/readyz").0 == 200);
    folder.write("token", "second");
    let rotated = Instant::now();
    loop {
        let body = get(&metrics, "/metrics").1;
        assert!(has(&body, "kube_pod_info", "team-a"), "{body}");
        if has(&body, "kube_secret_info", "team-a") {
            break;
        }
        // A minute and the pause between two tries are as it should be, and a slow machine takes its time.
        assert!(rotated.elapsed() < Duration::from_secs(180), "the first token is still in use");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn without_anybody_to_review_tokens_nothing_is_served_but_health_pages() {
    // R44, https://github.com/kubernetes/kube-state-metrics/issues/2924: the API server is away from the start.
    let running = Running::start(PROGRAM, &[&ALONE[..], &["--auth-filter"]].concat());
    for address in addresses(&running.line()) {
        for path in ["/metrics", "/", "/debug/pprof/", "/debug/pprof/profile"] {
            assert_eq!(ask(&address, path, "").0, 401, "{path}");
            let (status, body) = ask(&address, path, "authorization: Bearer some\r\n");
            assert_eq!(status, 503, "{path}");
            assert!(!body.contains("kube_") && !body.contains("ksm"), "{body}");
        }
        assert_eq!(get(&address, "/livez").0, 200);
    }
}

/// Asks every health page of both ports that often; all are to answer soon, and not by asking the API server.
#[track_caller]
fn probe(ports: &[String; 2], times: usize) {
    for address in ports {
        for path in HEALTH {
            let mut took = Vec::new();
            for _ in 0..times {
                let asked = Instant::now();
                assert_eq!(get(address, path), (200, "ok\n".to_owned()), "{path}");
                took.push(asked.elapsed());
            }
            // As a rule: a machine that halts may hold up a few.
            took.sort_unstable();
            assert!(took[times / 2] < Duration::from_secs(1), "{address}{path}: {took:?}");
        }
    }
}

#[test]
fn health_pages_do_not_depend_on_the_api_server() {
    // R46, https://github.com/zacheryph/k8s-gitops/issues/3339, and R47: probes wait for nobody.
    let server = ApiServer::start();
    fill(&server);
    let running = server.program(PROGRAM, &["--resources=pods,secrets"]);
    let ports = addresses(&running.line());
    until("everything is listed", || get(&ports[1], "/readyz").0 == 200);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(server.testbed.down());
    probe(&ports, 5);
    // In its place, one that takes connections and says nothing.
    let address = server.testbed.url().replace("http://", "");
    let silent = TcpListener::bind(address).expect("the port is free again");
    silent.set_nonblocking(true).expect("a listener can be told not to wait");
    let mut held: Vec<TcpStream> = Vec::new();
    until("the silent API server is connected to", || {
        held.extend(silent.accept().map(|(stream, _)| stream));
        !held.is_empty()
    });
    probe(&ports, 100);
    assert!(has(&get(&ports[0], "/metrics").1, "kube_pod_info", "team-a"));
    running.terminate();
    assert_eq!(running.ended().code, Some(0), "nobody waits for the API server at the end");
}

#[test]
fn a_download_in_progress_is_finished_when_told_to_stop() {
    // R47, https://github.com/kubernetes/kube-state-metrics/issues/3068
    let server = ApiServer::start();
    let long = "v".repeat(200_000);
    for i in 0..60 {
        let metadata = json!({"name": format!("cm-{i}"), "namespace": "x", "annotations": {"long": long}});
        server.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
    }
    let options = ["--resources=configmaps", "--metric-annotations-allowlist=configmaps=[long]"];
    let running = server.program(PROGRAM, &options);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    let whole = get(&metrics, "/metrics").1.len();
    assert!(whole > 12_000_000, "{whole}");
    let mut stream = connect(&metrics);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").expect("it is sent");
    let mut reply = vec![0; 64 << 10];
    stream.read_exact(&mut reply).expect("the answer begins");
    running.terminate();
    until("new connections are refused", || TcpStream::connect(&metrics).is_err());
    // What is left is read over some seconds.
    let mut chunk = vec![0; 3 << 20];
    loop {
        thread::sleep(Duration::from_millis(5));
        match stream.read(&mut chunk).expect("nothing is cut") {
            0 => break,
            count => reply.extend_from_slice(&chunk[..count]),
        }
    }
    let head = reply.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    assert_eq!(reply.len() - head, whole);
    assert_eq!(running.ended().code, Some(0));
}

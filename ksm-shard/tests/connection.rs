//! How the binary reaches the API server: kubeconfigs whose credentials change while it runs, and proxies on the way.

#[path = "../../ksm-core/tests/support/cluster.rs"]
mod cluster;
#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

use cluster::ApiServer;
use ksm_testbed::{Testbed, Token};
use program::{Folder, Running, addresses, failed, get, until};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tokio::sync::watch;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-shard");

const PLACE: [&str; 5] =
    ["--host=127.0.0.1", "--port=0", "--telemetry-host=127.0.0.1", "--telemetry-port=0", "--resources=pods"];

fn with_tokens(tokens: &[&str]) -> ApiServer {
    let builder = tokens.iter().fold(Testbed::builder(), |builder, token| builder.token(Token::new(token)));
    let server = ApiServer::start_with(builder);
    add_pods(&server, 3);
    server
}

fn add_pods(server: &ApiServer, count: usize) {
    for i in 0..count {
        let metadata = json!({"name": format!("p-{i}"), "namespace": "x"});
        server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
    }
}

fn pods(metrics: &str) -> usize {
    let (status, body) = get(metrics, "/metrics");
    assert_eq!(status, 200);
    body.lines().filter(|line| line.starts_with("kube_pod_info{")).count()
}

/// A kubeconfig with these fields of cluster and user.
fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}

/// The value of a self-metric of the kubeconfig.
fn told(telemetry: &str, name: &str) -> String {
    let body = get(telemetry, "/metrics").1;
    let line = body.lines().find(|line| line.starts_with(&format!("{name}{{type=\"kubeconfig\"")));
    line.and_then(|line| line.rsplit(' ').next()).unwrap_or_default().to_owned()
}

const SUCCESSFUL: &str = "kube_state_metrics_last_config_reload_successful";
const HASH: &str = "kube_state_metrics_config_hash";

/// Scrapes all the time; no scrape may have less than three pods.
struct Scraper {
    stop: Arc<AtomicBool>,
    scrapes: Arc<AtomicUsize>,
    thread: thread::JoinHandle<()>,
}

impl Scraper {
    fn start(metrics: &str) -> Self {
        let (stop, scrapes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, counted, metrics) = (Arc::clone(&stop), Arc::clone(&scrapes), metrics.to_owned());
        let thread = thread::spawn(move || {
            while !stopped.load(Relaxed) {
                assert!(pods(&metrics) >= 3);
                counted.fetch_add(1, Relaxed);
            }
        });
        Self { stop, scrapes, thread }
    }

    fn end(self) {
        // A thread that has ended has failed, which is told below.
        until("there were some scrapes", || self.scrapes.load(Relaxed) > 10 || self.thread.is_finished());
        self.stop.store(true, Relaxed);
        self.thread.join().expect("no scrape misses a pod");
    }
}

#[test]
fn a_kubeconfig_that_is_rotated_is_used_without_a_gap() {
    // R36, https://github.com/kubernetes/kube-state-metrics/issues/3080
    let server = with_tokens(&["old", "new"]);
    let folder = Folder::new("rotated");
    let content =
        |token: &str| kubeconfig(&format!("server: \"{}\"", server.testbed.url()), &format!("token: {token}"));
    let file = folder.write("kubeconfig", &content("old"));
    let running = Running::start(PROGRAM, &[&PLACE[..], &["--kubeconfig", &file]].concat());
    let [metrics, telemetry] = addresses(&running.line());
    // What was read at the start is told from then on.
    let hash = told(&telemetry, HASH);
    assert_ne!(hash, "");
    assert_eq!(told(&telemetry, SUCCESSFUL), "1");
    until("pods are served", || pods(&metrics) == 3);
    let scraper = Scraper::start(&metrics);
    folder.write("kubeconfig", &content("new"));
    until("it is in use", || told(&telemetry, HASH) != hash);
    server.testbed.revoke("old");
    server.cut();
    add_pods(&server, 4);
    until("a new pod comes in over it", || pods(&metrics) == 4);
    scraper.end();
}

#[test]
fn a_shard_is_found_as_soon_as_the_credentials_are_right() {
    let server = with_tokens(&["right"]);
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "ksm", "namespace": "m", "uid": "s-1"}, "spec": {"replicas": 1}});
    let owner =
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ksm", "uid": "s-1", "controller": true});
    let metadata = json!({"name": "ksm-0", "namespace": "m", "ownerReferences": [owner]});
    server.apply(set);
    server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
    let folder = Folder::new("searching");
    let content =
        |token: &str| kubeconfig(&format!("server: \"{}\"", server.testbed.url()), &format!("token: {token}"));
    let file = folder.write("kubeconfig", &content("wrong"));
    let own = ["--kubeconfig", &file, "--pod=ksm-0", "--pod-namespace=m"];
    let running = Running::start(PROGRAM, &[&PLACE[..], &own].concat());
    let [metrics, _] = addresses(&running.line());
    until("it looks for its shard", || get(&metrics, "/readyz").0 == 503);
    folder.write("kubeconfig", &content("right"));
    until("pods are served", || get(&metrics, "/readyz").0 == 200 && pods(&metrics) == 4);
}

#[test]
fn credentials_that_are_refused_empty_nothing() {
    let server = with_tokens(&["old", "right"]);
    let folder = Folder::new("refused");
    let content =
        |token: &str| kubeconfig(&format!("server: \"{}\"", server.testbed.url()), &format!("token: {token}"));
    let file = folder.write("kubeconfig", &content("old"));
    let running = Running::start(PROGRAM, &[&PLACE[..], &["--kubeconfig", &file]].concat());
    let [metrics, telemetry] = addresses(&running.line());
    until("pods are served", || pods(&metrics) == 3);
    let hash = told(&telemetry, HASH);
    let scraper = Scraper::start(&metrics);
    folder.write("kubeconfig", &content("wrong"));
    until("it is said to have failed", || told(&telemetry, SUCCESSFUL) == "0");
    assert_eq!(told(&telemetry, HASH), hash);
    let waiting = "\nkube_state_metrics_sharded_reload_waiting{resource=\"pods\"} 1.0\n";
    assert!(get(&telemetry, "/metrics").1.contains(waiting));
    // The one before is at work still.
    add_pods(&server, 4);
    until("a new pod comes in over the old token", || pods(&metrics) == 4);
    folder.write("kubeconfig", &content("right"));
    until("the right one is in use", || told(&telemetry, SUCCESSFUL) == "1");
    assert_ne!(told(&telemetry, HASH), hash);
    assert!(!get(&telemetry, "/metrics").1.contains("reload_waiting"));
    server.testbed.revoke("old");
    server.cut();
    add_pods(&server, 5);
    until("a new pod comes in over the right token", || pods(&metrics) == 5);
    scraper.end();
    running.terminate();
    let log = running.ended().stderr;
    for said in ["new configuration, listing aside", "new configuration not in use: "] {
        assert!(log.contains(said), "{said}: {log}");
    }
}

#[test]
fn a_kubeconfig_that_makes_no_sense_is_told_and_changes_nothing() {
    let server = with_tokens(&[]);
    let folder = Folder::new("senseless");
    let good = kubeconfig(&format!("server: \"{}\"", server.testbed.url()), "");
    let file = folder.write("kubeconfig", &good);
    let running = Running::start(PROGRAM, &[&PLACE[..], &["--kubeconfig", &file]].concat());
    let [metrics, telemetry] = addresses(&running.line());
    until("pods are served", || pods(&metrics) == 3);
    let hash = told(&telemetry, HASH);
    for bad in ["clusters: [", &kubeconfig("server: \"http://\"", "")] {
        folder.write("kubeconfig", bad);
        until("it is said to have failed", || told(&telemetry, SUCCESSFUL) == "0");
        assert_eq!((pods(&metrics), told(&telemetry, HASH)), (3, hash.clone()));
        folder.write("kubeconfig", &good);
        until("the good one is in use", || told(&telemetry, SUCCESSFUL) == "1");
    }
}

#[test]
fn a_credential_plugin_that_fails_is_asked_again() {
    let server = with_tokens(&["old", "new"]);
    let folder = Folder::new("plugin");
    let script = |content: &str| {
        let path = folder.write("plugin", &format!("#!/bin/sh\n{content}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a script can be run");
        path
    };
    let plugin = script("exit 1");
    let server_field = format!("server: \"{}\"", server.testbed.url());
    let file = folder.write("kubeconfig", &kubeconfig(&server_field, "token: old"));
    let running = Running::start(PROGRAM, &[&PLACE[..], &["--kubeconfig", &file]].concat());
    let [metrics, telemetry] = addresses(&running.line());
    until("pods are served", || pods(&metrics) == 3);
    let exec =
        format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: \"{plugin}\", interactiveMode: Never}}");
    folder.write("kubeconfig", &kubeconfig(&server_field, &exec));
    until("it is said to have failed", || told(&telemetry, SUCCESSFUL) == "0");
    // No file that is watched changes with it.
    script(
        "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\
         \"status\":{\"token\":\"new\"}}'",
    );
    until("it is in use", || told(&telemetry, SUCCESSFUL) == "1");
    server.testbed.revoke("old");
    server.cut();
    add_pods(&server, 4);
    until("a new pod comes in over it", || pods(&metrics) == 4);
}

/// An authority, and what it signs.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no name is no bad name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key is made");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority signs itself"))
    }

    fn certificate(&self) -> (rcgen::Certificate, KeyPair) {
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key is made");
        (params.signed_by(&key, &self.0).expect("it is signed"), key)
    }
}

/// TLS before an API server: it lets in who has the one certificate that counts, and drops others when that changes.
struct Front {
    port: u16,
    counts: watch::Sender<Vec<u8>>,
    _runtime: tokio::runtime::Runtime,
}

impl Front {
    fn start(server: &ApiServer, authority: &Authority) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime starts");
        let mut roots = RootCertStore::empty();
        roots.add(authority.0.der().clone()).expect("the authority is a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let (certificate, key) = authority.certificate();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions that there are")
            .with_client_cert_verifier(verifier.expect("an authority"))
            .with_single_cert(
                vec![CertificateDer::from(certificate)],
                PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
            )
            .expect("a pair");
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        listener.set_nonblocking(true).expect("a mode of sockets");
        let (counts, counting) = watch::channel(Vec::new());
        let behind = server.testbed.url().trim_start_matches("http://").to_owned();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("within a runtime");
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, mut counting, behind) = (acceptor.clone(), counting.clone(), behind.clone());
                tokio::spawn(async move {
                    let mut stream = acceptor.accept(stream).await.ok()?;
                    let own = stream.get_ref().1.peer_certificates()?.first()?.to_vec();
                    if *counting.borrow_and_update() != own {
                        return None;
                    }
                    let mut behind = tokio::net::TcpStream::connect(behind).await.ok()?;
                    tokio::select! {
                        _ = counting.changed() => {}
                        _ = tokio::io::copy_bidirectional(&mut stream, &mut behind) => {}
                    }
                    Some(())
                });
            }
        });
        Self { port, counts, _runtime: runtime }
    }
}

#[test]
fn a_client_certificate_that_is_rotated_is_used() {
    let (server, authority, folder) = (with_tokens(&[]), Authority::new(), Folder::new("certificate"));
    let front = Front::start(&server, &authority);
    folder.write("ca.crt", &authority.0.pem());
    let rotate = || {
        let (certificate, key) = authority.certificate();
        // Not both at once: what is there in between does not fit together.
        folder.write("client.key", &key.serialize_pem());
        folder.write("client.crt", &certificate.pem());
        certificate.der().to_vec()
    };
    front.counts.send_replace(rotate());
    // Relative paths start where the kubeconfig is.
    let file = folder.write(
        "kubeconfig",
        &kubeconfig(
            &format!("server: \"https://localhost:{}\", certificate-authority: ca.crt", front.port),
            "client-certificate: client.crt, client-key: client.key",
        ),
    );
    let running = Running::start(PROGRAM, &[&PLACE[..], &["--kubeconfig", &file]].concat());
    let [metrics, _] = addresses(&running.line());
    until("pods are served", || pods(&metrics) == 3);
    let scraper = Scraper::start(&metrics);
    front.counts.send_replace(rotate());
    add_pods(&server, 4);
    until("a new pod comes in over the new certificate", || pods(&metrics) == 4);
    scraper.end();
}

/// A proxy for tunnels, over HTTP or SOCKS, that notes what it is asked, and takes everybody to the one API server.
struct Proxy {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(server: &ApiServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (noted, behind) = (Arc::clone(&asked), server.testbed.url().trim_start_matches("http://").to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (noted, behind) = (Arc::clone(&noted), behind.clone());
                thread::spawn(move || Self::tunnel(stream, &noted, &behind));
            }
        });
        Self { port, asked }
    }

    fn tunnel(mut client: TcpStream, noted: &Mutex<Vec<String>>, behind: &str) -> Option<()> {
        let mut reader = BufReader::new(client.try_clone().ok()?);
        let is_socks = reader.fill_buf().ok()?.first() == Some(&5);
        let asked = if is_socks { socks(&mut reader, &mut client)? } else { connect(&mut reader, &mut client)? };
        noted.lock().expect("nobody panics with it").push(asked);
        let mut server = TcpStream::connect(behind).ok()?;
        let mut back = server.try_clone().ok()?;
        thread::spawn(move || std::io::copy(&mut back, &mut client));
        std::io::copy(&mut reader, &mut server).ok()?;
        Some(())
    }

    /// The heads of all requests so far.
    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

/// The head of a `CONNECT`, which is granted.
fn connect(reader: &mut impl BufRead, client: &mut TcpStream) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    Some(head)
}

/// Name and port that are asked for over SOCKS 5 (RFC 1928), which is granted.
fn socks(reader: &mut impl Read, client: &mut TcpStream) -> Option<String> {
    let mut read = |bytes: usize| {
        let mut buffer = vec![0; bytes];
        reader.read_exact(&mut buffer).ok().map(|()| buffer)
    };
    let methods = read(2)?[1];
    read(methods.into())?;
    client.write_all(&[5, 0]).ok()?;
    // Version, connect, reserved, and 3 for a name.
    assert_eq!(read(4)?, [5, 1, 0, 3]);
    let length = read(1)?[0];
    let name = String::from_utf8(read(length.into())?).ok()?;
    let port = read(2)?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).ok()?;
    Some(format!("{name}:{}", u16::from_be_bytes([port[0], port[1]])))
}

fn run_with(variables: &[(&str, &str)], arguments: &[&str]) -> Running {
    let mut command = Command::new(PROGRAM);
    command.env_clear().envs(variables.iter().copied()).args(PLACE).args(arguments);
    Running::spawn(command)
}

#[test]
fn a_proxy_of_the_environment_is_used_but_for_its_exceptions() {
    let server = with_tokens(&[]);
    let proxy = Proxy::start(&server);
    let url = format!("http://user:p%40ss@127.0.0.1:{}", proxy.port);
    // A name that only the proxy knows.
    let running =
        run_with(&[("HTTP_PROXY", &url), ("NO_PROXY", "127.0.0.1,,example")], &["--apiserver=http://api.test"]);
    let [metrics, _] = addresses(&running.line());
    until("pods are served", || pods(&metrics) == 3);
    let asked = proxy.asked();
    assert!(asked.iter().all(|head| head.starts_with("CONNECT api.test:80 HTTP/1.1\r\n")), "{asked:?}");
    assert!(asked.iter().all(|head| head.contains("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n")), "{asked:?}");
    drop(running);
    // What is exempt, and what is on the loopback anyway, is reached without.
    let seen = proxy.asked().len();
    let own = format!("--apiserver={}", server.testbed.url());
    let running = run_with(&[("HTTP_PROXY", &url)], &[&own]);
    let [metrics, _] = addresses(&running.line());
    until("pods are served", || pods(&metrics) == 3);
    drop(running);
    let running = run_with(&[("HTTP_PROXY", &url), ("NO_PROXY", ".test")], &["--apiserver=http://api.test"]);
    let [_, telemetry] = addresses(&running.line());
    let failed = "kube_state_metrics_list_total{resource=\"pods\",result=\"error\"}";
    until("nobody is found there", || {
        let body = get(&telemetry, "/metrics").1;
        body.lines().any(|line| line.strip_prefix(failed).is_some_and(|count| count.trim() != "0"))
    });
    assert_eq!(proxy.asked().len(), seen);
}

#[test]
fn a_socks_proxy_is_told_the_name() {
    let server = with_tokens(&[]);
    let proxy = Proxy::start(&server);
    let url = format!("socks5://127.0.0.1:{}", proxy.port);
    let running = run_with(&[("http_proxy", &url)], &["--apiserver=http://api.test"]);
    let [metrics, _] = addresses(&running.line());
    until("pods are served", || pods(&metrics) == 3);
    let asked = proxy.asked();
    assert!(asked.iter().all(|name| name == "api.test:80"), "{asked:?}");
}

#[test]
fn a_proxy_of_the_kubeconfig_is_used_without_exceptions() {
    let server = with_tokens(&[]);
    let (proxy, folder) = (Proxy::start(&server), Folder::new("proxy"));
    let content = |url: &str| kubeconfig(&format!("server: \"{}\", proxy-url: \"{url}\"", server.testbed.url()), "");
    let file = folder.write("kubeconfig", &content(&format!("http://127.0.0.1:{}", proxy.port)));
    let running = run_with(&[("NO_PROXY", "*")], &["--kubeconfig", &file]);
    let [metrics, _] = addresses(&running.line());
    until("pods are served", || pods(&metrics) == 3);
    let address = server.testbed.url().trim_start_matches("http://").to_owned();
    let asked = proxy.asked();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|head| head.starts_with(&format!("CONNECT {address} HTTP/1.1\r\n"))), "{asked:?}");
    let file = folder.write("kubeconfig", &content("https://u:secret@proxy.test"));
    let arguments = ["--kubeconfig", &file];
    failed(PROGRAM, &arguments, 1, "cannot use proxy proxy.test: https is not supported, expected http or socks5");
}

//! Guards through the binary: TLS, passwords and tokens before every page but health pages.

#[path = "../../ksm-core/tests/support/cluster.rs"]
mod cluster;
#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use std::io::{Read, Write};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cluster::ApiServer;
use ksm_testbed::{Fault, Testbed, Token, Verb};
use program::{Folder, addresses, ask, ask_over, connect, failed, get, until};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-shard");

const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// An authority, and what it signs.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no name is no bad name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key is made");
        Self { issuer: CertifiedIssuer::self_signed(params, key).expect("an authority signs itself") }
    }

    /// A certificate for `localhost` and its key.
    fn certificate(&self) -> (rcgen::Certificate, KeyPair) {
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key is made");
        (params.signed_by(&key, &self.issuer).expect("it is signed"), key)
    }

    /// A client that trusts this authority, with a certificate of its own if there is one.
    fn client(&self, own: Option<(rcgen::Certificate, KeyPair)>) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("the authority is a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.expect("versions that there are").with_root_certificates(roots);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
                builder.with_client_auth_cert(vec![CertificateDer::from(certificate)], key).expect("a pair")
            }
        };
        let name = "localhost".try_into().expect("a name");
        ClientConnection::new(Arc::new(config), name).expect("a client")
    }

    /// Whether a client that trusts this authority gets a connection.
    fn trusts(&self, address: &str) -> bool {
        let (mut client, mut stream) = (self.client(None), connect(address));
        while client.is_handshaking() {
            if client.complete_io(&mut stream).is_err() {
                return false;
            }
        }
        true
    }

    /// What such a client is answered.
    fn ask(&self, address: &str, path: &str, own: Option<(rcgen::Certificate, KeyPair)>) -> (u16, String) {
        ask_over(StreamOwned::new(self.client(own), connect(address)), path, "")
    }
}

/// Writes a certificate and its key; returns the certificate.
fn write_pair(folder: &Folder, authority: &Authority) -> CertificateDer<'static> {
    let (certificate, key) = authority.certificate();
    folder.write("tls.crt", &certificate.pem());
    folder.write("tls.key", &key.serialize_pem());
    certificate.into()
}

fn small() -> ApiServer {
    let server = ApiServer::start();
    server.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    server
}

#[test]
fn tls_is_served_on_both_ports_and_certificates_are_read_again() {
    let (server, folder, authority) = (small(), Folder::new("tls"), Authority::new());
    write_pair(&folder, &authority);
    let web = folder.write(
        "web.yaml",
        "tls_server_config: {cert_file: tls.crt, key_file: tls.key, min_version: TLS12}\n\
         http_server_config: {headers: {X-Frame-Options: deny}}\n",
    );
    let running = server.program(PROGRAM, &["--resources=nodes", "--tls-config", &web]);
    let line = running.line();
    assert_eq!(line.matches("https://").count(), 2, "{line}");
    let [metrics, telemetry] = addresses(&line);
    until("everything is listed", || authority.ask(&telemetry, "/readyz", None).0 == 200);
    assert!(authority.ask(&metrics, "/metrics", None).1.contains("kube_node_info{"));
    assert!(authority.ask(&telemetry, "/metrics", None).1.contains("kube_state_metrics_total_shards 1"));
    // R45: plain HTTP is told what is wrong.
    assert_eq!(get(&metrics, "/metrics"), (400, "this port serves TLS: ask with https, please".to_owned()));
    // Rotated by another authority: the old one's clients are refused, the new one's are not.
    let next = Authority::new();
    write_pair(&folder, &next);
    until("the new certificate is served", || next.trusts(&metrics));
    assert!(!authority.trusts(&metrics));
    // A key that does not fit, or no file at all, changes nothing.
    let (_, stranger) = next.certificate();
    folder.write("tls.key", &stranger.serialize_pem());
    let failed =
        format!("kube_state_metrics_last_config_reload_successful{{type=\"tls_config\",filename=\"{web}\"}} 0");
    until("the bad pair is noticed", || next.ask(&telemetry, "/metrics", None).1.contains(&failed));
    assert!(next.ask(&metrics, "/metrics", None).1.contains("kube_node_info{"));
}

#[test]
fn a_client_certificate_is_demanded_of_pages_but_not_of_probes() {
    let (server, folder, authority) = (small(), Folder::new("mtls"), Authority::new());
    write_pair(&folder, &authority);
    let clients = Authority::new();
    folder.write("clients.crt", &clients.issuer.pem());
    let web = folder.write(
        "web.yaml",
        "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n  client_ca_file: clients.crt\n  \
         client_auth_type: RequireAndVerifyClientCert\n",
    );
    let running = server.program(PROGRAM, &["--resources=nodes", "--tls-config", &web]);
    let [metrics, telemetry] = addresses(&running.line());
    for address in [&metrics, &telemetry] {
        for path in HEALTH {
            until("probes need no certificate", || authority.ask(address, path, None).0 == 200);
        }
        for path in ["/metrics", "/", "/nothing"] {
            assert_eq!(authority.ask(address, path, None).0, 401, "{path}");
        }
        assert_eq!(authority.ask(address, "/metrics", Some(clients.certificate())).0, 200);
    }
}

#[test]
fn passwords_stand_before_every_page_but_health_pages() {
    let (server, folder) = (small(), Folder::new("passwords"));
    let web = |password: &str| {
        let hash = bcrypt::hash(password, 4).expect("a hash");
        folder.write("web.yaml", &format!("basic_auth_users: {{prometheus: \"{hash}\"}}\n"))
    };
    let running = server.program(PROGRAM, &["--resources=nodes", "--tls-config", &web("first")]);
    let [metrics, telemetry] = addresses(&running.line());
    let login = |user: &str, password: &str| {
        format!("authorization: Basic {}\r\n", STANDARD.encode(format!("{user}:{password}")))
    };
    for address in [&metrics, &telemetry] {
        for path in HEALTH {
            until("health pages are open", || get(address, path) == (200, "ok\n".to_owned()));
        }
        for path in ["/metrics", "/", "/debug/pprof/"] {
            for headers in ["", &login("prometheus", "wrong"), &login("nobody", "first"), "authorization: Bearer x\r\n"]
            {
                assert_eq!(ask(address, path, headers), (401, "unauthorized\n".to_owned()), "{path} {headers}");
            }
        }
        assert_eq!(ask(address, "/metrics", &login("prometheus", "first")).0, 200);
    }
    web("second");
    until("the new password is taken", || ask(&metrics, "/metrics", &login("prometheus", "second")).0 == 200);
    assert_eq!(ask(&metrics, "/metrics", &login("prometheus", "first")).0, 401);
}

/// Status and body of a profile, which is no text.
fn profile(address: &str, seconds: u32, headers: &str) -> (u16, Vec<u8>) {
    let mut stream = connect(address);
    let path = format!("/debug/pprof/profile?seconds={seconds}");
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("the reply arrives");
    let head = reply.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let body = reply.split_off(head + 4);
    let status = String::from_utf8_lossy(&reply).split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body)
}

#[test]
fn profiles_are_taken_one_at_a_time() {
    let server = small();
    let running = server.program(PROGRAM, &["--resources=nodes"]);
    let [_, telemetry] = addresses(&running.line());
    for wrong in ["seconds=0", "seconds=1000", "seconds=x"] {
        assert_eq!(get(&telemetry, &format!("/debug/pprof/profile?{wrong}")).0, 400, "{wrong}");
    }
    // One of the two may be so late that the other is done before: then it is taken as well.
    let met = (0..5).any(|_| {
        let asked = [(); 2].map(|()| {
            let telemetry = telemetry.clone();
            std::thread::spawn(move || profile(&telemetry, 3, "").0)
        });
        let mut statuses = asked.map(|asked| asked.join().expect("it is answered"));
        statuses.sort_unstable();
        assert!([[200, 429], [200, 200]].contains(&statuses), "{statuses:?}");
        statuses == [200, 429]
    });
    assert!(met, "two are taken at the same time");
    let (status, body) = profile(&telemetry, 1, "");
    assert!(status == 200 && !body.is_empty(), "there may be another one afterwards");
}

/// Status for that token once the API server was asked, which may be too slow to be waited for.
fn reviewed(address: &str, path: &str, token: &str) -> u16 {
    let mut status = 0;
    until("the token is reviewed", || {
        status = ask(address, path, &format!("authorization: Bearer {token}\r\n")).0;
        status != 503
    });
    status
}

#[test]
fn tokens_are_reviewed_and_no_answer_is_no_permission() {
    // R44, https://github.com/kubernetes/kube-state-metrics/issues/2924
    let reader = Token { token: "reader".to_owned(), user: "reader".to_owned(), denials: Vec::new() };
    let stranger = Token { token: "stranger".to_owned(), user: "stranger".to_owned(), denials: Vec::new() };
    let own = Token { user: "own".to_owned(), ..Token::new("own") };
    let no_profiles = Token { user: "no-profiles".to_owned(), ..Token::new("no-profiles") };
    let no_profiles = no_profiles.deny("get", "/debug/pprof/").deny("get", "/debug/pprof/profile");
    let builder = Testbed::builder()
        .token(own)
        .token(no_profiles)
        .token(reader.deny("get", "/"))
        .token(stranger.deny("get", "/metrics"));
    let server = ApiServer::start_with(builder);
    server.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    let folder = Folder::new("tokens");
    let kubeconfig = folder.write(
        "kubeconfig",
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: \"{}\"}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{token: own}}}}]\n",
            server.testbed.url()
        ),
    );
    let options = ["--host=127.0.0.1", "--port=0", "--telemetry-host=127.0.0.1", "--telemetry-port=0"];
    let more = ["--resources=nodes", "--auth-filter", "--kubeconfig", &kubeconfig];
    let running = program::Running::start(PROGRAM, &[&options[..], &more].concat());
    let [metrics, telemetry] = addresses(&running.line());
    let bearer = |token: &str| format!("authorization: Bearer {token}\r\n");
    for address in [&metrics, &telemetry] {
        for path in HEALTH {
            until("health pages are open", || get(address, path) == (200, "ok\n".to_owned()));
        }
        assert_eq!(ask(address, "/metrics", "").0, 401);
        assert_eq!(reviewed(address, "/metrics", "made-up"), 401);
        assert_eq!(reviewed(address, "/metrics", "stranger"), 403);
        assert_eq!(reviewed(address, "/", "reader"), 403);
        for path in ["/debug/pprof/", "/debug/pprof/profile?seconds=1"] {
            assert_eq!(ask(address, path, "").0, 401);
            assert_eq!(reviewed(address, path, "made-up"), 401);
            assert_eq!(reviewed(address, path, "no-profiles"), 403);
        }
        assert_eq!(reviewed(address, "/metrics", "reader"), 200);
    }
    // Profiles are not for the main port.
    assert_eq!(reviewed(&metrics, "/debug/pprof/profile?seconds=1", "reader"), 404);
    assert_eq!(reviewed(&telemetry, "/debug/pprof/", "reader"), 200);
    let (status, body) = profile(&telemetry, 1, &bearer("reader"));
    assert!(status == 200 && body.windows(11).any(|word| word == b"nanoseconds"), "{status}");
    // Answers are remembered for a while; whatever is new cannot be asked any more.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(server.testbed.down());
    assert_eq!(ask(&metrics, "/metrics", &bearer("reader")).0, 200);
    let (status, body) = ask(&metrics, "/metrics", &bearer("other"));
    assert_eq!(status, 503, "{body}");
    assert!(!body.contains("kube_"), "{body}");
    assert_eq!(get(&metrics, "/livez").0, 200);
}

#[test]
fn headers_and_connections_are_limited() {
    let server = small();
    let running = server.program(PROGRAM, &["--resources=nodes", "--server-read-header-timeout=0"]);
    let [metrics, telemetry] = addresses(&running.line());
    until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
    let mut long = connect(&metrics);
    let header = "v".repeat(20_000);
    // It may be answered, and closed, before its end.
    let _ = long.write_all(format!("GET /livez HTTP/1.1\r\nhost: test\r\nx-long: {header}\r\n\r\n").as_bytes());
    let mut status = [0; 12];
    long.read_exact(&mut status).expect("it is answered");
    assert_eq!(&status, b"HTTP/1.1 431");
    // All places are taken by requests that do not come to an end.
    let mut taken: Vec<_> = (0..512).map(|_| connect(&metrics)).collect();
    for stream in &mut taken {
        stream.write_all(b"GET /met").expect("the request is begun");
    }
    let mut late = connect(&metrics);
    late.write_all(b"GET /livez HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").expect("the request is sent");
    late.set_read_timeout(Some(std::time::Duration::from_millis(500))).expect("a time limit can be set");
    let mut byte = [0];
    assert!(late.read(&mut byte).is_err(), "one more than there are places is answered");
    assert_eq!(get(&telemetry, "/livez").0, 200, "the other port has places of its own");
    taken.pop();
    late.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a time limit can be set");
    assert_eq!(late.read(&mut byte).ok(), Some(1), "a place was left");
}

#[test]
fn health_pages_disclose_nothing_behind_a_guard() {
    // R45: not even what is not listed yet.
    let server = small();
    server.testbed.faults().add(Fault::Status { code: 500, retry_after: None }.always_on("nodes", Verb::List));
    server.testbed.faults().add(Fault::Status { code: 500, retry_after: None }.always_on("nodes", Verb::StreamedList));
    let running = server.program(PROGRAM, &["--resources=nodes", "--auth-filter"]);
    let [metrics, _] = addresses(&running.line());
    assert_eq!(get(&metrics, "/readyz"), (503, "not ready\n".to_owned()));
}

#[test]
fn health_pages_are_open_under_tls_and_tokens_together() {
    // R45, https://github.com/prometheus-community/helm-charts/issues/5529: whichever address the ports are bound to.
    let (server, folder, authority) = (small(), Folder::new("everything"), Authority::new());
    write_pair(&folder, &authority);
    let web = folder.write("web.yaml", "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n");
    for host in ["127.0.0.1", "::"] {
        let (host, telemetry_host) = (format!("--host={host}"), format!("--telemetry-host={host}"));
        let options = [&host, &telemetry_host, "--resources=nodes", "--auth-filter", "--tls-config", &web];
        let running = server.program(PROGRAM, &options);
        let [metrics, telemetry] = addresses(&running.line()).map(|address| address.replace("[::]", "127.0.0.1"));
        for address in [&metrics, &telemetry] {
            for path in HEALTH {
                until("it is ready", || authority.ask(address, path, None) == (200, "ok\n".to_owned()));
            }
            for path in ["/metrics", "/", "/healthz/", "/livez/x", "/debug/pprof/"] {
                assert_eq!(authority.ask(address, path, None), (401, "unauthorized\n".to_owned()), "{path}");
            }
            assert_eq!(get(address, "/livez").0, 400, "plain HTTP is told what is wrong");
        }
    }
}

#[test]
fn passwords_are_not_asked_for_beside_tokens() {
    let (server, folder) = (small(), Folder::new("both"));
    let web = folder.write("web.yaml", "http_server_config: {headers: {X-Frame-Options: deny}}\n");
    let running = server.program(PROGRAM, &["--resources=nodes", "--auth-filter", "--tls-config", &web]);
    let [metrics, _] = addresses(&running.line());
    until("it is ready", || get(&metrics, "/readyz").0 == 200);
    // No client could send both, so it is not taken.
    let hash = bcrypt::hash("x", 4).expect("a hash");
    folder.write("web.yaml", &format!("basic_auth_users: {{u: \"{hash}\"}}\n"));
    let message = "exclude each other, going on as before";
    until("that is said", || running.said().contains(message));
    // It is looked at every second; once is enough.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(reviewed(&metrics, "/metrics", "any"), 401);
    running.terminate();
    let log = running.ended().stderr;
    assert_eq!(log.matches(message).count(), 1, "{log}");
}

#[test]
fn web_files_that_cannot_be_honoured_are_refused() {
    let folder = Folder::new("bad-web");
    let start =
        ["--apiserver=http://127.0.0.1:1", "--host=127.0.0.1", "--port=0", "--telemetry-port=0", "--tls-config"];
    for (content, message) in [
        ("tls_server_config: {cert_file: absent.crt, key_file: absent.key}", "absent.crt: No such file"),
        ("tls_server_config: {cert: secret, key: secret}", "tls_server_config: the certificate is not PEM"),
        ("tls_server_config: {client_auth_type: NoClientCert}", "a certificate (cert or cert_file) and its key"),
        ("basic_auth_users: {u: secret}", "basic_auth_users: u: the password is no bcrypt hash"),
        ("basic_auth_user: {u: secret}", "basic_auth_user"),
        ("rate_limit: {interval: 1s, burst: 1}", "rate_limit is not supported"),
        ("http_server_config: {headers: {X-Other: secret}}", "X-Other: cannot be set"),
        ("http_server_config: {headers: {X-Frame-Options: secret}}", "X-Frame-Options: expected deny or sameorigin"),
    ] {
        let web = folder.write("web.yaml", content);
        let arguments = [&start[..], &[&web]].concat();
        failed(PROGRAM, &arguments, 1, message);
        let said = program::run(PROGRAM, &arguments).stderr;
        assert!(!said.contains("secret") && said.contains("cannot use web configuration file "), "{said}");
    }
    let hash = bcrypt::hash("x", 4).expect("a hash");
    let web = folder.write("web.yaml", &format!("basic_auth_users: {{u: \"{hash}\"}}"));
    failed(PROGRAM, &[&start[..], &[&web, "--auth-filter"]].concat(), 1, "exclude each other");
}

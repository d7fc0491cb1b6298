//! The command line of `ksm-shard`: what it takes, refuses and says.

#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use program::{failed, refused, run, serves_without_an_api_server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-shard");

#[test]
fn help_and_version_are_printed() {
    let help = run(PROGRAM, &["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Usage: ksm-shard "), "{}", help.stdout);
    for arguments in [["version"], ["--version"]] {
        let version = run(PROGRAM, &arguments);
        assert_eq!((version.code, version.stderr.as_str()), (Some(0), ""));
        assert!(version.stdout.starts_with(concat!("ksm-shard ", env!("CARGO_PKG_VERSION"))), "{}", version.stdout);
    }
}

#[test]
fn mistakes_are_refused_in_one_line() {
    refused(PROGRAM, &["--no-such-flag"], "unexpected argument '--no-such-flag' found (see ksm-shard --help)");
    refused(PROGRAM, &["--shard=3", "--total-shards=3"], "--shard=3: out of range, with 3 shards it is 0 to 2");
    refused(PROGRAM, &["--shard", "-1"], "--shard=-1: out of range");
    refused(PROGRAM, &["--total-shards=0"], "--total-shards=0: ");
    refused(PROGRAM, &["--shard-by=sha1"], "'sha1' for '--shard-by");
    refused(PROGRAM, &["--pod=ksm-0"], "--pod needs --pod-namespace");
    refused(PROGRAM, &["--reshard-overlap=yes"], "'yes' for '--reshard-overlap");
    refused(PROGRAM, &["--reshard-grace=30"], "'30' for '--reshard-grace");
    refused(PROGRAM, &["--resources=podz"], "--resources: \"podz\": no such resource; there is ");
    refused(PROGRAM, &["--metric-opt-in-list=("], "--metric-opt-in-list: \"(\" is no regular expression");
    refused(
        PROGRAM,
        &["--metric-labels-allowlist=daemonsets"],
        "--metric-labels-allowlist: cannot read \"daemonsets\"",
    );
}

#[test]
fn an_api_server_has_to_be_named_outside_of_a_pod() {
    failed(PROGRAM, &["--port=0", "--telemetry-port=0"], 1, "which API server? give --kubeconfig or --apiserver");
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_named() {
    let absent = std::env::temp_dir().join("ksm-absent").join("kubeconfig");
    let absent = absent.display().to_string();
    failed(PROGRAM, &["--kubeconfig", &absent], 1, &format!("cannot use kubeconfig {absent}: "));
    failed(PROGRAM, &["--kubeconfig", "/"], 1, "cannot use kubeconfig /: ");
    let broken = std::env::temp_dir().join(format!("ksm-broken-{}.kubeconfig", std::process::id()));
    std::fs::write(&broken, "token: secret\nclusters: [\n").expect("a file can be written");
    failed(PROGRAM, &["--kubeconfig", &broken.display().to_string()], 1, "failed to parse kubeconfig YAML");
    let said = run(PROGRAM, &["--kubeconfig", &broken.display().to_string()]).stderr;
    assert!(!said.contains("secret"), "{said}");
    std::fs::remove_file(&broken).expect("the file is there");
}

#[test]
fn ports_and_hosts_that_cannot_be_had_are_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("a bound port").port().to_string();
    let api_server = "--apiserver=http://127.0.0.1:1";
    let message = format!("cannot listen on 127.0.0.1 port {port} for metrics (see --host, ");
    failed(PROGRAM, &[api_server, "--host=127.0.0.1", "--port", &port], 1, &message);
    let message = "cannot listen on 192.0.2.1 port 0 for telemetry ";
    failed(PROGRAM, &[api_server, "--port=0", "--telemetry-host=192.0.2.1", "--telemetry-port=0"], 1, message);
}

#[test]
fn it_serves_without_an_api_server() {
    serves_without_an_api_server(PROGRAM, &["--shard=1", "--total-shards=2", "--shard-by=md5"]);
}

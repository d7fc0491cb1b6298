//! Every option through the binary, from the command line, the environment and the file: each shows that it is taken.
//!
//! Invariant: the table has every option that the binary names, and none shows without being given.

#[path = "../../ksm-core/tests/support/cluster.rs"]
mod cluster;
#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cluster::ApiServer;
use program::{Folder, Running, addresses, connect, get, run, until};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-shard");

/// How an option shows.
#[derive(Clone, Copy)]
enum Shows {
    /// While it runs and everything is listed.
    Running(fn(&Live<'_>) -> bool),
    /// In the log.
    Logged(&'static str),
    /// It ends at once with this message.
    Refused(&'static str),
    /// It is taken, and changes nothing.
    Nothing,
}

use Shows::{Logged, Nothing, Refused, Running as Now};

/// A program that runs with the option.
struct Live<'a> {
    server: &'a ApiServer,
    /// Whether it was given the option.
    given: bool,
    value: &'a str,
    line: &'a str,
    metrics: &'a str,
    telemetry: &'a str,
}

impl Live<'_> {
    fn body(&self) -> String {
        get(self.metrics, "/metrics").1
    }

    fn told(&self) -> String {
        get(self.telemetry, "/metrics").1
    }

    /// Namespaces of the pods that are served, that of the set left out.
    fn pods(&self) -> Vec<String> {
        let body = self.body();
        let infos = body.lines().filter(|line| line.starts_with("kube_pod_info{"));
        let mut names: Vec<String> =
            infos.filter_map(|line| Some(line.split("namespace=\"").nth(1)?.split('"').next()?.to_owned())).collect();
        names.retain(|name| name != "mon");
        names.sort_unstable();
        names
    }

    /// Whether a connection on which this is said is closed: in less than that time, which is below the default.
    fn cuts(&self, said: &[u8], time: Duration) -> bool {
        // Once is enough: a machine that halts for seconds may make any of them take as long as the default.
        if self.given { (0..3).any(|_| self.closes(said, time)) } else { self.closes(said, A_WHILE) }
    }

    /// Whether a connection on which this is said is closed within that time.
    fn closes(&self, said: &[u8], time: Duration) -> bool {
        let started = Instant::now();
        let mut stream = connect(self.metrics);
        stream.write_all(said).expect("it is sent");
        let mut buffer = [0; 1 << 10];
        loop {
            let left = time.saturating_sub(started.elapsed());
            if left.is_zero() {
                return false;
            }
            stream.set_read_timeout(Some(left)).expect("a time limit can be set");
            match stream.read(&mut buffer) {
                Ok(0) => return started.elapsed() < time,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return started.elapsed() < time,
                Err(_) => return false,
            }
        }
    }

    /// Whether some request for a list had this parameter.
    fn asked(&self, name: &str, value: &str) -> bool {
        let records = self.server.testbed.stats().records();
        records.iter().any(|record| record.resource == "pods" && record.parameter(name) == Some(value))
    }
}

const SILENT: &[u8] = b"GET /met";

/// How long to wait for what a limit of 300 ms does: less than the default of any, but of that for headers.
const SOON: Duration = Duration::from_secs(30);

/// Less than the default of that for headers, which the limit of a request bounds as well.
const HEADER: Duration = Duration::from_millis(4500);

/// How long to see that nothing happens without it.
const A_WHILE: Duration = Duration::from_millis(1500);

/// An option: its name, a value, what else has to be given, and how it shows.
type Case = (&'static str, &'static str, &'static [&'static str], Shows);

const OTHER_PODS: fn(&Live<'_>) -> bool = |live| live.pods() == ["other"];

/// Braces stand for what is made at run time.
const CASES: &[Case] = &[
    ("kubeconfig", "{kubeconfig}", &[], Now(OTHER_PODS)),
    ("apiserver", "{other}", &[], Now(OTHER_PODS)),
    ("use-apiserver-cache", "true", &[], Now(|live| live.asked("resourceVersion", "0"))),
    ("host", "127.0.0.2", &[], Now(|live| live.line.contains("metrics=http://127.0.0.2:"))),
    ("port", "{port}", &[], Now(|live| live.metrics == format!("127.0.0.1:{}", live.value))),
    ("telemetry-host", "127.0.0.2", &[], Now(|live| live.telemetry.starts_with("127.0.0.2:"))),
    ("telemetry-port", "{port}", &[], Now(|live| live.telemetry == format!("127.0.0.1:{}", live.value))),
    ("enable-gzip-encoding", "true", &[], Now(|live| head(live.metrics).contains("content-encoding: gzip"))),
    ("server-read-timeout", "300ms", &[], Now(|live| live.cuts(SILENT, HEADER))),
    ("server-read-header-timeout", "300ms", &[], Now(|live| live.cuts(SILENT, HEADER))),
    ("server-idle-timeout", "300ms", &[], Now(|live| live.cuts(b"GET /livez HTTP/1.1\r\nhost: test\r\n\r\n", SOON))),
    ("server-write-timeout", "300ms", &["--metric-annotations-allowlist=configmaps=[long]"], Now(gives_up)),
    ("resources", "nodes", &[], Now(|live| live.body().contains("kube_node_info{") && live.pods().is_empty())),
    ("namespaces", "b", &[], Now(|live| live.pods() == ["b"])),
    ("namespaces-denylist", "b", &[], Now(|live| live.pods() == ["a", "c"])),
    ("object-limit", "2", &[], Now(|live| live.pods().len() == 2)),
    ("metric-allowlist", "^kube_node_info$", &[], Now(|live| live.body().matches("# TYPE ").count() == 1)),
    ("metric-denylist", "^kube_(?!node_)", &[], Now(|live| live.pods().is_empty())),
    (
        "metric-opt-in-list",
        "kube_pod_nodeselectors",
        &[],
        Now(|live| live.body().contains("# TYPE kube_pod_nodeselectors ")),
    ),
    ("metric-labels-allowlist", "pods=[app]", &[], Now(|live| live.body().contains(",label_app=\"a\"}"))),
    ("metric-annotations-allowlist", "pods=[note]", &[], Now(|live| live.body().contains(",annotation_note=\"n\"}"))),
    ("tls-config", "{web}", &[], Now(|live| get(live.metrics, "/metrics").0 == 401)),
    ("auth-filter", "true", &[], Now(|live| get(live.telemetry, "/metrics").0 == 401)),
    ("v", "10", &[], Logged(" TRACE ")),
    ("custom-resource-state-config", "spec: {}", &[], Refused("custom resources are not served yet")),
    ("custom-resource-state-config-file", "f", &[], Refused("custom resources are not served yet")),
    ("custom-resource-state-only", "true", &[], Refused("custom resources are not served yet")),
    ("continue-without-custom-resource-state-config-file", "true", &[], Nothing),
    ("auto-gomemlimit", "true", &[], Logged("--auto-gomemlimit has no effect: ")),
    ("auto-gomemlimit-ratio", "0.8", &[], Logged("--auto-gomemlimit-ratio has no effect: ")),
    ("logtostderr", "false", &[], Logged("--logtostderr has no effect: ")),
    ("alsologtostderr", "true", &[], Logged("--alsologtostderr has no effect: ")),
    ("alsologtostderrthreshold", "INFO", &[], Logged("--alsologtostderrthreshold has no effect: ")),
    ("stderrthreshold", "2", &[], Logged("--stderrthreshold has no effect: ")),
    ("legacy_stderr_threshold_behavior", "true", &[], Logged("--legacy_stderr_threshold_behavior has no effect: ")),
    ("log_dir", "/tmp", &[], Logged("--log_dir has no effect: ")),
    ("log_file", "f", &[], Logged("--log_file has no effect: ")),
    ("log_file_max_size", "1", &[], Logged("--log_file_max_size has no effect: ")),
    ("log_backtrace_at", "a.go:1", &[], Logged("--log_backtrace_at has no effect: ")),
    ("vmodule", "a=1", &[], Logged("--vmodule has no effect: ")),
    ("one_output", "true", &[], Logged("--one_output has no effect: ")),
    ("skip_headers", "true", &[], Logged("--skip_headers has no effect: ")),
    ("skip_log_headers", "true", &[], Logged("--skip_log_headers has no effect: ")),
    ("add_dir_header", "true", &[], Logged("--add_dir_header has no effect: ")),
    ("shard", "1", &["--total-shards=2"], Now(|live| live.told().contains("shard_ordinal{shard_ordinal=\"1\"} 1\n"))),
    ("total-shards", "2", &[], Now(|live| live.told().contains("kube_state_metrics_total_shards 2\n"))),
    ("shard-by", "md5", &[], Now(|live| live.told().contains("scheme_info{scheme=\"md5\"} 1\n"))),
    ("pod", "ksm-0", &["--pod-namespace=mon"], Now(is_in_a_set)),
    ("pod-namespace", "mon", &["--pod=ksm-0"], Now(is_in_a_set)),
    ("node", "n1", &[], Now(|live| live.pods() == ["a"])),
    ("track-unscheduled-pods", "true", &[], Now(|live| live.pods() == ["b", "c"])),
];

/// Options with a test of their own below.
const ELSEWHERE: [&str; 5] =
    ["config", "continue-without-config", "reshard-overlap", "reshard-grace", "shutdown-delay"];

const CONFIG_MAPS: usize = 60;

/// Length of an annotation of each: together more than sockets and servers buffer.
const LONG: usize = 200_000;

fn is_in_a_set(live: &Live<'_>) -> bool {
    live.told().contains("kube_state_metrics_total_shards 3\n")
}

/// Whether a response that is not read is given up before its end.
fn gives_up(live: &Live<'_>) -> bool {
    let mut stream = connect(live.metrics);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: test\r\n\r\n").expect("it is sent");
    // It is counted when it has ended.
    let has_ended =
        || live.told().contains("http_request_duration_seconds_count{handler=\"metrics\",method=\"get\"} 1\n");
    let deadline = Instant::now() + if live.given { SOON } else { A_WHILE };
    while !has_ended() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut read = Vec::new();
    // An end or a reset.
    let _ = stream.read_to_end(&mut read);
    read.len() < LONG * CONFIG_MAPS
}

/// The head of a scrape that takes gzip.
fn head(address: &str) -> String {
    let mut stream = connect(address);
    let request = "HEAD /metrics HTTP/1.1\r\nhost: test\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("the reply arrives");
    reply.to_lowercase()
}

/// Where an option is given.
#[derive(Clone, Copy, Debug)]
enum Source {
    CommandLine,
    Environment,
    File,
}

/// An option as the binary names it.
struct Named {
    option: String,
    variable: String,
    /// Empty if the file cannot have it.
    key: String,
}

/// What `ksm-shard options` says.
fn named() -> Vec<Named> {
    let page = run(PROGRAM, &["options"]).stdout;
    let rows = page.lines().filter(|line| line.starts_with("| `-"));
    let cell = |text: &str| text.trim().trim_matches('`').to_owned();
    rows.map(|row| {
        let mut cells = row.trim_start_matches("| ").split(" | ");
        let mut next = || cells.next().expect("a row has four cells");
        let option = next().split("--").nth(1).expect("an option has a long name");
        let option = option.split(['=', '[', '`']).next().unwrap_or_default().to_owned();
        Named { option, variable: cell(next()), key: cell(next()) }
    })
    .collect()
}

/// A port that nobody listens on, below those that the kernel picks: another test would be given one of them meanwhile.
fn free_port() -> u16 {
    const PORTS: std::ops::Range<u32> = 11_000..20_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Runs that share a machine start at different places.
    let start = std::process::id() % 1000 * 37;
    let next = || start + NEXT.fetch_add(1, Ordering::Relaxed);
    let ports = std::iter::repeat_with(|| PORTS.start + next() % (PORTS.end - PORTS.start)).take(PORTS.len());
    let mut ports = ports.map(|port| u16::try_from(port).expect("a port"));
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}

/// API servers, and what values of options name.
struct Bench {
    server: ApiServer,
    other: ApiServer,
    folder: Folder,
    named: Vec<Named>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let (server, other, folder) = (ApiServer::start(), ApiServer::start(), Folder::new(name));
        let pod = |name: &str| {
            let spec = if name == "a" { json!({"nodeName": "n1", "nodeSelector": {"x": "y"}}) } else { json!({}) };
            let metadata = json!({
                "name": name, "namespace": name, "labels": {"app": name}, "annotations": {"note": "n"},
            });
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        };
        ["a", "b", "c"].iter().for_each(|name| server.apply(pod(name)));
        other.apply(pod("other"));
        server.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
        let long = "v".repeat(LONG);
        for i in 0..CONFIG_MAPS {
            let metadata = json!({"name": format!("cm-{i}"), "namespace": "x", "annotations": {"long": long}});
            server.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
        }
        set(&server, 1, 3, 3);
        folder.write(
            "kubeconfig",
            &format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
                 clusters: [{{name: c, cluster: {{server: \"{}\"}}}}]\nusers: [{{name: u, user: {{}}}}]\n",
                other.testbed.url()
            ),
        );
        let hash = bcrypt::hash("x", 4).expect("a hash");
        folder.write("web.yaml", &format!("basic_auth_users: {{u: \"{hash}\"}}\n"));
        Self { server, other, folder, named: named() }
    }

    fn value(&self, value: &str) -> String {
        match value {
            "{kubeconfig}" => self.folder.path("kubeconfig"),
            "{web}" => self.folder.path("web.yaml"),
            "{other}" => self.other.testbed.url().to_owned(),
            "{port}" => free_port().to_string(),
            value => value.to_owned(),
        }
    }

    /// What to start, with an option given there or not at all.
    fn command(&self, option: &str, given: Option<(Source, &str)>, also: &[&str]) -> Command {
        let url = self.server.testbed.url().to_owned();
        let base = [
            ("apiserver", url.as_str()),
            ("host", "127.0.0.1"),
            ("port", "0"),
            ("telemetry-host", "127.0.0.1"),
            ("telemetry-port", "0"),
        ];
        let mut command = Command::new(PROGRAM);
        command.env_clear();
        for (name, value) in base {
            // A flag would override the environment, and an URL the kubeconfig.
            let in_the_way = name == option || (name == "apiserver" && option == "kubeconfig");
            if given.is_none() || !in_the_way {
                command.arg(format!("--{name}={value}"));
            }
        }
        command.args(also);
        let Some((source, value)) = given else { return command };
        let named = self.named.iter().find(|named| named.option == option).expect("the binary names the option");
        match source {
            Source::CommandLine => {
                command.arg(format!("--{option}={value}"));
            }
            Source::Environment => {
                command.env(&named.variable, value);
            }
            Source::File => {
                assert!(!named.key.is_empty(), "the file cannot have {option}");
                let file = self.folder.write(&format!("{option}.yaml"), &format!("{}: {value:?}\n", named.key));
                command.arg(format!("--config={file}"));
            }
        }
        command
    }

    /// Checks that an option shows, or does not if it is not given.
    fn check(&self, (option, value, also, shows): &Case, source: Option<Source>) {
        let value = self.value(value);
        let what = format!("{option} from {source:?}");
        self.server.testbed.stats().reset();
        let given = source.map(|source| (source, value.as_str()));
        let running = Running::spawn(self.command(option, given, also));
        if let (Refused(message), Some(_)) = (shows, source) {
            let ended = running.ended();
            assert!(ended.code != Some(0) && ended.stderr.contains(message), "{what}: {}", ended.stderr);
            return;
        }
        let line = running.line();
        let [metrics, telemetry] = addresses(&line);
        until(&format!("{what}: everything is listed"), || get(&telemetry, "/readyz").0 == 200);
        let (server, given) = (&self.server, source.is_some());
        let live = Live { server, given, value: &value, line: &line, metrics: &metrics, telemetry: &telemetry };
        if let Now(shows) = shows {
            assert_eq!(shows(&live), given, "{what}");
        }
        running.terminate();
        let ended = running.ended();
        assert_eq!(ended.code, Some(0), "{what}: {}", ended.stderr);
        if let Logged(text) = shows {
            assert_eq!(ended.stderr.contains(text), given, "{what}: {}", ended.stderr);
        }
    }
}

#[test]
fn every_option_of_the_binary_is_in_the_table() {
    let named: BTreeSet<String> = named().into_iter().map(|named| named.option).collect();
    let tested: Vec<&str> = CASES.iter().map(|case| case.0).chain(ELSEWHERE).collect();
    let distinct: BTreeSet<String> = tested.iter().map(|&option| option.to_owned()).collect();
    assert_eq!(named, distinct);
    assert_eq!(distinct.len(), tested.len(), "an option is there twice");
    assert!(named.len() > 50, "{}", named.len());
}

#[test]
fn options_show_on_the_command_line_and_only_then() {
    let bench = Bench::new("every-flag");
    for case in CASES {
        bench.check(case, Some(Source::CommandLine));
        // A pod cannot be given without its namespace, nor the other way round.
        let also = if case.0.starts_with("pod") { &[][..] } else { case.2 };
        if matches!(case.3, Now(_) | Logged(_)) {
            bench.check(&(case.0, case.1, also, case.3), None);
        }
    }
}

#[test]
fn options_show_from_the_environment() {
    let bench = Bench::new("every-variable");
    CASES.iter().for_each(|case| bench.check(case, Some(Source::Environment)));
}

#[test]
fn options_show_from_the_file() {
    let bench = Bench::new("every-key");
    CASES.iter().for_each(|case| bench.check(case, Some(Source::File)));
}

#[test]
fn the_file_is_named_by_a_flag_or_the_environment_and_may_be_absent() {
    let bench = Bench::new("every-file");
    let file = bench.folder.write("ksm.yaml", "namespaces: b\n");
    for source in [Source::CommandLine, Source::Environment] {
        let running = Running::spawn(bench.command("config", Some((source, &file)), &[]));
        let line = running.line();
        let [metrics, telemetry] = addresses(&line);
        until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
        let (server, given) = (&bench.server, true);
        let live = Live { server, given, value: &file, line: &line, metrics: &metrics, telemetry: &telemetry };
        assert_eq!(live.pods(), ["b"], "{source:?}");
        let absent = format!("--config={}", bench.folder.path("absent"));
        let ended = Running::spawn(bench.command("continue-without-config", None, &[&absent])).ended();
        assert!(ended.code == Some(1) && ended.stderr.contains("No such file"), "{}", ended.stderr);
        let running = Running::spawn(bench.command("continue-without-config", Some((source, "true")), &[&absent]));
        running.line();
    }
}

/// The set `mon/ksm` and its pods, of which so many are ready.
fn set(server: &ApiServer, generation: i64, replicas: u32, ready: u32) {
    server.apply(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"namespace": "mon", "name": "ksm", "generation": generation},
        "spec": {"replicas": replicas, "selector": {}, "serviceName": "ksm", "template": {}},
        "status": {"observedGeneration": generation, "replicas": replicas, "readyReplicas": ready},
    }));
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ksm", "uid": "u", "controller": true});
    let metadata = json!({"namespace": "mon", "name": "ksm-0", "ownerReferences": [owner]});
    server.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
}

#[test]
fn what_is_given_away_is_served_on_for_a_grace_or_not_at_all() {
    let bench = Bench::new("every-reshard");
    let also = ["--pod=ksm-0", "--pod-namespace=mon", "--resources=configmaps"];
    let overlap = "kube_state_metrics_sharded_reshard_overlap";
    let mut generation = 1;
    for (option, value) in [("reshard-overlap", "off"), ("reshard-grace", "1s"), ("reshard-grace", "1h")] {
        for source in [Source::CommandLine, Source::Environment, Source::File] {
            generation += 1;
            set(&bench.server, generation, 1, 1);
            let running = Running::spawn(bench.command(option, Some((source, value)), &also));
            let [_, telemetry] = addresses(&running.line());
            let told = || get(&telemetry, "/metrics").1;
            until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
            // One more shard, which is not ready yet; then it is.
            generation += 1;
            set(&bench.server, generation, 2, 1);
            until("the set is followed", || told().contains("kube_state_metrics_total_shards 2\n"));
            let overlaps = value != "off";
            assert_eq!(told().contains(&format!("\n{overlap} 1\n")), overlaps, "{option}={value} from {source:?}");
            set(&bench.server, generation, 2, 2);
            if value == "1h" {
                std::thread::sleep(Duration::from_millis(3000));
                assert!(told().contains(&format!("\n{overlap} 1\n")), "{source:?}");
            } else {
                until("what was given away is dropped", || {
                    let told = told();
                    told.contains(&format!("\n{overlap} 0\n"))
                        && !told.contains("kube_state_metrics_sharded_given_away_objects_total 0.0\n")
                });
            }
        }
    }
}

#[test]
fn who_is_told_to_stop_serves_on_for_the_delay() {
    // Longer than anything here takes, so that it is the second signal that ends it; that it ends by itself is tested in
    // virtual time, in `run/sharding.rs`.
    let bench = Bench::new("every-delay");
    let sources = [Source::CommandLine, Source::Environment, Source::File].map(Some);
    for source in sources.into_iter().chain([None]) {
        let running = Running::spawn(bench.command("shutdown-delay", source.map(|source| (source, "1h")), &[]));
        let [metrics, telemetry] = addresses(&running.line());
        until("everything is listed", || get(&telemetry, "/readyz").0 == 200);
        running.terminate();
        if source.is_some() {
            until("it is not ready any more", || get(&telemetry, "/readyz") == (503, "stopping\n".to_owned()));
            assert!(get(&metrics, "/metrics").1.contains("kube_pod_info{"), "{source:?}");
            running.terminate();
        }
        let ended = running.ended();
        assert_eq!(ended.code, Some(0), "{source:?}: {}", ended.stderr);
    }
}

//! Both ports over loopback sockets, with stores filled by hand.

mod coding;
mod formats;
mod landing;
mod slow;

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::build::Build;
use crate::catalogue::{About, Catalogue, Live, Served, ServedResource};
use crate::exposition::Kind;
use crate::family::{FamilyInfo, Plan, Stability};
use crate::options::Address;
use crate::resource::{AnyResource, Descriptor, Fetch, Rendered, Scope};
use crate::shard::Shard;
use crate::store::{ObjectKey, Store};
use crate::telemetry::{Files, Telemetry};
use crate::view::{DecodeError, Encoding, ObjectMeta};
use crate::watch::Progress;

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(120);

/// Nobody is cut for being slow unless a test is about that.
const LIMITS: Limits = Limits { header: DEADLINE, response: DEADLINE, grace: DEADLINE, ..Limits::DEFAULT };

const BUILD: Build = Build { name: "ksm-test", version: "1.2.3", revision: "abc", date: "2026-01-02T03:04:05Z" };

struct Fake {
    plural: &'static str,
    families: [(&'static str, Kind, Stability); 2],
}

static ALPHAS: Fake = Fake {
    plural: "alphas",
    families: [
        ("demo_alpha_info", Kind::Info, Stability::Stable),
        ("demo_alpha_count_total", Kind::Counter, Stability::Experimental),
    ],
};

static BETAS: Fake = Fake {
    plural: "betas",
    families: [
        ("demo_beta_state", Kind::StateSet, Stability::Stable),
        ("demo_beta_size", Kind::Gauge, Stability::Experimental),
    ],
};

impl AnyResource for Fake {
    fn descriptor(&self) -> Descriptor<'_> {
        Descriptor {
            plural: self.plural,
            group: "",
            version: "v1",
            kind: "Fake",
            scope: Scope::Namespaced,
            fetch: Fetch::Whole,
            enabled_by_default: true,
        }
    }

    fn families(&self) -> Vec<FamilyInfo<'_>> {
        let info =
            |&(name, kind, stability)| FamilyInfo { name, kind, stability, opt_in: false, labels: &[], help: "Help." };
        self.families.iter().map(info).collect()
    }

    fn base_labels(&self) -> Vec<&str> {
        Vec::new()
    }

    fn render(
        &self,
        _: Encoding,
        _: &[u8],
        _: &Plan,
        _: &mut dyn FnMut(&ObjectMeta) -> bool,
        _: &mut Rendered,
    ) -> Result<bool, DecodeError> {
        panic!("a scrape renders nothing")
    }
}

/// A store with one sample of each family for each object.
fn store(resource: &Fake, objects: impl IntoIterator<Item = String>) -> Store {
    let mut store = Store::new(2);
    let mut rendered = Rendered::default();
    for object in objects {
        render(resource, &object, &mut rendered);
        store.apply(ObjectKey::from_uid(&object), &rendered);
    }
    store.publish();
    store
}

/// One sample of each family.
fn render(resource: &Fake, object: &str, rendered: &mut Rendered) {
    rendered.clear();
    for (name, ..) in resource.families {
        rendered.text.extend_from_slice(format!("{name}{{o=\"{object}\"}} 1\n").as_bytes());
        rendered.ends.push(u32::try_from(rendered.text.len()).unwrap());
        rendered.samples.push(1);
    }
}

fn served(resource: &'static Fake, stores: &[Store]) -> ServedResource {
    let readers = stores.iter().map(Store::reader).collect();
    let progress = |store: &Store| {
        let progress = Progress::default();
        progress.objects.set(store.len() as u64);
        Arc::new(progress)
    };
    let progress = stores.iter().map(progress).collect();
    ServedResource::new(Arc::new(resource), &Plan::by_default(&resource.families()), readers, progress)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Alphas in two namespaces, the first of them empty; betas in one.
fn small() -> Catalogue {
    Catalogue::new(vec![
        served(&ALPHAS, &[store(&ALPHAS, []), store(&ALPHAS, names(&["a1", "a2"]))]),
        served(&BETAS, &[store(&BETAS, names(&["b1"]))]),
    ])
}

/// A body of several megabytes, some of it packed: more than sockets and servers buffer.
fn large() -> Catalogue {
    let objects = (0..20_000).map(|i| format!("{i:0200}"));
    Catalogue::new(vec![served(&ALPHAS, &[store(&ALPHAS, objects)])])
}

struct Running {
    address: SocketAddr,
    telemetry: Arc<Telemetry>,
    catalogue: Arc<Catalogue>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
}

impl Running {
    async fn start(catalogue: Catalogue, limits: Limits) -> Self {
        Self::start_with(catalogue, limits, true, MetricsPages::new).await
    }

    async fn start_telemetry(catalogue: Catalogue) -> Self {
        Self::start_with(catalogue, LIMITS, true, |live, telemetry| TelemetryPages { live, telemetry }).await
    }

    async fn start_with<H: Handler>(
        catalogue: Catalogue,
        limits: Limits,
        gzip: bool,
        pages: impl FnOnce(Arc<Live>, Arc<Telemetry>) -> H,
    ) -> Self {
        let catalogue = Arc::new(catalogue);
        let about = About { build: BUILD, part: "All <resources>".to_owned(), shares: Shard::WHOLE.into() };
        let live = Arc::new(Live::from_pointee(Served { about, catalogue: Arc::clone(&catalogue), gzip }));
        let telemetry = Arc::new(Telemetry::new(Arc::clone(&live), Arc::new(Files::default())));
        let pages = pages(live, Arc::clone(&telemetry));
        let server = bind(limits).await;
        let address = server.address();
        let (stop, stopped) = watch::channel(false);
        let server = tokio::spawn(server.serve(Arc::new(pages), stopped));
        Self { address, telemetry, catalogue, stop, server }
    }

    async fn connect(&self) -> Client {
        Client { stream: BufReader::new(TcpStream::connect(self.address).await.unwrap()) }
    }

    /// One request on a connection of its own.
    async fn get(&self, path: &str) -> Reply {
        self.connect().await.ask("GET", path, "").await
    }

    /// Waits until a scrape was counted, which it is when its body is sent or given up.
    async fn scrape_ended(&self) {
        let counted = async {
            let line = "http_request_duration_seconds_count{handler=\"metrics\",method=\"get\"} 1";
            while !self.telemetry.encode(crate::exposition::Format::Text).contains(line) {
                tokio::task::yield_now().await;
            }
        };
        timeout(DEADLINE, counted).await.expect("the scrape ends");
    }
}

async fn bind(limits: Limits) -> Server {
    Server::bind(&Address { host: "127.0.0.1".to_owned(), port: 0 }, limits).await.unwrap()
}

struct Client {
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
struct Reply {
    status: u16,
    headers: HashMap<String, String>,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl Client {
    async fn send(&mut self, method: &str, path: &str, headers: &str) {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n{headers}\r\n");
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, method: &str, path: &str, headers: &str) -> Reply {
        self.send(method, path, headers).await;
        let mut reply = self.head().await;
        if method != "HEAD" {
            let mut body = vec![0; reply.header("content-length").parse().unwrap()];
            timeout(DEADLINE, self.stream.read_exact(&mut body)).await.expect("the body arrives").unwrap();
            if reply.header("content-encoding") == "gzip" {
                let mut plain = Vec::new();
                // Reads checksum and length as well; what follows the member would be left over.
                let mut member = flate2::bufread::GzDecoder::new(&body[..]);
                member.read_to_end(&mut plain).unwrap();
                assert!(member.into_inner().is_empty(), "one member and nothing else");
                body = plain;
            }
            reply.body = String::from_utf8(body).unwrap();
        }
        reply
    }

    /// Status and headers of a reply.
    async fn head(&mut self) -> Reply {
        let mut lines = Vec::new();
        let read = async {
            loop {
                let mut line = String::new();
                self.stream.read_line(&mut line).await.unwrap();
                if line.trim().is_empty() {
                    break;
                }
                lines.push(line.trim().to_owned());
            }
        };
        timeout(DEADLINE, read).await.expect("the head arrives");
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Reply { status, headers: lines[1..].iter().filter_map(header).collect(), body: String::new() }
    }

    /// How many bytes come before the end of the connection; a reset is an end as well.
    async fn bytes_to_end(&mut self) -> usize {
        self.bytes_up_to(usize::MAX).await
    }

    /// The same, or that there are so many.
    async fn bytes_up_to(&mut self, most: usize) -> usize {
        let (mut count, mut buffer) = (0, vec![0; 1 << 16]);
        let read = async {
            while count < most {
                match self.stream.read(&mut buffer).await {
                    Ok(0) | Err(_) => break,
                    Ok(n) => count += n,
                }
            }
        };
        timeout(DEADLINE, read).await.expect("the connection ends");
        count
    }
}

#[track_caller]
fn check(reply: &Reply, content_type: &str, body: Expect) {
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), content_type);
    body.assert_eq(&reply.body);
}

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[tokio::test]
async fn a_scrape_has_every_family_once_over_all_namespaces() {
    // R19, https://github.com/kubernetes/kube-state-metrics/issues/3061: the first namespace is empty.
    let running = Running::start(small(), LIMITS).await;
    check(
        &running.get("/metrics").await,
        TEXT,
        expect![[r#"
        # HELP demo_alpha_info [STABLE] Help.
        # TYPE demo_alpha_info gauge
        demo_alpha_info{o="a1"} 1
        demo_alpha_info{o="a2"} 1
        # HELP demo_alpha_count_total Help.
        # TYPE demo_alpha_count_total counter
        demo_alpha_count_total{o="a1"} 1
        demo_alpha_count_total{o="a2"} 1
        # HELP demo_beta_state [STABLE] Help.
        # TYPE demo_beta_state gauge
        demo_beta_state{o="b1"} 1
        # HELP demo_beta_size Help.
        # TYPE demo_beta_size gauge
        demo_beta_size{o="b1"} 1
    "#]],
    );
}

#[tokio::test]
async fn parameters_pick_resources() {
    let running = Running::start(small(), LIMITS).await;
    let families = async |query: &str| {
        let reply = running.get(&format!("/metrics?{query}")).await;
        let names = reply.body.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(families("resources=alphas").await, "demo_alpha_info demo_alpha_count_total");
    assert_eq!(families("exclude_resources=alphas").await, "demo_beta_state demo_beta_size");
    assert_eq!(families("resources=alphas&exclude_resources=alphas").await, "");
    check(&running.get("/metrics?resources=").await, TEXT, expect![""]);
}

#[tokio::test]
async fn without_any_object_the_families_are_silent() {
    let running = Running::start(Catalogue::new(vec![served(&ALPHAS, &[store(&ALPHAS, [])])]), LIMITS).await;
    check(&running.get("/metrics").await, TEXT, expect![""]);
}

#[tokio::test]
async fn head_tells_the_length_and_sends_nothing() {
    let running = Running::start(small(), LIMITS).await;
    let mut client = running.connect().await;
    for path in ["/metrics", "/", "/healthz", "/absent"] {
        let head = client.ask("HEAD", path, "").await;
        // The next reply on the same connection starts right behind it.
        let get = client.ask("GET", path, "").await;
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        if path != "/" {
            assert_eq!(head.header("content-length"), get.body.len().to_string(), "{path}");
        }
    }
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let running = Running::start(small(), LIMITS).await;
    for path in ["/metrics/", "/metricsx", "/debug/pprof/", "//metrics"] {
        assert_eq!(running.get(path).await.status, 404, "{path}");
    }
    let mut client = running.connect().await;
    for method in ["POST", "DELETE", "OPTIONS"] {
        let reply = client.ask(method, "/metrics", "").await;
        assert_eq!((reply.status, reply.header("allow")), (405, "GET, HEAD"), "{method}");
        assert_eq!(client.ask(method, "/absent", "").await.status, 404);
    }
}

#[tokio::test]
async fn the_announced_length_is_that_of_the_body() {
    let running = Running::start(large(), LIMITS).await;
    let mut client = running.connect().await;
    for _ in 0..2 {
        let reply = client.ask("GET", "/metrics", "").await;
        assert!(reply.body.len() > 8 << 20);
        // Header lines of two families, and a sample of each for every object.
        assert_eq!(reply.body.lines().count(), 4 + 2 * 20_000);
        assert!(reply.body.ends_with("} 1\n"));
    }
}

#[tokio::test]
async fn responses_in_progress_finish_when_told_to_stop() {
    // R47, https://github.com/kubernetes/kube-state-metrics/issues/3068
    let running = Running::start(large(), LIMITS).await;
    let (mut idle, mut busy) = (running.connect().await, running.connect().await);
    assert_eq!(idle.ask("GET", "/healthz", "").await.status, 200);
    busy.send("GET", "/metrics", "").await;
    let announced = busy.head().await.header("content-length").parse::<usize>().unwrap();
    running.stop.send(true).unwrap();
    assert_eq!(idle.bytes_to_end().await, 0);
    let refused = async { while TcpStream::connect(running.address).await.is_ok() {} };
    timeout(DEADLINE, refused).await.expect("new connections are refused");
    assert_eq!(busy.bytes_to_end().await, announced);
    timeout(DEADLINE, running.server).await.expect("the server ends").unwrap();
}

#[tokio::test]
async fn the_grace_of_a_stop_is_limited() {
    let limits = Limits { grace: Duration::from_millis(50), ..LIMITS };
    let running = Running::start(large(), limits).await;
    let mut busy = running.connect().await;
    busy.send("GET", "/metrics", "").await;
    let announced = busy.head().await.header("content-length").parse::<usize>().unwrap();
    running.stop.send(true).unwrap();
    timeout(DEADLINE, running.server).await.expect("the server ends").unwrap();
    assert!(busy.bytes_to_end().await < announced);
}

#[tokio::test]
async fn a_header_that_does_not_come_is_not_waited_for() {
    // Long enough for the one header that does come.
    let limits = Limits { header: Duration::from_millis(1000), ..LIMITS };
    let running = Running::start(small(), limits).await;
    let mut silent = running.connect().await;
    let mut halting = running.connect().await;
    assert_eq!(halting.ask("GET", "/healthz", "").await.status, 200);
    halting.stream.write_all(b"GET /met").await.unwrap();
    assert_eq!(silent.bytes_to_end().await, 0);
    assert_eq!(halting.bytes_to_end().await, 0);
}

#[tokio::test]
async fn a_connection_may_rest_between_requests_and_not_for_ever() {
    let limits = Limits { idle: Duration::from_millis(50), ..LIMITS };
    let running = Running::start(small(), limits).await;
    let mut client = running.connect().await;
    assert_eq!(client.ask("GET", "/healthz", "").await.status, 200);
    assert_eq!(client.bytes_to_end().await, 0);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_those_in_use() {
    let running = Running::start(large(), Limits { connections: 1, ..LIMITS }).await;
    let mut first = running.connect().await;
    first.send("GET", "/metrics", "").await;
    assert_eq!(first.head().await.status, 200);
    let mut second = running.connect().await;
    second.send("GET", "/healthz", "").await;
    assert!(first.bytes_to_end().await > 8 << 20);
    assert_eq!(second.head().await.status, 200);
}

#[tokio::test]
async fn idle_connections_make_room_when_all_places_are_taken() {
    let running = Running::start(small(), Limits { connections: 3, ..LIMITS }).await;
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut client = running.connect().await;
        assert_eq!(client.ask("GET", "/healthz", "").await.status, 200);
        idle.push(client);
    }
    assert_eq!(running.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_panic_costs_one_connection() {
    struct Fragile;
    impl Handler for Fragile {
        async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
            assert_ne!(request.uri().path(), "/panic");
            let mut response = Response::new(Body::whole("fine"));
            response.headers_mut().insert("content-length", 4.into());
            response
        }
    }
    let running = Running::start_with(small(), LIMITS, false, |_, _| Fragile).await;
    let mut client = running.connect().await;
    client.send("GET", "/panic", "").await;
    assert_eq!(client.bytes_to_end().await, 0);
    assert_eq!(running.get("/").await.body, "fine");
}

#[tokio::test]
async fn ready_means_every_initial_list_is_complete_or_refused() {
    let running = Running::start(small(), LIMITS).await;
    let readiness = async || {
        let reply = running.get("/readyz").await;
        // The page for people says the same.
        let page = if reply.status == 200 { "ready" } else { reply.body.trim_end() };
        assert!(running.get("/").await.body.contains(&format!(">{page}</span>")), "{page}");
        (reply.status, reply.body)
    };
    let resources = running.catalogue.resources();
    assert_eq!(readiness().await, (503, "waiting for the first list of alphas, betas\n".to_owned()));
    resources[0].progress()[0].set_synced();
    resources[1].progress()[0].set_refused(true);
    assert_eq!(readiness().await, (503, "waiting for the first list of alphas\n".to_owned()));
    resources[0].progress()[1].set_synced();
    assert_eq!(readiness().await, (200, "ok\n".to_owned()));
    resources[1].progress()[0].set_synced();
    resources[0].progress()[1].set_resharding(true);
    assert_eq!(readiness().await, (503, "resharding, waiting for a list of alphas\n".to_owned()));
    for path in ["/healthz", "/livez"] {
        assert_eq!(running.get(path).await.status, 200);
    }
}

#[tokio::test]
async fn a_header_beyond_all_measure_is_refused() {
    let running = Running::start(small(), LIMITS).await;
    let long = |bytes: usize| format!("x-long: {}\r\n", "v".repeat(bytes));
    assert_eq!(running.connect().await.ask("GET", "/metrics", &long(8 << 10)).await.status, 200);
    let mut client = running.connect().await;
    client.send("GET", "/metrics", &long(20 << 10)).await;
    assert_eq!(client.head().await.status, 431);
}

#[tokio::test]
async fn the_telemetry_port_serves_self_metrics_and_health() {
    let running = Running::start_telemetry(small()).await;
    let text = running.get("/metrics").await;
    assert_eq!((text.status, text.header("content-type")), (200, TEXT));
    assert!(text.body.contains("\nkube_state_metrics_sharded_objects{resource=\"alphas\"} 2.0\n"), "{}", text.body);
    assert!(!text.body.contains("demo_"), "{}", text.body);
    let accept = "accept: application/openmetrics-text;version=1.0.0\r\n";
    let openmetrics = running.connect().await.ask("GET", "/metrics", accept).await;
    assert_eq!(openmetrics.header("content-type"), OPENMETRICS);
    assert!(openmetrics.body.ends_with("# EOF\n"));
    let status = async |path: &str| running.get(path).await.status;
    assert_eq!((status("/healthz").await, status("/livez").await, status("/readyz").await), (200, 200, 503));
    assert_eq!((status("/").await, status("/absent").await), (200, 404));
}

#[tokio::test]
async fn a_port_that_is_taken_or_an_address_that_is_not_ours_is_an_error() {
    let taken = bind(LIMITS).await;
    let address = |host: &str, port| Address { host: host.to_owned(), port };
    let error = Server::bind(&address("127.0.0.1", taken.address().port()), LIMITS).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    assert!(Server::bind(&address("192.0.2.1", 0), LIMITS).await.is_err());
    let both = Server::bind(&address("::", 0), LIMITS).await.unwrap();
    assert!(TcpStream::connect(("127.0.0.1", both.address().port())).await.is_ok());
}

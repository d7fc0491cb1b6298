//! What is at which path, on either port.
//!
//! Health pages disclose names of resources at most, and `/livez` depends on nothing but this process, so that an
//! outage of the API server restarts nobody (<https://kubernetes.io/docs/concepts/workloads/pods/probes/>).

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::beat::Beat;
use super::crowd::{Crowd, Cut};
use super::exposition::{Coding, Exposition};
use super::query::Selection;
use super::{Body, Client, Handler, landing, negotiate};
use crate::catalogue::{About, Catalogue, Live, Served, ServedResource};
use crate::exposition::Format;
use crate::telemetry::Telemetry;

/// How far behind what was read a scrape may start; with its own time, and that of folding, it shows what is at most a
/// second old.
const TOLERANCE: Duration = Duration::from_millis(750);

/// More plain text than this is packed on another thread.
const PACKED_HERE: u64 = 256 * 1024;

/// Resources that `/readyz` names at most.
const NAMED: usize = 10;

const TEXT: &str = "text/plain; charset=utf-8";

/// Where there is a page, on either port.
const PATHS: [&str; 5] = ["/", "/metrics", "/healthz", "/livez", "/readyz"];

/// The pages of the main port.
pub struct MetricsPages {
    live: Arc<Live>,
    /// Where scrapes are timed.
    telemetry: Arc<Telemetry>,
    beat: Arc<Beat>,
    crowd: Arc<Crowd>,
}

/// The pages of the telemetry port.
pub struct TelemetryPages {
    /// What is served on the main port, for readiness.
    pub live: Arc<Live>,
    /// The self-metrics.
    pub telemetry: Arc<Telemetry>,
}

impl Handler for MetricsPages {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        if let Some(refused) = refusal(&request) {
            return refused;
        }
        let served = self.live.load_full();
        let response = match request.uri().path() {
            "/metrics" => self.metrics(&served, &request).await,
            "/" => html(landing::metrics_page(&served.about, &served.catalogue)),
            path => health(path, &served, &request),
        };
        for_method(&request, response)
    }
}

impl MetricsPages {
    /// Pages of what is in `live`.
    pub fn new(live: Arc<Live>, telemetry: Arc<Telemetry>) -> Self {
        Self { live, telemetry, beat: Arc::default(), crowd: Arc::default() }
    }

    /// Does the work for scrapes ahead of them, once it knows when they come; ends only by being dropped.
    pub fn keep_beat(&self) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.beat).keep(Arc::clone(&self.live))
    }

    async fn metrics(&self, served: &Served, request: &Request<Incoming>) -> Response<Body> {
        let (started, now) = (Instant::now(), tokio::time::Instant::now());
        let format = negotiate::format(request.headers());
        let coding = match served.gzip && negotiate::gzip(request.headers()) {
            true => Coding::Gzip,
            false => Coding::Identity,
        };
        let selection = match Selection::parse(request.uri().query()) {
            Ok(selection) => selection,
            Err(error) => return plain(StatusCode::BAD_REQUEST, format!("{error}\n")),
        };
        if let Some(Client { address, .. }) = request.extensions().get() {
            self.beat.note((address.ip(), request.uri().to_string()), coding, now);
        }
        served.catalogue.refresh(TOLERANCE).await;
        let place = self.crowd.enter(request.extensions().get::<Cut>().cloned().unwrap_or_default());
        let exposition = exposition(&served.catalogue, selection, format, coding).await;
        let telemetry = Arc::clone(&self.telemetry);
        let method = request.method().clone();
        let ended = Box::new(move || {
            telemetry.observe_request(&method, started.elapsed());
            drop(place);
        });
        let body = Body::exposition(exposition).on_end(ended);
        let mut response = response(StatusCode::OK, format.content_type(), body);
        if served.gzip {
            response.headers_mut().insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        }
        if coding == Coding::Gzip {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

async fn exposition(catalogue: &Arc<Catalogue>, selection: Selection, format: Format, coding: Coding) -> Exposition {
    if coding == Coding::Gzip && catalogue.unpacked_bytes() > PACKED_HERE {
        catalogue.pack().await;
    }
    Exposition::new(catalogue, &selection, format, coding)
}

impl Handler for TelemetryPages {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        if let Some(refused) = refusal(&request) {
            return refused;
        }
        let response = match request.uri().path() {
            "/metrics" => self.metrics(negotiate::format(request.headers())),
            "/" => html(landing::telemetry_page(&self.live.load().about)),
            path => health(path, &self.live.load(), &request),
        };
        for_method(&request, response)
    }
}

impl TelemetryPages {
    fn metrics(&self, format: Format) -> Response<Body> {
        response(StatusCode::OK, format.content_type(), Body::whole(self.telemetry.encode(format)))
    }
}

/// What is said to a request of a method that a page does not have.
fn refusal(request: &Request<Incoming>) -> Option<Response<Body>> {
    let (path, method) = (request.uri().path(), request.method());
    if method == Method::GET || method == Method::HEAD || !PATHS.contains(&path) {
        return None;
    }
    let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
    refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    Some(refused)
}

/// The response without content if only its head was asked for.
fn for_method(request: &Request<Incoming>, response: Response<Body>) -> Response<Body> {
    if request.method() == Method::HEAD { response.map(Body::without_content) } else { response }
}

fn health(path: &str, served: &Served, request: &Request<Incoming>) -> Response<Body> {
    let catalogue = &served.catalogue;
    // Behind a guard, health pages say as little as they can.
    let guarded = request.extensions().get().is_none_or(|client: &Client| client.guarded);
    let stopping = served.about.shares.status().stopping;
    match path {
        "/healthz" | "/livez" => plain(StatusCode::OK, "ok\n"),
        "/readyz" if guarded && (stopping || !catalogue.is_ready()) => {
            plain(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
        }
        "/readyz" => match waited_for(&served.about, catalogue) {
            Some(what) => plain(StatusCode::SERVICE_UNAVAILABLE, what + "\n"),
            None => plain(StatusCode::OK, "ok\n"),
        },
        _ => plain(StatusCode::NOT_FOUND, "not found\n"),
    }
}

/// Why a process is not ready, if it is not.
pub(super) fn waited_for(about: &About, catalogue: &Catalogue) -> Option<String> {
    if about.shares.status().stopping {
        return Some("stopping".to_owned());
    }
    let waiting: Vec<&str> =
        catalogue.resources().iter().filter(|resource| resource.unsettled() > 0).map(ServedResource::plural).collect();
    if waiting.is_empty() {
        return None;
    }
    let more = match waiting.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = &waiting[..waiting.len().min(NAMED)];
    // Nothing else is waited for once every first list is complete.
    let synced = |resource: &ServedResource| resource.progress().iter().all(|progress| progress.is_synced());
    let list = if catalogue.resources().iter().all(synced) {
        "resharding, waiting for a list"
    } else {
        "waiting for the first list"
    };
    Some(format!("{list} of {}{more}", named.join(", ")))
}

pub(super) fn plain(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    response(status, TEXT, Body::whole(text.into()))
}

fn html(page: String) -> Response<Body> {
    response(StatusCode::OK, "text/html; charset=utf-8", Body::whole(page))
}

fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let length = HeaderValue::from(body.remaining());
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CONTENT_LENGTH, length);
    response
}

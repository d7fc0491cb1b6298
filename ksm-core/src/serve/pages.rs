//! What is at which path, on either port.
//!
//! Health pages disclose names of resources at most, and `/livez` depends on nothing but this process, so that an
//! outage of the API server restarts nobody (<https://kubernetes.io/docs/concepts/workloads/pods/probes/>).

use std::sync::Arc;
use std::time::Instant;

use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::body::Exposition;
use super::query::Selection;
use super::{Body, Handler, landing, negotiate};
use crate::build::Build;
use crate::catalogue::{Catalogue, ServedResource};
use crate::exposition::Format;
use crate::shard::Shard;
use crate::telemetry::Telemetry;

/// Resources that `/readyz` names at most.
const NAMED: usize = 10;

const TEXT: &str = "text/plain; charset=utf-8";

/// Where there is a page, on either port.
const PATHS: [&str; 5] = ["/", "/metrics", "/healthz", "/livez", "/readyz"];

/// What a process is, for people.
#[derive(Clone, Debug)]
pub struct About {
    /// Program and version.
    pub build: Build,
    /// Which objects of the cluster it is about, in a few words.
    pub part: String,
    /// Which of these objects are its own.
    pub shard: Shard,
}

/// The pages of the main port.
pub struct MetricsPages {
    /// What this process is.
    pub about: About,
    /// What is served.
    pub catalogue: Arc<Catalogue>,
    /// Where scrapes are timed.
    pub telemetry: Arc<Telemetry>,
}

/// The pages of the telemetry port.
pub struct TelemetryPages {
    /// What this process is.
    pub about: About,
    /// What is served on the main port, for readiness.
    pub catalogue: Arc<Catalogue>,
    /// The self-metrics.
    pub telemetry: Arc<Telemetry>,
}

impl Handler for MetricsPages {
    fn respond(&self, request: &Request<Incoming>) -> Response<Body> {
        answer(request, |path| match path {
            "/metrics" => Some(self.metrics(request)),
            "/" => Some(html(landing::metrics_page(&self.about, &self.catalogue))),
            path => health(path, &self.catalogue),
        })
    }
}

impl MetricsPages {
    fn metrics(&self, request: &Request<Incoming>) -> Response<Body> {
        let started = Instant::now();
        let format = negotiate::format(request.headers());
        let selection = Selection::parse(request.uri().query());
        let exposition = Exposition::new(&self.catalogue, &selection, format);
        let telemetry = Arc::clone(&self.telemetry);
        let method = request.method().clone();
        let timed = Box::new(move || telemetry.observe_request(&method, started.elapsed()));
        response(StatusCode::OK, format.content_type(), Body::exposition(exposition).on_end(timed))
    }
}

impl Handler for TelemetryPages {
    fn respond(&self, request: &Request<Incoming>) -> Response<Body> {
        answer(request, |path| match path {
            "/metrics" => Some(self.metrics(negotiate::format(request.headers()))),
            "/" => Some(html(landing::telemetry_page(&self.about))),
            path => health(path, &self.catalogue),
        })
    }
}

impl TelemetryPages {
    fn metrics(&self, format: Format) -> Response<Body> {
        response(StatusCode::OK, format.content_type(), Body::whole(self.telemetry.encode(format)))
    }
}

/// What `page` has at the path, for GET and HEAD.
fn answer(request: &Request<Incoming>, page: impl FnOnce(&str) -> Option<Response<Body>>) -> Response<Body> {
    let (path, method) = (request.uri().path(), request.method());
    if method != Method::GET && method != Method::HEAD && PATHS.contains(&path) {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let response = page(path).unwrap_or_else(|| plain(StatusCode::NOT_FOUND, "not found\n"));
    if method == Method::HEAD { response.map(Body::without_content) } else { response }
}

fn health(path: &str, catalogue: &Catalogue) -> Option<Response<Body>> {
    match path {
        "/healthz" | "/livez" => Some(plain(StatusCode::OK, "ok\n")),
        "/readyz" => Some(readiness(catalogue)),
        _ => None,
    }
}

fn readiness(catalogue: &Catalogue) -> Response<Body> {
    let waiting: Vec<&str> =
        catalogue.resources().iter().filter(|resource| resource.unsettled() > 0).map(ServedResource::plural).collect();
    if waiting.is_empty() {
        return plain(StatusCode::OK, "ok\n");
    }
    let more = match waiting.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = &waiting[..waiting.len().min(NAMED)];
    plain(StatusCode::SERVICE_UNAVAILABLE, format!("waiting for the first list of {}{more}\n", named.join(", ")))
}

fn plain(status: StatusCode, text: impl Into<String>) -> Response<Body> {
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

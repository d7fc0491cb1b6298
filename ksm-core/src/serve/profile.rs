//! Profiling: on the port of self-metrics, behind its guard, where the reference has it (`/debug/pprof/`).
//!
//! Invariant: one profile at a time, of bounded length; it ends with the request that asked for it.

use std::time::Duration;

use futures::future::BoxFuture;
use http::header::{ALLOW, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::sync::Semaphore;

use super::{Body, Handler, pages};

/// Profiles CPU time for so long, and gives it in the format of pprof, uncompressed
/// (<https://github.com/google/pprof/blob/main/proto/profile.proto>); or why it could not.
pub type Profiler = fn(Duration) -> BoxFuture<'static, Result<Vec<u8>, String>>;

const INDEX: &str = "/debug/pprof/";

const PROFILE: &str = "/debug/pprof/profile";

/// Seconds of a profile that does not say how many.
const DEFAULT_SECONDS: u64 = 30;

/// Longest profile: less than a response may take.
const MAX_SECONDS: u64 = 50;

/// Other pages, with profiles beside them.
pub struct Profiling<H> {
    pages: H,
    profiler: Option<Profiler>,
    free: Semaphore,
}

impl<H> Profiling<H> {
    /// `pages`, with profiles if there is a profiler.
    pub fn new(pages: H, profiler: Option<Profiler>) -> Self {
        Self { pages, profiler, free: Semaphore::new(1) }
    }

    async fn profile(&self, profiler: Profiler, query: Option<&str>) -> Response<Body> {
        let Some(seconds) = seconds(query) else {
            let text = format!("seconds: expected a whole number from 1 to {MAX_SECONDS}\n");
            return pages::plain(StatusCode::BAD_REQUEST, text);
        };
        let Ok(_one) = self.free.try_acquire() else {
            return pages::plain(StatusCode::TOO_MANY_REQUESTS, "another profile is being taken, ask again later\n");
        };
        match profiler(Duration::from_secs(seconds)).await {
            Ok(profile) => attachment(profile),
            Err(error) => pages::plain(StatusCode::INTERNAL_SERVER_ERROR, format!("no profile: {error}\n")),
        }
    }
}

impl<H: Handler> Handler for Profiling<H> {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let (path, get) = (request.uri().path(), request.method() == Method::GET);
        match (self.profiler, path) {
            (Some(_), INDEX | PROFILE) if !get => {
                let mut refused = pages::plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
                refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
                refused
            }
            (Some(_), INDEX) => {
                let text = format!("profile?seconds={DEFAULT_SECONDS}: CPU time, for pprof\n");
                pages::plain(StatusCode::OK, text)
            }
            (Some(profiler), PROFILE) => self.profile(profiler, request.uri().query()).await,
            _ => self.pages.respond(request).await,
        }
    }
}

/// How long to profile; `None` if that makes no sense.
fn seconds(query: Option<&str>) -> Option<u64> {
    let given = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("seconds="));
    let seconds = given.map_or(Ok(DEFAULT_SECONDS), str::parse).ok()?;
    (1..=MAX_SECONDS).contains(&seconds).then_some(seconds)
}

fn attachment(profile: Vec<u8>) -> Response<Body> {
    let length = HeaderValue::from(profile.len());
    let mut response = Response::new(Body::whole(profile));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"profile\""));
    headers.insert(CONTENT_LENGTH, length);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_takes_a_number_of_seconds_within_bounds() {
        assert_eq!(seconds(None), Some(30));
        assert_eq!(seconds(Some("debug=0&seconds=5")), Some(5));
        for wrong in ["seconds=0", "seconds=51", "seconds=-1", "seconds=1.5", "seconds="] {
            assert_eq!(seconds(Some(wrong)), None, "{wrong}");
        }
    }
}

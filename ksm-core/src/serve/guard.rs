//! Who may read a page: a client certificate, a password, or a token that the API server knows.
//!
//! Health pages are open under every setting, and everything else is guarded, pages that are not there included. What
//! cannot be checked is not served.

use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use rustls::ServerConfig;

use super::passwords::Passwords;
use super::reviews::{Reviews, Verdict};
use super::web::Web;
use super::{Body, pages};

/// Pages that are open to everybody.
const OPEN: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// What stands before a page. One guard serves all ports of a process.
pub struct Guard {
    web: ArcSwap<Web>,
    passwords: Passwords,
    reviews: Option<Reviews>,
}

impl Guard {
    /// A guard that asks what `web` says, and the API server if there are `reviews`.
    pub fn new(web: Web, reviews: Option<Reviews>) -> Self {
        Self { web: ArcSwap::from_pointee(web), passwords: Passwords::default(), reviews }
    }

    /// A guard that lets everybody in.
    pub fn open() -> Self {
        Self::new(Web::default(), None)
    }

    /// Goes on with another web configuration; connections that are open keep their certificate.
    pub fn set_web(&self, web: Web) {
        self.web.store(Arc::new(web));
    }

    /// Goes on with another connection to the API server.
    pub fn set_client(&self, client: kube::Client) {
        if let Some(reviews) = &self.reviews {
            reviews.set_client(client);
        }
    }

    /// What to serve TLS with, if at all.
    pub fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.web.load().tls.clone()
    }

    /// Whether pages other than health pages are guarded.
    pub(super) fn is_closed(&self) -> bool {
        let web = self.web.load();
        web.client_certificates || web.asks_for_passwords() || self.reviews.is_some()
    }

    /// The headers that every response has.
    pub(super) fn decorate(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.web.load().headers {
            headers.insert(name, value.clone());
        }
    }

    /// What is said instead of the page, if the client may not see it.
    pub(super) async fn refusal(&self, path: &str, headers: &HeaderMap, certified: bool) -> Option<Response<Body>> {
        if OPEN.contains(&path) {
            return None;
        }
        let web = self.web.load_full();
        if web.client_certificates && !certified {
            return Some(pages::plain(StatusCode::UNAUTHORIZED, "a client certificate is needed\n"));
        }
        if web.asks_for_passwords() {
            let known = match basic(headers) {
                Some((user, password)) => self.passwords.verify(&web, user, password).await,
                None => false,
            };
            if !known {
                return Some(unauthorized("Basic realm=\"metrics\", charset=\"UTF-8\""));
            }
        }
        let reviews = self.reviews.as_ref()?;
        let Some(token) = bearer(headers) else { return Some(unauthorized("Bearer")) };
        match reviews.review(&token, path).await {
            Some(Verdict::Allowed) => None,
            Some(Verdict::Unknown) => Some(unauthorized("Bearer")),
            Some(Verdict::Forbidden) => Some(pages::plain(StatusCode::FORBIDDEN, "forbidden\n")),
            None => Some(pages::plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "the API server cannot be asked whether you may read this\n",
            )),
        }
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("web", &self.web.load()).finish_non_exhaustive()
    }
}

fn unauthorized(challenge: &'static str) -> Response<Body> {
    let mut response = pages::plain(StatusCode::UNAUTHORIZED, "unauthorized\n");
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

/// What follows the scheme in the one `Authorization` header.
fn credentials<'a>(headers: &'a HeaderMap, scheme: &str) -> Option<&'a str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let (found, rest) = value.split_once(' ')?;
    found.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    credentials(headers, "bearer").filter(|token| !token.is_empty()).map(str::to_owned)
}

fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let decoded = STANDARD.decode(credentials(headers, "basic")?).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    text.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
}

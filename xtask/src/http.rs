//! A small blocking HTTP client for loopback servers.
//!
//! Invariant: every call ends within its timeout, and an answer with an error status is an answer, not an error.

use std::io::{self, BufRead, BufReader};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use ureq::Agent;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// Longest time for one call, body included.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A client of one server.
#[derive(Clone)]
pub struct Client {
    agent: Agent,
    base: String,
    token: Option<String>,
}

/// An answer, read to its end.
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// `Content-Type`, empty if absent.
    pub content_type: String,
    /// The body.
    pub body: String,
}

/// An answer of bytes, as they came.
pub struct Raw {
    /// `Content-Encoding`, empty if absent.
    pub encoding: String,
    /// The body, encoded so.
    pub body: Vec<u8>,
}

impl Client {
    /// A client for `base`, such as `http://127.0.0.1:8080`, without authentication.
    pub fn plain(base: impl Into<String>) -> Self {
        Self { agent: agent(None), base: base.into(), token: None }
    }

    /// The same, sending `token` as a bearer token.
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// The same, sending no token.
    pub fn without_token(&self) -> Self {
        Self { token: None, ..self.clone() }
    }

    /// A client that trusts only the certificates in `roots` (PEM) and sends `token` as a bearer token.
    pub fn secure(base: impl Into<String>, roots: &[u8], token: &str) -> Result<Self> {
        let mut certificates = Vec::new();
        for item in parse_pem(roots) {
            if let PemItem::Certificate(certificate) = item.context("the server's certificate file is not PEM")? {
                certificates.push(certificate);
            }
        }
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certificates)).build();
        Ok(Self { agent: agent(Some(tls)), base: base.into(), token: Some(token.to_owned()) })
    }

    /// The server's address, without a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// `GET` of a path that starts with a slash.
    pub fn get(&self, path: &str, accept: Option<&str>) -> Result<Answer> {
        let url = format!("{}{path}", self.base);
        let mut request = self.agent.get(&url);
        if let Some(accept) = accept {
            request = request.header("Accept", accept);
        }
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        read(request.call().with_context(|| format!("GET {url}"))?).with_context(|| format!("GET {url}"))
    }

    /// `GET` with these headers; anything but 200 is an error.
    pub fn get_bytes(&self, path: &str, headers: &[(&str, &str)]) -> Result<Raw> {
        let url = format!("{}{path}", self.base);
        let mut request = self.agent.get(&url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = request.call().with_context(|| format!("GET {url}"))?;
        if answer.status() != 200 {
            bail!("GET {url}: status {}", answer.status());
        }
        let encoding = answer.headers().get("content-encoding").and_then(|value| value.to_str().ok());
        let encoding = encoding.unwrap_or_default().to_owned();
        let body = answer.body_mut().with_config().limit(u64::MAX).read_to_vec();
        Ok(Raw { encoding, body: body.with_context(|| format!("GET {url}: the body broke off"))? })
    }

    /// `GET` of an answer that goes on, line by line; anything but 200 is an error.
    pub fn lines(&self, path: &str) -> Result<impl Iterator<Item = io::Result<String>> + use<>> {
        let url = format!("{}{path}", self.base);
        let mut request = self.agent.get(&url);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let answer = request.call().with_context(|| format!("GET {url}"))?;
        if answer.status() != 200 {
            bail!("GET {url}: status {}", answer.status());
        }
        Ok(BufReader::new(answer.into_body().into_reader()).lines())
    }

    /// `GET` of JSON; anything but 200 is an error.
    pub fn get_json(&self, path: &str) -> Result<Value> {
        parse("GET", path, self.get(path, Some("application/json"))?)
    }

    /// Sends `body` as JSON by `method` and returns the JSON answer; a status of 300 or more is an error.
    pub fn send_json(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        // A JSON merge patch is the one kind that needs no server-side schema.
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("Content-Type", content_type)
            .header("Accept", "application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let request = request.body(body.to_string()).with_context(|| format!("{method} {path}"))?;
        let answer = self.agent.run(request).with_context(|| format!("{method} {}{path}", self.base))?;
        parse(method, path, read(answer).with_context(|| format!("{method} {path}"))?)
    }
}

fn agent(tls: Option<TlsConfig>) -> Agent {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(TIMEOUT))
        // Loopback only: a proxy of the environment must not get in between.
        .proxy(None)
        .allow_non_standard_methods(true);
    if let Some(tls) = tls {
        config = config.tls_config(tls);
    }
    config.build().new_agent()
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> Result<Answer> {
    let content_type = answer.headers().get("content-type").and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let body = answer.body_mut().with_config().limit(u64::MAX).read_to_vec().context("the body broke off")?;
    let body = String::from_utf8(body).context("the body is not UTF-8")?;
    Ok(Answer { status: answer.status().as_u16(), content_type, body })
}

fn parse(method: &str, path: &str, answer: Answer) -> Result<Value> {
    if answer.status >= 300 {
        // A Kubernetes `Status` says it in its message; other bodies are cut.
        let message = serde_json::from_str::<Value>(&answer.body).ok();
        let message = message.as_ref().and_then(|status| status["message"].as_str());
        let shown: String = message.unwrap_or(&answer.body).chars().take(500).collect();
        bail!("{method} {path}: status {}: {shown}", answer.status);
    }
    serde_json::from_str(&answer.body).with_context(|| format!("{method} {path}: the answer is not JSON"))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// Answers one request with `status` and `body`, and returns the request line.
    fn serve_once(status: &'static str, body: &'static str) -> (Client, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            while !lines.next().unwrap().unwrap().is_empty() {}
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body.as_bytes()).unwrap();
            first
        });
        (Client::plain(address), server)
    }

    #[test]
    fn an_error_status_is_an_answer() {
        let (client, server) = serve_once("503 Service Unavailable", "not yet");
        let answer = client.get("/readyz", None).unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (503, "not yet"));
        assert_eq!(server.join().unwrap(), "GET /readyz HTTP/1.1");
    }

    #[test]
    fn a_kubernetes_status_is_quoted_by_its_message() {
        let (client, server) = serve_once("422 Unprocessable Entity", r#"{"kind":"Status","message":"spec is bad"}"#);
        let error = client.get_json("/api/v1/pods").unwrap_err().to_string();
        assert_eq!(error, "GET /api/v1/pods: status 422: spec is bad");
        server.join().unwrap();
    }
}

//! The web configuration file of the Prometheus exporter toolkit: TLS, passwords and headers.
//!
//! Source: <https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md>. What is in it and
//! cannot be honoured is refused, so that nothing is served less guarded than its file says. Errors never quote it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use md5::{Digest, Md5};
use rustls::ServerConfig;
use serde::Deserialize;

use super::tls;
use crate::options::yaml_error;

/// Headers that the file may set, and the values of those that are enumerations.
const HEADERS: [(&str, &[&str]); 5] = [
    ("Strict-Transport-Security", &[]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-XSS-Protection", &[]),
    ("Content-Security-Policy", &[]),
];

/// Why a web configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// It, or a file that it names, cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It is no YAML of the right shape.
    #[error("{0}")]
    Syntax(String),
    /// A certificate or key cannot be used, or something in it cannot be honoured.
    #[error("{0}")]
    Unusable(String),
    /// Certificates, keys or versions that do not go together.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Content {
    tls_server_config: TlsContent,
    http_server_config: HttpContent,
    basic_auth_users: BTreeMap<String, String>,
    rate_limit: Option<serde::de::IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TlsContent {
    cert: String,
    key: String,
    client_ca: String,
    cert_file: PathBuf,
    key_file: PathBuf,
    client_ca_file: PathBuf,
    pub(super) client_auth_type: String,
    pub(super) cipher_suites: Vec<String>,
    pub(super) curve_preferences: Vec<String>,
    pub(super) min_version: String,
    pub(super) max_version: String,
    #[serde(rename = "prefer_server_cipher_suites")]
    _prefer_server_cipher_suites: bool,
    pub(super) client_allowed_sans: Vec<String>,
}

impl TlsContent {
    fn is_given(&self) -> bool {
        let given = [&self.cert, &self.key, &self.client_ca, &self.client_auth_type];
        let files = [&self.cert_file, &self.key_file, &self.client_ca_file];
        given.iter().any(|text| !text.is_empty()) || files.iter().any(|path| !path.as_os_str().is_empty())
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HttpContent {
    #[serde(rename = "http2")]
    _http2: Option<bool>,
    headers: BTreeMap<String, String>,
}

/// A web configuration file and the files that it names, as they are at one moment.
pub struct WebFile {
    text: String,
    content: Content,
    pems: Pems,
}

/// Certificates and keys in PEM.
#[derive(Default)]
pub(super) struct Pems {
    pub(super) certificate: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) client_authority: Vec<u8>,
}

impl WebFile {
    /// Reads them. Relative paths in the file start where it is.
    ///
    /// # Errors
    /// A file cannot be read, or the first one makes no sense.
    pub fn read(path: &Path) -> Result<Self, WebError> {
        let text = String::from_utf8(read(path)?).map_err(|_| WebError::Syntax("it is not UTF-8".to_owned()))?;
        let content: Option<Content> =
            serde_saphyr::from_str(&text).map_err(|error| WebError::Syntax(yaml_error(&error)))?;
        let content = content.unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new(""));
        let pem = |inline: &str, file: &Path| match (inline.is_empty(), file.as_os_str().is_empty()) {
            (false, _) => Ok(inline.as_bytes().to_vec()),
            (true, true) => Ok(Vec::new()),
            (true, false) => read(&folder.join(file)),
        };
        let tls = &content.tls_server_config;
        let pems = Pems {
            certificate: pem(&tls.cert, &tls.cert_file)?,
            key: pem(&tls.key, &tls.key_file)?,
            client_authority: pem(&tls.client_ca, &tls.client_ca_file)?,
        };
        Ok(Self { text, content, pems })
    }

    /// The text of the file that names the others.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Changes when any of the files does.
    pub fn fingerprint(&self) -> [u8; 16] {
        let Pems { certificate, key, client_authority } = &self.pems;
        let mut sum = Md5::new();
        for part in [self.text.as_bytes(), certificate, key, client_authority] {
            sum.update(part.len().to_le_bytes());
            sum.update(part);
        }
        sum.finalize().into()
    }

    /// What it says, checked.
    ///
    /// # Errors
    /// Something in it makes no sense or cannot be honoured.
    pub fn load(self) -> Result<Web, WebError> {
        let Content { tls_server_config, http_server_config, basic_auth_users, rate_limit } = self.content;
        if rate_limit.is_some() {
            return Err(WebError::Unusable("rate_limit is not supported".to_owned()));
        }
        for (user, hash) in &basic_auth_users {
            let valid = hash.parse::<bcrypt::HashParts>().is_ok();
            if !valid {
                return Err(WebError::Unusable(format!("basic_auth_users: {user}: the password is no bcrypt hash")));
            }
        }
        let headers = http_server_config.headers.iter().map(|(name, value)| header(name, value));
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        let tls =
            tls_server_config.is_given().then(|| tls::server_config(&tls_server_config, &self.pems)).transpose()?;
        let (tls, client_certificates) = match tls {
            Some(tls::Tls { config, client_certificates }) => (Some(config), client_certificates),
            None => (None, false),
        };
        Ok(Web { tls, client_certificates, users: basic_auth_users, headers })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, WebError> {
    std::fs::read(path).map_err(|source| WebError::Read { path: path.to_owned(), source })
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), WebError> {
    let unusable = |why: String| WebError::Unusable(format!("http_server_config: headers: {name}: {why}"));
    let (_, values) = HEADERS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .ok_or_else(|| unusable("cannot be set".to_owned()))?;
    if !values.is_empty() && !values.contains(&value) {
        return Err(unusable(format!("expected {}", values.join(" or "))));
    }
    let value = HeaderValue::from_str(value).map_err(|_| unusable("no value for a header".to_owned()))?;
    Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable("no name for a header".to_owned()))?, value))
}

/// How a process serves, as its web configuration file says.
#[derive(Default)]
pub struct Web {
    /// Serve TLS, as this says.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// Pages other than health pages need a certificate of the client.
    pub(super) client_certificates: bool,
    /// Passwords by user, as bcrypt hashes; empty for none needed.
    pub(super) users: BTreeMap<String, String>,
    /// Set on every response.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Web {
    /// Whether it has TLS.
    pub fn tls_is_on(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether users and passwords are asked for.
    pub fn asks_for_passwords(&self) -> bool {
        !self.users.is_empty()
    }
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let users: BTreeSet<&String> = self.users.keys().collect();
        f.debug_struct("Web").field("tls", &self.tls.is_some()).field("users", &users).finish_non_exhaustive()
    }
}

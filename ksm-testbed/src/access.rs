//! Bearer tokens and what they may not do.
//!
//! Without any token configured everybody may do everything.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};

use crate::{
    request::{Target, Verb},
    status::Status,
};

/// A token the server accepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Token {
    /// What follows `Bearer ` in the `Authorization` header.
    pub token: String,
    /// Who it stands for, in messages.
    pub user: String,
    /// What it may not do; everything else it may.
    #[serde(default)]
    pub denials: Vec<Denial>,
}

/// Requests that are refused with 403. An absent part covers all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Denial {
    /// `get`, `list`, `watch` (streamed lists too), `create`, `update`, `patch`, `delete` or `deletecollection`.
    #[serde(default)]
    pub verb: Option<String>,
    /// Plural of the resource; for reviews of paths such as `/metrics`, the path.
    #[serde(default)]
    pub resource: Option<String>,
    /// Namespace of the request's path; empty for requests over all namespaces.
    #[serde(default)]
    pub namespace: Option<String>,
}

impl Token {
    /// A token that may do everything.
    pub fn new(token: &str) -> Self {
        Self { token: token.to_owned(), user: "system:serviceaccount:default:testbed".to_owned(), denials: Vec::new() }
    }

    /// The same token, but denied a verb on a resource in all namespaces.
    pub fn deny(mut self, verb: &str, resource: &str) -> Self {
        let (verb, resource) = (Some(verb.to_owned()), Some(resource.to_owned()));
        self.denials.push(Denial { verb, resource, namespace: None });
        self
    }

    /// Whether one of the denials covers this.
    pub(crate) fn denies(&self, verb: &str, resource: &str, namespace: &str) -> bool {
        let covers = |rule: &Option<String>, value: &str| rule.as_deref().is_none_or(|rule| rule == value);
        self.denials.iter().any(|denial| {
            covers(&denial.verb, verb) && covers(&denial.resource, resource) && covers(&denial.namespace, namespace)
        })
    }

    /// The same token, but denied what the denial says.
    pub fn with_denial(mut self, denial: Denial) -> Self {
        self.denials.push(denial);
        self
    }
}

/// The tokens of a running server, some of which may be revoked.
#[derive(Debug, Clone)]
pub(crate) struct Tokens(Arc<RwLock<Vec<Token>>>);

impl Tokens {
    pub(crate) fn new(tokens: Vec<Token>) -> Self {
        Self(Arc::new(RwLock::new(tokens)))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Vec<Token>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a token no more. It keeps its place, since a server without tokens accepts everybody.
    pub(crate) fn revoke(&self, token: &str) {
        let mut tokens = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for revoked in tokens.iter_mut().filter(|other| other.token == token) {
            // No header holds this.
            revoked.token = "\0".to_owned();
        }
    }
}

/// Whether a request may be served.
pub(crate) fn check(tokens: &[Token], headers: &HeaderMap, target: Option<&Target>, verb: Verb) -> Result<(), Status> {
    if tokens.is_empty() {
        return Ok(());
    }
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = header.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
    let token = tokens.iter().find(|token| Some(token.token.as_str()) == given).ok_or_else(Status::unauthorized)?;
    let Some(target) = target else { return Ok(()) };
    let namespace = target.namespace.as_deref().unwrap_or_default();
    if !token.denies(verb.authorized_as(), target.resource.plural, namespace) {
        return Ok(());
    }
    let scope = match namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let reason = format!(
        "User {:?} cannot {} resource {:?} in API group {:?} {scope}",
        token.user,
        verb.authorized_as(),
        target.resource.plural,
        target.resource.group
    );
    Err(Status::forbidden(target.resource, target.name.as_deref().unwrap_or_default(), &reason))
}

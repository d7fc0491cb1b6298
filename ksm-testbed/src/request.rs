//! What a request is about: path, verb and query parameters.

use http::{Method, Uri};
use serde::{Deserialize, Serialize};

use crate::{
    resources::{self, Resource},
    status::Status,
};

/// What a request does, as far as statistics and faults tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// One object.
    Get,
    /// A list, or a page of one.
    List,
    /// A watch without initial events asked for.
    Watch,
    /// A watch with `sendInitialEvents=true`.
    StreamedList,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a list.
    DeleteCollection,
    /// Anything that is not about objects, such as discovery.
    Other,
}

impl Verb {
    /// The verb that access rules use.
    pub(crate) fn authorized_as(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch | Self::StreamedList => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "",
        }
    }
}

/// The resource or object a path names.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) resource: &'static Resource,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Target {
    /// Reads `/api/v1/…` and `/apis/<group>/<version>/…`; `None` for other paths.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let decoded: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(percent_decode).collect();
        let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
        let (group, version, rest) = match &parts[..] {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, plural, rest) = match rest {
            ["namespaces", namespace, plural, rest @ ..] if resources::by_path(group, version, plural).is_some() => {
                (Some((*namespace).to_owned()), *plural, rest)
            }
            [plural, rest @ ..] => (None, *plural, rest),
            [] => return None,
        };
        let resource = resources::by_path(group, version, plural)?;
        if namespace.is_some() && !resource.namespaced || rest.len() > 2 {
            return None;
        }
        let owned = |index: usize| rest.get(index).map(|part| (*part).to_owned());
        Some(Self { resource, namespace, name: owned(0), subresource: owned(1) })
    }

    pub(crate) fn verb(&self, method: &Method, query: &Query) -> Verb {
        let one = self.name.is_some();
        match *method {
            Method::GET if query.flag("watch") && query.flag("sendInitialEvents") => Verb::StreamedList,
            Method::GET if query.flag("watch") => Verb::Watch,
            Method::GET if one => Verb::Get,
            Method::GET => Verb::List,
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE if one => Verb::Delete,
            Method::DELETE => Verb::DeleteCollection,
            _ => Verb::Other,
        }
    }
}

/// Decoded query parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(pub(crate) Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(uri: &Uri) -> Self {
        let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    let decode = |text: &str| percent_decode(&text.replace('+', " "));
                    (decode(key), decode(value))
                })
                .collect(),
        )
    }

    /// The parameter's value; empty when absent, which Kubernetes treats alike.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), "true" | "1")
    }

    /// A number, `None` when absent.
    pub(crate) fn number(&self, key: &str) -> Result<Option<u64>, Status> {
        let text = self.get(key);
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().map(Some);
        number.map_err(|_| Status::bad_request(format!("invalid value {text:?} for {key}: not a whole number")))
    }
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = bytes.get(index + 1..index + 3).and_then(|hex| str::from_utf8(hex).ok());
        match (bytes[index], hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                index += 3;
            }
            (byte, _) => {
                out.push(byte);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<[&str; 4]>) {
        let target = Target::parse(path);
        let seen = target.as_ref().map(|target| {
            let text = |part: &'_ Option<String>| part.clone().unwrap_or_default();
            let plural = target.resource.plural.to_owned();
            [plural, text(&target.namespace), text(&target.name), text(&target.subresource)]
        });
        assert_eq!(seen, expected.map(|parts| parts.map(str::to_owned)), "{path}");
    }

    #[test]
    fn paths_name_resources_and_objects() {
        check("/api/v1/pods", Some(["pods", "", "", ""]));
        check("/api/v1/namespaces/a/pods/b/status", Some(["pods", "a", "b", "status"]));
        check("/api/v1/namespaces", Some(["namespaces", "", "", ""]));
        check("/api/v1/namespaces/a", Some(["namespaces", "", "a", ""]));
        check("/api/v1/namespaces/a/finalize", Some(["namespaces", "", "a", "finalize"]));
        check("/apis/apps/v1/namespaces/a/deployments", Some(["deployments", "a", "", ""]));
        check("/apis/apps/v1/pods", None);
        check("/api/v1/namespaces/a/nodes", None);
        check("/api/v1", None);
        check("/healthz", None);
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse(&"/x?labelSelector=a%3Db+c&watch=1&limit=5&odd%".parse().unwrap());
        assert_eq!(query.get("labelSelector"), "a=b c");
        assert!(query.flag("watch") && !query.flag("limit"));
        assert_eq!(query.number("limit").unwrap(), Some(5));
        assert_eq!(query.number("absent").unwrap(), None);
        assert!(query.number("labelSelector").is_err());
    }
}

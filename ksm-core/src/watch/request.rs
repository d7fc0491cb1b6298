//! The requests of a list/watch, pure: tests compare whole URLs and headers, no network.
//!
//! Source: <https://kubernetes.io/docs/reference/using-api/api-concepts/>.

use http::header::ACCEPT;
use http::{HeaderValue, Request};
use kube::client::Body;

use crate::resource::{Descriptor, Fetch};

/// Objects a page, as kubectl and client-go ask for.
pub(super) const PAGE_SIZE: usize = 500;

/// Annotation of the bookmark that ends a streamed list (KEP-3157).
pub(super) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What every request of one list/watch has in common.
#[derive(Clone, Debug)]
pub(super) struct Target {
    path: String,
    fetch: Fetch,
    field_selector: Option<String>,
    shard_selector: Option<String>,
}

/// Which part of a list to read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Page<'a> {
    /// From the start, as of now.
    First,
    /// All of it from the API server's watch cache, no older than this version, `0` for any; without a limit, with which
    /// it would not come from there.
    Cached(&'a str),
    /// From where the page before it ended.
    Continue(&'a str),
}

impl Target {
    /// The objects of a resource, in one namespace or everywhere.
    pub(super) fn new(resource: Descriptor<'_>, namespace: Option<&str>, field_selector: Option<&str>) -> Self {
        let Descriptor { plural, group, version, fetch, .. } = resource;
        let prefix = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let path = match namespace {
            Some(namespace) => format!("{prefix}/namespaces/{namespace}/{plural}"),
            None => format!("{prefix}/{plural}"),
        };
        Self { path, fetch, field_selector: field_selector.map(str::to_owned), shard_selector: None }
    }

    /// The same, filtered by the API server to one shard.
    pub(super) fn with_shard_selector(mut self, selector: Option<String>) -> Self {
        self.shard_selector = selector;
        self
    }

    /// Whether the API server is asked to filter by shard.
    pub(super) fn is_sharded(&self) -> bool {
        self.shard_selector.is_some()
    }

    /// Reads one page of a list, of at most `room` objects.
    pub(super) fn list(&self, page: Page<'_>, room: Option<usize>) -> Request<Body> {
        let mut query = self.query();
        let limit = room.map_or(PAGE_SIZE, |room| room.min(PAGE_SIZE)).to_string();
        match page {
            Page::First => query.push("limit", &limit),
            Page::Cached(version) => query.push("resourceVersion", version),
            Page::Continue(token) => {
                query.push("limit", &limit);
                query.push("continue", token);
            }
        }
        self.request(query, &accept(self.fetch, "PartialObjectMetadataList"))
    }

    /// Reads one object of the list, whole, to see whether the API server says that it filters by shard (metadata-only
    /// answers do not say).
    pub(super) fn probe(&self) -> Request<Body> {
        let mut query = self.query();
        query.push("limit", "1");
        self.request(query, &accept(Fetch::Whole, ""))
    }

    /// Streams the list, and then its changes: a watch that starts with an event for each object (KEP-3157). `cached` is
    /// the version that it must not be older than, `0` for any; `None` for as of now.
    pub(super) fn stream(&self, cached: Option<&str>, timeout_seconds: u32) -> Request<Body> {
        let mut query = self.query();
        query.push("watch", "true");
        query.push("sendInitialEvents", "true");
        query.push("resourceVersionMatch", "NotOlderThan");
        if let Some(version) = cached {
            query.push("resourceVersion", version);
        }
        self.watch_query(query, timeout_seconds)
    }

    /// Follows changes since `resource_version`.
    pub(super) fn watch(&self, resource_version: &str, timeout_seconds: u32) -> Request<Body> {
        let mut query = self.query();
        query.push("watch", "true");
        query.push("resourceVersion", resource_version);
        self.watch_query(query, timeout_seconds)
    }

    fn watch_query(&self, mut query: Query, timeout_seconds: u32) -> Request<Body> {
        query.push("allowWatchBookmarks", "true");
        query.push("timeoutSeconds", &timeout_seconds.to_string());
        self.request(query, &watch_accept(self.fetch))
    }

    fn query(&self) -> Query {
        let mut query = Query::new(&self.path);
        if let Some(selector) = &self.field_selector {
            query.push("fieldSelector", selector);
        }
        if let Some(selector) = &self.shard_selector {
            query.push("shardSelector", selector);
        }
        query
    }

    fn request(&self, query: Query, accept: &str) -> Request<Body> {
        let accept = HeaderValue::from_str(accept).expect("accepted types are visible ASCII");
        Request::get(query.url)
            .header(ACCEPT, accept)
            .body(Body::empty())
            .expect("a path of API names and a percent-encoded query make a valid URL")
    }
}

/// Protobuf first, JSON from API servers that have no protobuf of the resource.
fn accept(fetch: Fetch, partial: &str) -> String {
    match fetch {
        Fetch::Whole => "application/vnd.kubernetes.protobuf,application/json".to_owned(),
        Fetch::MetadataOnly => {
            let partial = format!("as={partial};g=meta.k8s.io;v=v1");
            format!("application/vnd.kubernetes.protobuf;{partial},application/json;{partial},application/json")
        }
    }
}

/// A watch of metadata is asked for as single objects: as a list it ends empty.
fn watch_accept(fetch: Fetch) -> String {
    match fetch {
        Fetch::Whole => "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch".to_owned(),
        Fetch::MetadataOnly => accept(fetch, "PartialObjectMetadata"),
    }
}

/// A URL under construction.
struct Query {
    url: String,
    separator: char,
}

impl Query {
    fn new(path: &str) -> Self {
        Self { url: path.to_owned(), separator: '?' }
    }

    fn push(&mut self, name: &str, value: &str) {
        self.url.push(self.separator);
        self.separator = '&';
        self.url.push_str(name);
        self.url.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                self.url.push(char::from(byte));
            } else {
                self.url.push_str(&format!("%{byte:02X}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Scope;
    use crate::shard::{Scheme, Shard};

    fn resource(group: &'static str, plural: &'static str, fetch: Fetch) -> Descriptor<'static> {
        Descriptor { plural, group, version: "v1", kind: "", scope: Scope::Namespaced, fetch, enabled_by_default: true }
    }

    #[track_caller]
    fn check(request: Request<Body>, url: &str, accept: &str) {
        assert_eq!(request.uri().to_string(), url);
        assert_eq!(request.headers()[ACCEPT], accept);
    }

    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";
    const WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch";

    #[test]
    fn lists_go_page_by_page() {
        let target = Target::new(resource("", "pods", Fetch::Whole), None, None);
        check(target.list(Page::First, None), "/api/v1/pods?limit=500", PROTOBUF);
        check(target.list(Page::Continue("a+b/c="), None), "/api/v1/pods?limit=500&continue=a%2Bb%2Fc%3D", PROTOBUF);
        check(target.list(Page::Cached("0"), None), "/api/v1/pods?resourceVersion=0", PROTOBUF);
        check(target.list(Page::Cached("17"), None), "/api/v1/pods?resourceVersion=17", PROTOBUF);
        check(target.list(Page::First, Some(100)), "/api/v1/pods?limit=100", PROTOBUF);
        check(target.list(Page::Continue("t"), Some(1000)), "/api/v1/pods?limit=500&continue=t", PROTOBUF);
        let target = Target::new(resource("apps", "deployments", Fetch::Whole), Some("team-a"), None);
        check(target.list(Page::First, None), "/apis/apps/v1/namespaces/team-a/deployments?limit=500", PROTOBUF);
    }

    #[test]
    fn selectors_are_percent_encoded_and_sent_with_every_request() {
        let shard = Shard::new(0, 2, Scheme::Range).unwrap();
        let target = Target::new(resource("", "pods", Fetch::Whole), None, Some("spec.nodeName="))
            .with_shard_selector(shard.selector());
        let query = "fieldSelector=spec.nodeName%3D&shardSelector=shardRange%28object.metadata.uid%2C%20%27\
                     0x0000000000000000%27%2C%20%270x8000000000000000%27%29";
        check(target.list(Page::First, None), &format!("/api/v1/pods?{query}&limit=500"), PROTOBUF);
        check(target.probe(), &format!("/api/v1/pods?{query}&limit=1"), PROTOBUF);
        let watch = "watch=true&resourceVersion=17&allowWatchBookmarks=true&timeoutSeconds=300";
        check(target.watch("17", 300), &format!("/api/v1/pods?{query}&{watch}"), WATCH);
    }

    #[test]
    fn streamed_lists_ask_for_initial_events_not_older_than_now() {
        let target = Target::new(resource("", "pods", Fetch::Whole), None, None);
        let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let rest = "allowWatchBookmarks=true&timeoutSeconds=300";
        check(target.stream(None, 300), &format!("/api/v1/pods?{query}&{rest}"), WATCH);
        check(target.stream(Some("0"), 300), &format!("/api/v1/pods?{query}&resourceVersion=0&{rest}"), WATCH);
    }

    #[test]
    fn metadata_is_asked_for_as_a_list_when_listing_and_as_objects_when_watching() {
        let target = Target::new(resource("", "configmaps", Fetch::MetadataOnly), None, None);
        let accept = |kind: &str| {
            format!(
                "application/vnd.kubernetes.protobuf;as={kind};g=meta.k8s.io;v=v1,\
                 application/json;as={kind};g=meta.k8s.io;v=v1,application/json"
            )
        };
        check(target.list(Page::First, None), "/api/v1/configmaps?limit=500", &accept("PartialObjectMetadataList"));
        check(
            target.watch("1", 9),
            "/api/v1/configmaps?watch=true&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=9",
            &accept("PartialObjectMetadata"),
        );
        check(target.probe(), "/api/v1/configmaps?limit=1", PROTOBUF);
    }
}

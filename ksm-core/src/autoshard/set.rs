//! The StatefulSet that a pod belongs to: found through the pod, then followed by its name.
//!
//! Labels are never looked at, so that changing them changes nothing
//! (<https://github.com/kubernetes/kube-state-metrics/issues/2372>).

use std::borrow::Cow;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use tokio::time::timeout;

/// How long the API server is asked to keep a watch open, in seconds; kube allows less than five minutes.
const WATCH_SECONDS: u32 = 290;

/// A watch of one object may be silent for as long as it is open; one that stays open for longer is broken.
const WATCH_IDLE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 30);

/// One small object is read at once or not at all.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// What is read of a StatefulSet. The whole type, with all that a pod template may hold, would add a tenth to the size
/// of a binary.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct StatefulSet {
    metadata: ObjectMeta,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Spec {
    replicas: Option<i32>,
    ordinals: Option<Ordinals>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Ordinals {
    start: Option<i32>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    observed_generation: Option<i64>,
    replicas: Option<i32>,
    ready_replicas: Option<i32>,
}

/// What is read of another pod of the set.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Peer {
    metadata: ObjectMeta,
    status: Option<PeerStatus>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct PeerStatus {
    conditions: Option<Vec<PeerCondition>>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct PeerCondition {
    r#type: String,
    status: String,
}

impl Peer {
    fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    fn is_ready(&self) -> bool {
        let conditions = self.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        conditions.iter().any(|condition| condition.r#type == "Ready" && condition.status == "True")
    }
}

impl kube::Resource for StatefulSet {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "StatefulSet".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "apps".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "statefulsets".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// What a set says about one of its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Ordinal of the pod, counted from the first one of the set.
    pub(super) ordinal: u32,
    /// Where the ordinals of the set start.
    pub(super) first: u32,
    /// How many pods the set is to have.
    pub(super) total: u32,
    /// How many it has, those that are to go included.
    pub(super) replicas: u32,
    /// How many of them are ready.
    pub(super) ready: u32,
    /// Whether these two numbers are about the set as it is.
    pub(super) current: bool,
    /// Whether the set is being deleted, with all its pods.
    pub(super) dissolving: bool,
    /// UID of the set, and how often what it is to be was changed.
    pub(super) edition: (String, i64),
}

impl Seen {
    /// Whether every pod that there is and that there should be is ready.
    pub(super) fn is_ready(&self) -> bool {
        self.current && self.ready >= self.total.max(self.replicas)
    }

    /// Whether it is what the same set was before `other`.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        self.edition.0 == other.edition.0 && self.edition.1 < other.edition.1
    }

    /// Whether `other` is what the same set was before the last change but one or earlier, or another set.
    pub(super) fn has_skipped(&self, other: &Self) -> bool {
        self.edition.0 != other.edition.0 || self.edition.1 > other.edition.1 + 1
    }

    fn of(set: &StatefulSet, ordinal: u32) -> Self {
        let count = |number: i32| u32::try_from(number).unwrap_or(0);
        let spec = set.spec.as_ref();
        let first = spec.and_then(|spec| spec.ordinals.as_ref()?.start).map_or(0, count);
        let status = set.status.as_ref();
        let generation = set.metadata.generation.unwrap_or(0);
        Self {
            // Below the first one: a pod that is to go, as one past the last is.
            ordinal: ordinal.checked_sub(first).unwrap_or(u32::MAX),
            first,
            total: spec.and_then(|spec| spec.replicas).map_or(1, count),
            replicas: status.and_then(|status| status.replicas).map_or(0, count),
            ready: status.and_then(|status| status.ready_replicas).map_or(0, count),
            current: status.and_then(|status| status.observed_generation).unwrap_or(0) >= generation,
            dissolving: set.metadata.deletion_timestamp.is_some(),
            edition: (set.metadata.uid.clone().unwrap_or_default(), generation),
        }
    }
}

/// What went wrong, by what was being done.
#[derive(Debug, thiserror::Error)]
pub(super) enum SetError {
    /// The API server forbids it.
    #[error("the API server does not allow it: {message}")]
    Forbidden { right: Right, message: String },
    /// The pod belongs to nothing that could be followed.
    #[error("pod {pod} is not controlled by a StatefulSet (--pod is for ksm-shard as a StatefulSet)")]
    NoSet { pod: String },
    /// The name of the pod is not one that its set gives.
    #[error("pod {pod} has no ordinal of StatefulSet {set} at the end of its name")]
    NoOrdinal { pod: String, set: String },
    /// There is no set of that name.
    #[error("StatefulSet {set} does not exist")]
    Gone { set: String },
    /// Anything else, which may pass.
    #[error("the request failed")]
    Request(#[source] Box<kube::Error>),
    /// No answer, or nothing on a watch for longer than it can be open.
    #[error("nothing came for {} s", .0.as_secs())]
    Idle(Duration),
    /// The resource version is too old: the set must be read anew. A normal thing.
    #[error("the watch cannot go on")]
    Expired,
}

impl SetError {
    /// Whether trying again is of no use.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::NoSet { .. } | Self::NoOrdinal { .. })
    }
}

/// A right that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Right {
    /// What is to be done.
    pub(super) verb: &'static str,
    /// To which resource.
    pub(super) resource: &'static str,
}

const GET_POD: Right = Right { verb: "get", resource: "pods" };
const LIST_SETS: Right = Right { verb: "list", resource: "statefulsets" };
const WATCH_SETS: Right = Right { verb: "watch", resource: "statefulsets" };

/// A pod's place in a set that is known by name.
#[derive(Clone)]
pub(super) struct Member {
    client: kube::Client,
    namespace: String,
    sets: Api<StatefulSet>,
    /// Name of the set.
    pub(super) set: String,
    /// As the pod's name has it.
    ordinal: u32,
}

/// Finds the set that controls the pod.
///
/// # Errors
/// The pod cannot be read, or no StatefulSet controls it.
pub(super) async fn find(client: kube::Client, namespace: &str, pod: &str) -> Result<Member, SetError> {
    let pods = Api::<Pod>::namespaced(client.clone(), namespace);
    let found = answer(GET_POD, pods.get_metadata(pod)).await?;
    let owners = found.metadata.owner_references.unwrap_or_default();
    let is_set = |api_version: &str, kind: &str| kind == "StatefulSet" && api_version.starts_with("apps/");
    let owner = owners
        .into_iter()
        .find(|owner| owner.controller == Some(true) && is_set(&owner.api_version, &owner.kind))
        .ok_or_else(|| SetError::NoSet { pod: pod.to_owned() })?;
    let ordinal = pod.strip_prefix(&owner.name).and_then(|rest| rest.strip_prefix('-')?.parse().ok());
    let ordinal = ordinal.ok_or_else(|| SetError::NoOrdinal { pod: pod.to_owned(), set: owner.name.clone() })?;
    let sets = Api::namespaced(client.clone(), namespace);
    Ok(Member { client, namespace: namespace.to_owned(), sets, set: owner.name, ordinal })
}

impl Member {
    /// Goes on with another client.
    pub(super) fn set_client(&mut self, client: kube::Client) {
        self.sets = Api::namespaced(client.clone(), &self.namespace);
        self.client = client;
    }

    fn selector(&self) -> String {
        format!("metadata.name={}", self.set)
    }

    /// The set as it is, and the version to watch from.
    pub(super) async fn read(&self) -> Result<(Seen, String), SetError> {
        let parameters = ListParams::default().fields(&self.selector());
        let list = answer(LIST_SETS, self.sets.list(&parameters)).await?;
        let version = list.metadata.resource_version.unwrap_or_default();
        match list.items.into_iter().find(|set| set.metadata.name.as_ref() == Some(&self.set)) {
            Some(set) => Ok((Seen::of(&set, self.ordinal), version)),
            None => Err(SetError::Gone { set: self.set.clone() }),
        }
    }

    /// Whether every other pod that the set has a place for is ready; `None` if pods may not be read.
    ///
    /// One that was told to stop has to be replaced first, and its successor be ready. Of pods that were all told to stop,
    /// each waits for those of higher ordinals only, so that they do not wait for each other.
    pub(super) async fn peers_are_ready(&self, seen: &Seen) -> Result<Option<bool>, SetError> {
        let stays = seen.ordinal < seen.total;
        for ordinal in (0..seen.total).filter(|&ordinal| ordinal != seen.ordinal) {
            let ready = match self.peer(seen.first.saturating_add(ordinal)).await {
                Ok(Some(peer)) if peer.is_terminating() => stays && ordinal < seen.ordinal,
                Ok(peer) => peer.is_some_and(|peer| peer.is_ready()),
                Err(SetError::Forbidden { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            if !ready {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// The pod of that ordinal, counted as in its name; `None` if there is none.
    async fn peer(&self, ordinal: u32) -> Result<Option<Peer>, SetError> {
        let path = format!("/api/v1/namespaces/{}/pods/{}-{ordinal}", self.namespace, self.set);
        let request = http::Request::get(path).body(Vec::new()).expect("names of objects make a valid path");
        match answer(GET_POD, self.client.request(request)).await {
            Ok(peer) => Ok(Some(peer)),
            Err(SetError::Request(error)) if matches!(&*error, kube::Error::Api(status) if status.code == 404) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a watch that goes on from a version.
    pub(super) async fn watch(&self, version: &str) -> Result<Changes, SetError> {
        let parameters = WatchParams::default().fields(&self.selector()).timeout(WATCH_SECONDS);
        let events = answer(WATCH_SETS, self.sets.watch(&parameters, version)).await?;
        Ok(Changes { events: Box::pin(events), member: self.clone() })
    }
}

type Events = dyn Stream<Item = Result<WatchEvent<StatefulSet>, kube::Error>> + Send;

/// An open watch of the set.
pub(super) struct Changes {
    events: std::pin::Pin<Box<Events>>,
    member: Member,
}

/// Something on a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The set as it is now; `None` where nothing is said about it: it was deleted, or this is a bookmark.
    pub(super) seen: Option<Seen>,
    /// Version to go on from.
    pub(super) version: String,
}

impl Changes {
    /// The next change, or `None` when the API server has ended the watch. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<Change>, SetError> {
        loop {
            let event = timeout(WATCH_IDLE, self.events.next()).await.map_err(|_| SetError::Idle(WATCH_IDLE))?;
            let (set, deleted) = match event {
                None => return Ok(None),
                Some(Err(error)) => return Err(failed(WATCH_SETS, error)),
                Some(Ok(WatchEvent::Error(_))) => return Err(SetError::Expired),
                Some(Ok(WatchEvent::Bookmark(bookmark))) => {
                    return Ok(Some(Change { seen: None, version: bookmark.metadata.resource_version }));
                }
                Some(Ok(WatchEvent::Added(set) | WatchEvent::Modified(set))) => (set, false),
                Some(Ok(WatchEvent::Deleted(set))) => (set, true),
            };
            if set.metadata.name.as_ref() == Some(&self.member.set) {
                let version = set.metadata.resource_version.clone().unwrap_or_default();
                let seen = (!deleted).then(|| Seen::of(&set, self.member.ordinal));
                return Ok(Some(Change { seen, version }));
            }
        }
    }
}

async fn answer<T>(right: Right, request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, SetError> {
    match timeout(ANSWER_LIMIT, request).await {
        Ok(answer) => answer.map_err(|error| failed(right, error)),
        Err(_) => Err(SetError::Idle(ANSWER_LIMIT)),
    }
}

fn failed(right: Right, error: kube::Error) -> SetError {
    match error {
        kube::Error::Api(status) if status.code == 401 || status.code == 403 => {
            SetError::Forbidden { right, message: status.message.clone() }
        }
        kube::Error::Api(status) if status.code == 410 => SetError::Expired,
        error => SetError::Request(Box::new(error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(set: serde_json::Value, ordinal: u32) -> Seen {
        Seen::of(&serde_json::from_value(set).unwrap(), ordinal)
    }

    #[test]
    fn ordinals_count_from_the_first_of_the_set() {
        let set = json!({"spec": {"replicas": 3, "ordinals": {"start": 5}}});
        let place = |ordinal| {
            let seen = seen(set.clone(), ordinal);
            (seen.ordinal, seen.total)
        };
        assert_eq!(place(5), (0, 3));
        assert_eq!(place(7), (2, 3));
        assert_eq!(place(8), (3, 3));
        assert_eq!(place(4), (u32::MAX, 3), "below the first is out of the set");
        for unset in [
            json!({"spec": {}}),
            json!({"spec": null}),
            json!({"spec": {"replicas": null, "ordinals": null}, "status": null}),
            json!({"spec": {"ordinals": {}}, "status": {"readyReplicas": null, "observedGeneration": null}}),
        ] {
            let unset = seen(unset, 0);
            assert_eq!((unset.ordinal, unset.total, unset.ready), (0, 1, 0));
        }
    }

    #[test]
    fn what_is_read_has_the_names_and_the_place_that_the_api_gives_it() {
        use k8s_openapi::api::apps::v1 as api;

        let ordinals = api::StatefulSetOrdinals { start: Some(2) };
        let spec = api::StatefulSetSpec { replicas: Some(4), ordinals: Some(ordinals), ..Default::default() };
        let status = api::StatefulSetStatus {
            observed_generation: Some(7),
            replicas: 5,
            ready_replicas: Some(3),
            ..Default::default()
        };
        let metadata = ObjectMeta { generation: Some(7), uid: Some("u".to_owned()), ..Default::default() };
        let whole = api::StatefulSet { metadata, spec, status: Some(status) };
        let read = seen(serde_json::to_value(&whole).unwrap(), 3);
        let expected = Seen {
            ordinal: 1,
            first: 2,
            total: 4,
            replicas: 5,
            ready: 3,
            current: true,
            dissolving: false,
            edition: ("u".to_owned(), 7),
        };
        assert_eq!(read, expected);
        let path = |namespace| <StatefulSet as kube::Resource>::url_path(&(), Some(namespace));
        assert_eq!(path("a"), <api::StatefulSet as kube::Resource>::url_path(&(), Some("a")));
    }

    #[test]
    fn a_set_that_is_deleted_with_its_pods_is_told_from_one_that_stays() {
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert!(seen(deleted, 0).dissolving);
        assert!(!seen(json!({"metadata": {"deletionTimestamp": null}}), 0).dissolving);
    }

    #[test]
    fn a_pod_is_ready_by_its_condition_alone() {
        let peer = |pod| serde_json::from_value::<Peer>(pod).unwrap();
        let condition =
            |kind: &str, status: &str| json!({"status": {"conditions": [{"type": kind, "status": status}]}});
        assert!(peer(condition("Ready", "True")).is_ready());
        for unready in
            [condition("Ready", "False"), condition("ContainersReady", "True"), json!({"status": null}), json!({})]
        {
            assert!(!peer(unready).is_ready());
        }
    }

    #[test]
    fn a_set_is_ready_when_all_that_are_there_and_should_be_are() {
        let ready = |generation, observed, replicas, ready| {
            let status = json!({"observedGeneration": observed, "replicas": replicas, "readyReplicas": ready});
            let set = json!({"metadata": {"generation": generation}, "spec": {"replicas": 2}, "status": status});
            seen(set, 0).is_ready()
        };
        assert!(ready(1, 1, 2, 2));
        assert!(!ready(1, 1, 1, 1), "one is missing");
        assert!(!ready(1, 1, 4, 3), "one of those that are there is not ready");
        assert!(!ready(2, 1, 2, 2), "said of the set as it was before");
    }
}

//! Watches: events from the history, initial events where asked for, bookmarks, and what faults make of them.
//!
//! A watch is a position in the history of its resource. It has no queue of its own: one that reads too slowly finds
//! its position forgotten and is told so with a 410.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};

use super::{
    Answer, Context, Kind,
    list::{self, BAD_JSON, BAD_PROTOBUF},
    with_type,
};
use crate::{
    body::{Body, Chunk, Cut},
    codec::{self, schema},
    faults::WatchFault,
    negotiate::{self, Encoding, Form},
    selector::Selector,
    status::Status,
    store::{Change, Collection, Expired, Object, Snapshot},
};

/// Events taken from the history at a time.
const BATCH: usize = 256;
/// Initial events are sent in chunks of at least this many bytes.
const CHUNK: usize = 256 * 1024;

pub(super) fn serve(context: &Context<'_>) -> Answer {
    validate(context)?;
    let selector = context.selector()?;
    let version = context.resource_version()?;
    let encoding = context.accept.encoding;
    let content_type = encoding.content_type(true);
    if context.accept.form == Form::MetadataList {
        // A watch has no list to convert: the API server ends it at once.
        return Ok(with_type(StatusCode::OK, content_type, Body::whole(Bytes::new())));
    }
    let streamed = context.query.flag("sendInitialEvents");
    let explicitly_not = context.query.get("sendInitialEvents") == "false";
    let collection = Arc::clone(context.api.cluster.collection(context.target.resource));
    let namespace = context.target.namespace.clone();
    let start = match version {
        Some(version) if version > 0 && !streamed => Start::After(version),
        None if explicitly_not => Start::After(context.api.cluster.resource_version()),
        _ => Start::Initial(collection.snapshot(namespace.as_deref())),
    };
    if let (Start::Initial(snapshot), Some(wanted)) = (&start, version)
        && wanted > snapshot.resource_version
    {
        return Err(Status::too_large(wanted, snapshot.resource_version));
    }
    let (sender, body) = Body::stream(None);
    let timeout = context.query.number("timeoutSeconds")?.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    let watch = Watch {
        selector,
        namespace,
        bookmarks: context.query.flag("allowWatchBookmarks").then_some(context.api.options.bookmark_interval),
        // The end of the initial events is a bookmark too.
        announce_end: streamed && context.query.flag("allowWatchBookmarks") && !context.hit.no_initial_events_end,
        deadline: timeout.map(|timeout| Instant::now() + timeout),
        frames: Frames {
            sender,
            encoding,
            form: context.accept.form,
            kind: Kind::of(context.target, context.accept.form),
            buffer: Vec::new(),
            sent: 0,
            fault: context.hit.watch(),
        },
        collection,
    };
    tokio::spawn(async move {
        // However the watch ends, its sender is dropped with it, which ends the body.
        let _ = watch.run(start).await;
    });
    Ok(with_type(StatusCode::OK, content_type, body))
}

fn validate(context: &Context<'_>) -> Result<(), Status> {
    let invalid = |field, reason: &str| Err(Status::invalid(("meta.k8s.io", "ListOptions"), field, reason));
    let (initial, matching) = (context.query.get("sendInitialEvents"), context.query.get("resourceVersionMatch"));
    if initial.is_empty() && matching.is_empty() {
        return Ok(());
    }
    if initial.is_empty() {
        let reason = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        return invalid("resourceVersionMatch", reason);
    }
    if matching != "NotOlderThan" {
        let reason = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        return invalid("resourceVersionMatch", reason);
    }
    if !context.api.options.watch_list {
        let reason = "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
        return invalid("sendInitialEvents", reason);
    }
    Ok(())
}

/// Where a watch begins.
enum Start {
    After(u64),
    /// With the objects there are, as ADDED events.
    Initial(Snapshot),
}

/// Why a watch is over.
enum Over {
    /// The client is gone, or a fault has ended it.
    Closed,
    /// Its time is up.
    Timeout,
}

struct Watch {
    collection: Arc<Collection>,
    namespace: Option<String>,
    selector: Selector,
    bookmarks: Option<Duration>,
    announce_end: bool,
    deadline: Option<Instant>,
    frames: Frames,
}

impl Watch {
    async fn run(mut self, start: Start) -> Result<(), Over> {
        // Subscribed before anything is read, so that no change goes unnoticed.
        let (mut changed, mut expired) = (self.collection.subscribe(), self.collection.subscribe_to_expiry());
        self.frames.fault_due().await?;
        let mut position = match start {
            Start::After(version) => version,
            Start::Initial(Snapshot { resource_version, objects }) => {
                for object in objects.iter().filter(|object| self.selector.matches(object)) {
                    self.frames.send_buffered("ADDED", object).await?;
                }
                if self.announce_end {
                    self.frames.bookmark(resource_version, true).await?;
                }
                self.frames.flush().await?;
                resource_version
            }
        };
        let interval = self.bookmarks.unwrap_or(Duration::from_secs(3600));
        let mut beat = tokio::time::interval_at(Instant::now() + interval, interval);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            position = self.catch_up(position).await?;
            tokio::select! {
                result = changed.changed() => result.map_err(|_| Over::Closed)?,
                result = expired.changed() => {
                    result.map_err(|_| Over::Closed)?;
                    self.frames.error(&list::too_old(position, Expired { oldest: position + 1 })).await?;
                    return Err(Over::Closed);
                }
                _ = beat.tick(), if self.bookmarks.is_some() => {
                    position = self.catch_up(position).await?;
                    self.frames.bookmark(position, false).await?;
                    self.frames.flush().await?;
                }
                () = sleep_until(self.deadline) => return Err(Over::Timeout),
                () = self.frames.sender.closed() => return Err(Over::Closed),
            }
        }
    }

    /// Sends all events behind a position and returns the new one.
    async fn catch_up(&mut self, mut position: u64) -> Result<u64, Over> {
        loop {
            let (events, seen) = match self.collection.events_after(position, BATCH) {
                Ok(found) => found,
                Err(expired) => {
                    self.frames.error(&list::too_old(position, expired)).await?;
                    return Err(Over::Closed);
                }
            };
            for event in &events {
                let matches = |object: &Object| {
                    self.namespace.as_deref().is_none_or(|namespace| *object.key.namespace == *namespace)
                        && self.selector.matches(object)
                };
                if let Some((change, object)) = event.seen_by(matches) {
                    self.frames.send(change, &object).await?;
                }
            }
            position = seen;
            if events.len() < BATCH {
                return Ok(position);
            }
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Writes events in the negotiated encoding, and faults between them.
struct Frames {
    sender: mpsc::Sender<Chunk>,
    encoding: Encoding,
    form: Form,
    kind: Kind,
    buffer: Vec<u8>,
    /// Events sent so far.
    sent: u64,
    /// Fires when so many events have been sent.
    fault: Option<(u64, WatchFault)>,
}

impl Frames {
    fn content(&self, object: &Object) -> Bytes {
        match self.form {
            Form::Full => object.bytes.clone(),
            Form::Metadata | Form::MetadataList => object.partial(),
        }
    }

    fn frame(&self, event: &str, object: &Bytes) -> [Bytes; 3] {
        let kind = (self.kind.api_version.as_str(), self.kind.name.as_str());
        negotiate::watch_frame(self.encoding, event, self.kind.message, kind, object)
    }

    /// Sends an event at once.
    async fn send(&mut self, change: Change, object: &Object) -> Result<(), Over> {
        let event = match change {
            Change::Added => "ADDED",
            Change::Modified => "MODIFIED",
            Change::Deleted => "DELETED",
        };
        for part in self.frame(event, &self.content(object)) {
            self.write(part).await?;
        }
        self.sent += 1;
        self.fault_due().await
    }

    /// Sends an event together with others, when there are enough of them.
    async fn send_buffered(&mut self, event: &str, object: &Object) -> Result<(), Over> {
        let content = self.content(object);
        self.buffer_event(event, &content).await
    }

    async fn buffer_event(&mut self, event: &str, content: &Bytes) -> Result<(), Over> {
        for part in self.frame(event, content) {
            self.buffer.extend_from_slice(&part);
        }
        if self.buffer.len() >= CHUNK {
            self.flush().await?;
        }
        self.sent += 1;
        self.fault_due().await
    }

    async fn bookmark(&mut self, version: u64, end_of_initial: bool) -> Result<(), Over> {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if end_of_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = codec::to_protobuf(self.kind.message, &json!({"metadata": metadata}));
        self.buffer_event("BOOKMARK", &object.expect("every kind has metadata").into()).await
    }

    async fn error(&mut self, status: &Status) -> Result<(), Over> {
        let schema = schema::message(&format!("{}.Status", negotiate::META)).expect("statuses are in the schema");
        let object = codec::to_protobuf(schema, &status.to_value()).expect("a status fits its kind").into();
        for part in negotiate::watch_frame(self.encoding, "ERROR", schema, ("v1", "Status"), &object) {
            self.write(part).await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Over> {
        let full = std::mem::take(&mut self.buffer);
        self.write(full.into()).await
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), Over> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.sender.send(Ok(bytes)).await.map_err(|_| Over::Closed)
    }

    /// Does what the fault says when it is time.
    async fn fault_due(&mut self) -> Result<(), Over> {
        if self.fault.as_ref().is_none_or(|(after, _)| *after != self.sent) {
            return Ok(());
        }
        let Some((_, fault)) = self.fault.take() else { return Ok(()) };
        self.flush().await?;
        match fault {
            WatchFault::Error { code } => {
                self.error(&Status::of_code(code, format!("injected fault: {code}"), None)).await?;
                Err(Over::Closed)
            }
            WatchFault::End => Err(Over::Closed),
            WatchFault::Cut => self.cut().await,
            WatchFault::CutFrame => {
                let frame = self.frame("ADDED", &self.invented(&json!({"metadata": {"name": "cut"}}))).concat();
                self.write(frame[..frame.len() / 2].to_vec().into()).await?;
                self.cut().await
            }
            WatchFault::Stall => self.stall().await,
            WatchFault::Garbage => {
                let frame: &[u8] = match self.encoding {
                    Encoding::Json => b"\x07}not json{\n",
                    Encoding::Protobuf => b"\0\0\0\x05\xff\xff\xff\xff\xff",
                };
                self.write(Bytes::from_static(frame)).await
            }
            WatchFault::HugeFrame => {
                let frame: &[u8] = match self.encoding {
                    Encoding::Json => br#"{"type":"ADDED","object":{"metadata":{"name":""#,
                    Encoding::Protobuf => b"\xff\xff\xff\xf0\x0a\x05ADDED",
                };
                self.write(Bytes::from_static(frame)).await?;
                self.stall().await
            }
            WatchFault::BadObject => {
                let frame = match self.encoding {
                    Encoding::Json => format!("{{\"type\":\"ADDED\",\"object\":{BAD_JSON}}}\n").into_bytes(),
                    Encoding::Protobuf => self.frame("ADDED", &Bytes::from_static(BAD_PROTOBUF)).concat(),
                };
                self.write(frame.into()).await
            }
            WatchFault::UnknownType => {
                let frame = self.frame("RENAMED", &self.invented(&json!({"metadata": {"name": "renamed"}}))).concat();
                self.write(frame.into()).await
            }
            WatchFault::NoMetadata => {
                let frame = self.frame("MODIFIED", &self.invented(&json!({}))).concat();
                self.write(frame.into()).await
            }
            WatchFault::DeletedNoMetadata => {
                let frame = self.frame("DELETED", &self.invented(&json!({}))).concat();
                self.write(frame.into()).await
            }
        }
    }

    fn invented(&self, object: &Value) -> Bytes {
        codec::to_protobuf(self.kind.message, object).expect("every kind has metadata").into()
    }

    async fn cut(&mut self) -> Result<(), Over> {
        // If the client is gone already there is nothing to cut.
        let _ = self.sender.send(Err(Cut)).await;
        Err(Over::Closed)
    }

    async fn stall(&mut self) -> Result<(), Over> {
        self.sender.closed().await;
        Err(Over::Closed)
    }
}

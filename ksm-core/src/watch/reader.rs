//! From encoded objects to text: one object, and one page of a list.
//!
//! Whatever an object is like, it costs only itself.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::warn;

use super::error::WatchError;
use super::progress::{Filtering, Progress};
use super::stream::{Answer, LIST_IDLE};
use super::wire::{List, ListMeta, ListPart, decode_meta};
use crate::family::Plan;
use crate::resource::{AnyResource, Rendered};
use crate::shard::Share;
use crate::store::ObjectKey;
use crate::view::{DecodeError, Encoding};

/// Objects that fail are named in warnings up to this many a list or watch, then only counted.
const NAMED_FAILURES: u32 = 10;

/// Where objects go: a list under construction, or the store.
pub(super) type Sink<'a> = dyn FnMut(ObjectKey, Read<'_>) + 'a;

/// What became of an object.
pub(super) enum Read<'a> {
    /// Its text.
    Text(&'a Rendered),
    /// It is there and does not decode: what was served of it stays.
    Unreadable,
}

/// Turns encoded objects into text.
pub(super) struct ObjectReader {
    resource: Arc<dyn AnyResource>,
    plan: Plan,
    pub(super) share: Share,
    /// Whether the API server is asked for objects of the share only.
    pub(super) sharded: bool,
    /// UIDs that a key does not give back, of objects in the store: none, as API servers go.
    pub(super) odd_uids: HashMap<ObjectKey, String>,
    progress: Arc<Progress>,
    rendered: Rendered,
    pub(super) failures: u32,
}

impl ObjectReader {
    /// A reader that admits nothing yet.
    pub(super) fn new(resource: Arc<dyn AnyResource>, plan: Plan, progress: Arc<Progress>) -> Self {
        Self {
            resource,
            plan,
            share: Share::NOTHING,
            sharded: false,
            odd_uids: HashMap::new(),
            progress,
            rendered: Rendered::default(),
            failures: 0,
        }
    }

    /// Puts an object that is new or has changed into `sink`, if its share has it. Returns its resource version, or
    /// `None` if it does not decode: that is counted and logged, costs only this object, and what was served of it stays.
    pub(super) fn added(
        &mut self,
        sink: &mut Sink<'_>,
        encoding: Encoding,
        bytes: &[u8],
    ) -> Result<Option<String>, WatchError> {
        let (share, odd_uids) = (&self.share, &mut self.odd_uids);
        let mut identity = None;
        let mut admit = |meta: &crate::view::ObjectMeta| {
            if meta.uid.is_empty() && meta.name.is_empty() {
                return false;
            }
            let key = ObjectKey::new(meta);
            identity = Some((key, meta.resource_version.clone()));
            let owned = share.owns(&meta.uid);
            if owned && !ObjectKey::is_reversible(&meta.uid) {
                odd_uids.insert(key, meta.uid.clone());
            }
            owned
        };
        // A panic of a generator is contained to its object; nothing it could have left half done is used again.
        let rendered = catch_unwind(AssertUnwindSafe(|| {
            self.resource.render(encoding, bytes, &self.plan, &mut admit, &mut self.rendered)
        }))
        .unwrap_or_else(|_| Err(DecodeError::new("a generator panicked")));
        match (rendered, identity) {
            (Ok(true), Some((key, version))) => {
                sink(key, Read::Text(&self.rendered));
                Ok(Some(version))
            }
            (Ok(_), Some((_, version))) => {
                self.progress.foreign_objects.add(1);
                if self.sharded {
                    // Another API server than the one that said it filters, one that does not.
                    self.progress.set_filtering(Filtering::Local);
                }
                Ok(Some(version))
            }
            (Ok(_), None) => Err(WatchError::NoMetadata),
            (Err(error), _) => Ok(self.failed(&error, sink, encoding, bytes)),
        }
    }

    fn failed(&mut self, error: &DecodeError, sink: &mut Sink<'_>, encoding: Encoding, bytes: &[u8]) -> Option<String> {
        self.progress.object_errors.add(1);
        self.failures += 1;
        let meta = decode_meta(encoding, bytes).ok();
        if self.failures <= NAMED_FAILURES {
            let (namespace, name) = meta.as_ref().map_or(("", ""), |meta| (&meta.namespace, &meta.name));
            warn!(namespace, name, %error, "object skipped, it does not decode");
        }
        if let Some(meta) = &meta
            && self.share.owns(&meta.uid)
        {
            sink(ObjectKey::new(meta), Read::Unreadable);
        }
        meta.map(|meta| meta.resource_version).filter(|version| !version.is_empty())
    }
}

/// What is done with each object of a page.
pub(super) type OnObject<'a> = dyn FnMut(Encoding, &[u8]) -> Result<(), WatchError> + Send + 'a;

/// Reads one page of a list.
pub(super) async fn page_of(
    client: &kube::Client,
    progress: &Progress,
    request: http::Request<kube::client::Body>,
    object: &mut OnObject<'_>,
) -> Result<ListMeta, WatchError> {
    read_page(Answer::open(client, request, LIST_IDLE).await?, progress, object).await
}

/// Reads a page that has been answered.
pub(super) async fn read_page(
    mut answer: Answer,
    progress: &Progress,
    object: &mut OnObject<'_>,
) -> Result<ListMeta, WatchError> {
    let encoding = answer.encoding;
    let mut list = List::new(encoding);
    let mut meta = ListMeta::default();
    while let Some(bytes) = answer.chunk(progress).await? {
        list.push(&bytes);
        while let Some(part) = list.next()? {
            match part {
                ListPart::Object(bytes) => object(encoding, &bytes)?,
                ListPart::Meta(found) => meta = found,
            }
        }
    }
    Ok(list.finish()?.unwrap_or(meta))
}

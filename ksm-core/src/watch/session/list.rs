//! Lists, streamed or page by page, and whether the API server filters them by shard.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tracing::debug;

use super::{Listed, Session, identity, watch_seconds};
use crate::chain::chain;
use crate::shard::Share;
use crate::store::ObjectKey;
use crate::watch::error::WatchError;
use crate::watch::progress::{Filtering, Phase};
use crate::watch::reader::{Read, page_of, read_page};
use crate::watch::request::{INITIAL_EVENTS_END, Page, Target};
use crate::watch::stream::{Answer, Item, LIST_IDLE, WATCH_IDLE, WatchStream};
use crate::watch::wire::{Event, EventKind, decode_meta};

/// A streamed list that brings no object for this long and does not say that it is complete never will
/// (<https://github.com/kubernetes/kubernetes/issues/122805>).
const STREAM_QUIET: Duration = Duration::from_secs(10);

/// How long an API server that cannot stream lists is not asked to again.
const STREAM_RETRY: Duration = Duration::from_secs(600);

impl Session {
    /// Reads the whole list aside.
    pub(super) async fn list(&mut self) -> Result<Listed, WatchError> {
        self.progress.set_phase(Phase::Listing);
        self.reader.failures = 0;
        let target = self.sharded_target().await?;
        match self.list_of(&target).await {
            Err(error) if target.is_sharded() && error.means_no_shard_selector() => {
                let target = self.without_selector(&error);
                self.list_of(&target).await
            }
            result => result,
        }
    }

    async fn list_of(&mut self, target: &Target) -> Result<Listed, WatchError> {
        // A streamed list has no limit.
        if self.object_limit.is_none() && self.paged_until.is_none_or(|until| Instant::now() >= until) {
            match self.streamed_list(target).await {
                Err(error) if error.means_no_streaming() => {
                    debug!(error = %chain(&error), "no streamed list, reading pages");
                    self.paged_until = Some(Instant::now() + STREAM_RETRY);
                }
                result => return result,
            }
        }
        self.paged_list(target).await
    }

    /// What to ask for: with the shard selector if the API server says that it filters by it, without if it does not.
    pub(super) async fn sharded_target(&mut self) -> Result<Target, WatchError> {
        let share = &self.reader.share;
        let Some(selector) = share.selector() else {
            self.progress.set_filtering(if share.is_whole() { Filtering::None } else { Filtering::Local });
            self.reader.sharded = false;
            return Ok(self.target.clone());
        };
        let target = self.target.clone().with_shard_selector(Some(selector));
        let echoed = match page_of(&self.client, &self.progress, target.probe(), &mut |_, _| Ok(())).await {
            // By another selector than this one is not by this one.
            Ok(meta) => meta.shard_info.is_some_and(|info| Share::of_selector(&info.selector).as_ref() == Some(share)),
            Err(error) if error.means_no_shard_selector() => return Ok(self.without_selector(&error)),
            Err(error) => return Err(error),
        };
        self.progress.set_filtering(if echoed { Filtering::ServerSide } else { Filtering::Local });
        self.reader.sharded = echoed;
        Ok(if echoed { target } else { self.target.clone() })
    }

    /// What to ask an API server for that does not take the selector.
    pub(super) fn without_selector(&mut self, error: &WatchError) -> Target {
        debug!(error = %chain(error), "shard selector refused, filtering locally");
        self.progress.set_filtering(Filtering::Local);
        self.reader.sharded = false;
        self.target.clone()
    }

    async fn paged_list(&mut self, target: &Target) -> Result<Listed, WatchError> {
        let mut relist = self.store.relist();
        let (mut version, mut token) = (None, None::<String>);
        let mut room = self.object_limit;
        loop {
            let page = match (&token, self.cached()) {
                (Some(token), _) => Page::Continue(token),
                // The cache answers whole, whatever the limit.
                (None, Some(version)) if room.is_none() => Page::Cached(version),
                (None, _) => Page::First,
            };
            let answer = Answer::open(&self.client, target.list(page, room), LIST_IDLE).await?;
            self.note_refusal(false);
            let (reader, store) = (&mut self.reader, &self.store);
            let meta = read_page(answer, &self.progress, &mut |encoding, bytes| {
                if let Some(room) = &mut room {
                    let Some(left) = room.checked_sub(1) else { return Ok(()) };
                    *room = left;
                }
                let mut apply = |key, read: Read<'_>| match read {
                    Read::Text(rendered) => store.relist_apply(&mut relist, key, rendered),
                    Read::Unreadable => store.relist_keep(&mut relist, key),
                };
                reader.added(&mut apply, encoding, bytes).map(drop)
            })
            .await?;
            // All pages are of the version of the first.
            version.get_or_insert(meta.resource_version);
            if meta.continue_token.is_empty() || room == Some(0) {
                break;
            }
            token = Some(meta.continue_token);
        }
        if let (Some(limit), Some(room)) = (self.object_limit, room) {
            self.progress.listed.set((limit - room) as u64);
        }
        Ok(Listed {
            target: target.clone(),
            probed: Instant::now(),
            relist,
            version: version.unwrap_or_default(),
            stream: None,
        })
    }

    async fn streamed_list(&mut self, target: &Target) -> Result<Listed, WatchError> {
        let request = target.stream(self.cached(), watch_seconds());
        let mut stream = WatchStream::new(Answer::open(&self.client, request, WATCH_IDLE).await?);
        self.note_refusal(false);
        let encoding = stream.encoding();
        let mut relist = self.store.relist();
        let mut last_object = Instant::now();
        // Changes are streamed too. Once the first of them is there the list is all but over, however many follow.
        let mut changing = false;
        loop {
            let item = timeout_at(last_object + STREAM_QUIET, stream.next(&self.progress));
            let event = match item.await.map_err(|_| WatchError::Unfinished)?? {
                Item::Event(event) => event,
                Item::Drained => continue,
                Item::End => return Err(WatchError::Unfinished),
            };
            match event {
                Event::Object { kind: EventKind::Bookmark, object } => {
                    let meta = decode_meta(encoding, &object)?;
                    if meta.annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true") {
                        let (target, version) = (target.clone(), meta.resource_version);
                        return Ok(Listed { target, probed: Instant::now(), relist, version, stream: Some(stream) });
                    }
                }
                Event::Object { kind: EventKind::Deleted, object } => {
                    changing = true;
                    self.store.relist_delete(&mut relist, ObjectKey::new(&identity(encoding, &object)?));
                }
                Event::Object { kind, object } => {
                    changing |= kind == EventKind::Modified;
                    let store = &self.store;
                    let mut apply = |key, read: Read<'_>| match read {
                        Read::Text(rendered) => store.relist_apply(&mut relist, key, rendered),
                        Read::Unreadable => store.relist_keep(&mut relist, key),
                    };
                    self.reader.added(&mut apply, encoding, &object)?;
                    if !changing {
                        last_object = Instant::now();
                    }
                }
                Event::Error(status) => return Err(WatchError::from_event(status)),
            }
        }
    }
}

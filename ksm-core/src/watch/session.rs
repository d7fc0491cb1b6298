//! The list/watch state machine.
//!
//! ```text
//!            ┌─────────── 410, broken stream ────────────┐
//!            ▼                                           │
//!        Listing ── complete: swapped in whole ──▶ Watching ──┐ ended, cut: resumed from the last version
//!          │  ▲                                      ▲  └─────┘
//!  failed  ▼  │ pause                                │
//!        BackingOff ─────────────────────────────────┘ pause
//! ```
//!
//! A list is built aside, so until it is complete, and through every failure, the old view stays served.
//!
//! The share to keep may change at any time. What it has gained needs a list, built aside like any other; if it has only
//! lost something, that is dropped and the watch opened anew from where it was, with the new selector.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, sleep, timeout_at};
use tracing::{debug, info, trace, warn};

use super::backoff::Backoff;
use super::error::WatchError;
use super::progress::{Filtering, Phase, Progress};
use super::reader::{ObjectReader, page_of};
use super::request::{INITIAL_EVENTS_END, Page, Target};
use super::shares::{Follower, Taker};
use super::stream::{Answer, Item, WATCH_IDLE, WatchStream};
use super::wire::{Event, EventKind, decode_meta};
use super::{Outage, Watch};
use crate::chain::chain;
use crate::resource::Rendered;
use crate::store::{ObjectKey, Relist, Store};

/// A streamed list that brings no object for this long and does not say that it is complete never will
/// (<https://github.com/kubernetes/kubernetes/issues/122805>).
const STREAM_QUIET: Duration = Duration::from_secs(10);

/// How long an API server that cannot stream lists is not asked to again.
const STREAM_RETRY: Duration = Duration::from_secs(600);

/// A watch that ends sooner, with no event, is a failure: asking again at once would spin.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);

/// How long what an API server said about filtering by shard is believed: it may be upgraded, or be one of several that
/// are not all of one version.
const PROBE_AGE: Duration = Duration::from_secs(60);

/// Longest pause between tries to list what a share has gained.
const RESHARD_PAUSE: Duration = Duration::from_secs(5);

pub(super) struct Session {
    client: kube::Client,
    /// What to read, before it is known whether the API server filters by shard.
    target: Target,
    use_cache: bool,
    object_limit: Option<usize>,
    store: Store,
    reader: ObjectReader,
    progress: Arc<Progress>,
    outage: Arc<Outage>,
    follower: Follower,
    taker: Arc<Taker>,
    backoff: Backoff,
    /// Whether the last watch ended with 410 as soon as it was opened.
    gone: bool,
    /// Until when lists are not streamed, because the API server could not.
    paged_until: Option<Instant>,
    failing: bool,
    /// Whether a warning said what is wrong with this resource alone.
    warned: bool,
    started: Instant,
}

/// A list read to its end.
struct Listed {
    target: Target,
    probed: Instant,
    relist: Relist,
    /// Version to watch from.
    version: String,
    /// The stream that goes on with the changes, if the list was streamed.
    stream: Option<WatchStream>,
}

/// Where a watch is.
struct Following {
    /// What to ask for, and when it was found out; `None` if that is to be done.
    target: Option<(Target, Instant)>,
    /// Version to go on from.
    version: String,
    /// The stream that a list has left open.
    stream: Option<WatchStream>,
    /// Whether there is no going on from that version.
    lost: bool,
}

impl Session {
    pub(super) fn new(watch: Watch, client: kube::Client) -> Self {
        let descriptor = watch.resource.descriptor();
        let target = Target::new(descriptor, watch.namespace.as_deref(), watch.field_selector.as_deref());
        let reader = ObjectReader::new(watch.resource, watch.plan, Arc::clone(&watch.progress));
        let (follower, taker) = watch.shares.follow();
        watch.progress.list_limit.set(watch.object_limit.map_or(0, |limit| limit as u64));
        Self {
            client,
            target,
            use_cache: watch.use_cache,
            object_limit: watch.object_limit,
            store: watch.store,
            reader,
            progress: watch.progress,
            outage: watch.outage,
            follower,
            taker,
            backoff: Backoff::new(),
            gone: false,
            paged_until: None,
            failing: false,
            warned: false,
            started: Instant::now(),
        }
    }

    pub(super) async fn run(mut self) {
        // Apart from the rest, so that it can be waited for while the rest is at work.
        let mut follower = self.follower.clone();
        loop {
            let (round, share) = follower.current().await;
            let gained = !share.is_within(&self.reader.share);
            self.reader.share = share;
            if self.reader.share.is_nothing() {
                self.narrow(round);
                follower.changed().await;
                continue;
            }
            if gained && self.progress.is_synced() {
                self.progress.set_resharding(true);
            }
            let listed = tokio::select! {
                biased;
                () = follower.changed() => continue,
                listed = self.list_or_pause() => listed,
            };
            if let Some(listed) = listed {
                let following = self.swap_in(listed);
                self.taker.taken(round);
                self.follow(following, &mut follower).await;
            }
        }
    }

    /// Drops what the share has lost.
    fn narrow(&mut self, round: u64) {
        let (share, odd_uids) = (self.reader.share.clone(), std::mem::take(&mut self.reader.odd_uids));
        let owns = |key: ObjectKey| match odd_uids.get(&key) {
            Some(uid) => share.owns(uid),
            None => share.owns(&key.uuid()),
        };
        let mut dropped = 0;
        let cheap = self.store.is_cheap();
        self.on_this_thread(cheap, |store| {
            dropped = store.retain(owns);
            store.publish();
        });
        self.progress.objects.set(self.store.len() as u64);
        self.progress.freshness.note_shown();
        self.reader.odd_uids = odd_uids;
        self.reader.odd_uids.retain(|&key, _| self.store.contains(key));
        self.taker.dropped(dropped);
        // Readiness never waits for what is nothing, nor for what is already there.
        self.progress.set_synced();
        self.taker.taken(round);
        debug!(dropped, objects = self.store.len(), "share narrowed");
    }

    /// A whole list, or nothing after a pause.
    async fn list_or_pause(&mut self) -> Option<Listed> {
        match self.list().await {
            Ok(listed) => Some(listed),
            Err(error) => {
                self.progress.lists_failed.add(1);
                self.progress.set_refused(error.is_refusal());
                self.taker.excuse(error.is_refusal());
                self.pause(&error, "list failed").await;
                None
            }
        }
    }

    /// Reads the whole list aside.
    async fn list(&mut self) -> Result<Listed, WatchError> {
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
    async fn sharded_target(&mut self) -> Result<Target, WatchError> {
        let share = &self.reader.share;
        let Some(selector) = share.selector() else {
            self.progress.set_filtering(if share.is_whole() { Filtering::None } else { Filtering::Local });
            self.reader.sharded = false;
            return Ok(self.target.clone());
        };
        let target = self.target.clone().with_shard_selector(Some(selector));
        let echoed = match page_of(&self.client, &self.progress, target.probe(), &mut |_, _| Ok(())).await {
            Ok(meta) => meta.shard_info.is_some_and(|info| !info.selector.is_empty()),
            Err(error) if error.means_no_shard_selector() => return Ok(self.without_selector(&error)),
            Err(error) => return Err(error),
        };
        self.progress.set_filtering(if echoed { Filtering::ServerSide } else { Filtering::Local });
        self.reader.sharded = echoed;
        Ok(if echoed { target } else { self.target.clone() })
    }

    /// What to ask an API server for that does not take the selector.
    fn without_selector(&mut self, error: &WatchError) -> Target {
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
            let page = match &token {
                Some(token) => Page::Continue(token),
                // The cache answers whole, whatever the limit.
                None if self.use_cache && room.is_none() => Page::Cached,
                None => Page::First,
            };
            let request = target.list(page, room);
            let (reader, store) = (&mut self.reader, &self.store);
            let meta = page_of(&self.client, &self.progress, request, &mut |encoding, bytes| {
                if let Some(room) = &mut room {
                    let Some(left) = room.checked_sub(1) else { return Ok(()) };
                    *room = left;
                }
                let mut apply = |key, rendered: &Rendered| store.relist_apply(&mut relist, key, rendered);
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
        let request = target.stream(self.use_cache, watch_seconds());
        let mut stream = WatchStream::new(Answer::open(&self.client, request, WATCH_IDLE).await?);
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
                    self.store.relist_delete(&mut relist, ObjectKey::new(&decode_meta(encoding, &object)?));
                }
                Event::Object { kind, object } => {
                    changing |= kind == EventKind::Modified;
                    let store = &self.store;
                    let mut apply = |key, rendered: &Rendered| store.relist_apply(&mut relist, key, rendered);
                    self.reader.added(&mut apply, encoding, &object)?;
                    if !changing {
                        last_object = Instant::now();
                    }
                }
                Event::Error(status) => return Err(WatchError::from_event(status)),
            }
        }
    }

    /// Keeps up with changes until the list must be read anew.
    async fn follow(&mut self, mut following: Following, follower: &mut Follower) {
        loop {
            tokio::select! {
                biased;
                () = follower.changed() => {
                    self.publish();
                    let (round, share) = follower.current().await;
                    if share.is_nothing() || !share.is_within(&self.reader.share) {
                        return;
                    }
                    self.reader.share = share;
                    self.narrow(round);
                    following.target = None;
                }
                relist = self.watch(&mut following) => if relist {
                    return;
                },
            }
        }
    }

    /// Reads one watch to its end. True if the list must be read anew.
    async fn watch(&mut self, following: &mut Following) -> bool {
        if following.lost {
            // Found out before, and interrupted by another share while pausing.
            return true;
        }
        self.progress.set_phase(Phase::Watching);
        let opened = Instant::now();
        let before = self.progress.events.get();
        let result = match self.open(following).await {
            Ok(stream) => {
                self.progress.watches_succeeded.add(1);
                let read = self.read_events(stream, &mut following.version).await;
                let broken = read.as_ref().is_err_and(|error| !error.is_gone());
                self.progress.watches_cut.add(u64::from(broken));
                read
            }
            Err(error) => {
                self.progress.watches_failed.add(1);
                Err(error)
            }
        };
        self.publish();
        let short = opened.elapsed() < SHORTEST_WATCH;
        let fruitless = short && self.progress.events.get() == before;
        let gone_before = std::mem::take(&mut self.gone);
        match result {
            Ok(()) => {
                trace!(resource_version = following.version, "watch ended");
                if fruitless {
                    self.pause(&WatchError::EndedAtOnce, "watch failed").await;
                }
                false
            }
            Err(error) if error.is_gone() => {
                following.lost = true;
                debug!(error = %chain(&error), "resource version too old, relisting");
                self.gone = short;
                if short && gone_before {
                    // The list before was because of a 410 too, and did not help.
                    self.pause(&error, "watch cannot start").await;
                } else {
                    // The answer of a healthy API server, whatever was before.
                    self.backoff.reset();
                }
                true
            }
            Err(error) => {
                following.lost = error.is_broken_stream();
                self.pause(&error, "watch failed").await;
                following.lost
            }
        }
    }

    /// Goes on from where the watch was, asking again whether the API server filters: it may be another one by now.
    async fn open(&mut self, following: &mut Following) -> Result<WatchStream, WatchError> {
        if let Some(stream) = following.stream.take() {
            return Ok(stream);
        }
        let target = match &following.target {
            Some((target, probed)) if probed.elapsed() < PROBE_AGE => target.clone(),
            _ => {
                let target = self.sharded_target().await?;
                following.target = Some((target.clone(), Instant::now()));
                target
            }
        };
        let request = |target: &Target| target.watch(&following.version, watch_seconds());
        let answer = match Answer::open(&self.client, request(&target), WATCH_IDLE).await {
            Err(error) if target.is_sharded() && error.means_no_shard_selector() => {
                let target = self.without_selector(&error);
                let answer = Answer::open(&self.client, request(&target), WATCH_IDLE).await;
                following.target = Some((target, Instant::now()));
                answer
            }
            answer => answer,
        };
        answer.map(WatchStream::new)
    }

    /// Shows readers all that was read.
    fn publish(&mut self) {
        if self.store.is_changed() {
            let cheap = self.store.is_cheap();
            let started = std::time::Instant::now();
            self.on_this_thread(cheap, Store::publish);
            if !cheap {
                self.progress.folds.add(1);
                self.progress.folds_us.add(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX));
            }
        }
        self.progress.freshness.note_shown();
    }

    /// Packs what readers were not shown yet; whether that is enough.
    fn relieve(&mut self) -> bool {
        let mut enough = false;
        self.on_this_thread(false, |store| enough = store.relieve());
        enough
    }

    /// Does something to the store that may take a while, letting other tasks move to other threads meanwhile.
    fn on_this_thread(&mut self, cheap: bool, work: impl FnOnce(&mut Store)) {
        let store = &mut self.store;
        if cheap || store.threads() == 1 {
            work(store);
        } else {
            tokio::task::block_in_place(|| work(store));
        }
    }

    /// Makes a list what is served; returns where to go on.
    fn swap_in(&mut self, listed: Listed) -> Following {
        let Listed { target, probed, relist, version, stream } = listed;
        let now = now_ms();
        self.on_this_thread(false, |store| store.replace(relist));
        self.progress.objects.set(self.store.len() as u64);
        self.reader.odd_uids.retain(|&key, _| self.store.contains(key));
        self.progress.freshness.note_shown();
        self.progress.lists_succeeded.add(1);
        self.progress.last_list_ms.set(now);
        self.progress.last_event_ms.set(now);
        self.recovered();
        if self.progress.is_synced() {
            self.progress.relists.add(1);
            debug!(objects = self.store.len(), "relisted");
        } else {
            let duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.progress.sync_duration_ms.set(duration_ms.max(1));
            info!(objects = self.store.len(), duration_ms, "synced");
        }
        self.progress.set_synced();
        self.taker.excuse(false);
        Following { target: Some((target, probed)), version, stream, lost: false }
    }

    /// Applies events until the API server ends the watch (`Ok`) or something fails.
    async fn read_events(&mut self, mut stream: WatchStream, version: &mut String) -> Result<(), WatchError> {
        let encoding = stream.encoding();
        self.reader.failures = 0;
        loop {
            let item = tokio::select! {
                item = stream.next(&self.progress) => item?,
                () = self.progress.freshness.wanted() => {
                    self.publish();
                    continue;
                }
            };
            let event = match item {
                Item::Event(event) => event,
                Item::Drained => {
                    if self.store.is_cheap() || self.store.is_swollen() && !self.relieve() {
                        self.publish();
                    }
                    continue;
                }
                Item::End => return Ok(()),
            };
            if self.failing {
                self.recovered();
            }
            self.progress.last_event_ms.set(now_ms());
            let (kind, object) = match event {
                Event::Object { kind, object } => (kind, object),
                Event::Error(status) => return Err(WatchError::from_event(status)),
            };
            match kind {
                EventKind::Bookmark => *version = decode_meta(encoding, &object)?.resource_version,
                EventKind::Deleted => {
                    let meta = decode_meta(encoding, &object)?;
                    if meta.uid.is_empty() && meta.name.is_empty() {
                        return Err(WatchError::NoMetadata);
                    }
                    let key = ObjectKey::new(&meta);
                    self.store.delete(key);
                    self.reader.odd_uids.remove(&key);
                    self.note_change();
                    *version = meta.resource_version;
                }
                EventKind::Added | EventKind::Modified => {
                    let store = &mut self.store;
                    let mut apply = |key, rendered: &Rendered| {
                        store.apply(key, rendered);
                    };
                    if let Some(object_version) = self.reader.added(&mut apply, encoding, &object)? {
                        *version = object_version;
                    }
                    self.note_change();
                }
            }
            self.progress.events.add(1);
        }
    }

    fn note_change(&self) {
        self.progress.objects.set(self.store.len() as u64);
        if self.store.is_changed() {
            self.progress.freshness.note_change();
        }
    }

    /// Says once that something is wrong, and waits.
    async fn pause(&mut self, error: &WatchError, what: &'static str) {
        let mut delay = self.backoff.next(error.retry_after());
        if self.progress.is_resharding() {
            // Other shards wait for this one.
            delay = delay.min(RESHARD_PAUSE.max(error.retry_after().unwrap_or_default()));
        }
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        let news = match error {
            WatchError::Request(_) => self.outage.begin(),
            // A normal thing, however often.
            error if error.is_gone() => false,
            _ => !std::mem::replace(&mut self.warned, true),
        };
        if news {
            warn!(delay_ms, error = %chain(error), "{what}, retrying until it works; what was read before stays served");
        } else {
            debug!(delay_ms, error = %chain(error), "{what}");
        }
        self.failing = true;
        self.progress.set_phase(Phase::BackingOff);
        sleep(delay).await;
    }

    fn recovered(&mut self) {
        self.warned = false;
        if std::mem::take(&mut self.failing) {
            if self.outage.end() {
                info!("API server reached again");
            } else {
                debug!("working again");
            }
        }
    }
}

/// How long the API server is asked to keep a watch open: 5 to 10 minutes, spread so that not all end together.
fn watch_seconds() -> u32 {
    fastrand::u32(300..600)
}

/// Milliseconds since the Unix epoch.
fn now_ms() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

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
//! The share to keep may change at any time. What it has lost is dropped at once, whatever is going on. What it has gained
//! needs a list, built aside like any other; if there is nothing of that, the watch is opened anew from where it was, with
//! the new selector.

mod list;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, sleep};
use tracing::{Level, debug, enabled, info, trace, warn};

use super::backoff::Backoff;
use super::error::WatchError;
use super::progress::{Phase, Progress};
use super::reader::{ObjectReader, Read};
use super::request::Target;
use super::shares::{Follower, Taker};
use super::stream::{Answer, Item, WATCH_IDLE, WatchStream};
use super::wire::{Event, EventKind, decode_meta};
use super::{Outage, Watch};
use crate::chain::chain;
use crate::shard::Share;
use crate::store::{ObjectKey, Relist, Store};
use crate::view::{Encoding, ObjectMeta};

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
    /// The last version that was seen; a list from the API server's cache must not be older.
    version: Option<String>,
    /// Whether the cache could not answer, so that the next list is as of now.
    cache_failed: bool,
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
    /// Since when the API server has refused to list.
    refused: Option<Instant>,
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
        let (follower, taker) = watch.shares.follow(Arc::clone(&watch.progress));
        watch.progress.list_limit.set(watch.object_limit.map_or(0, |limit| limit as u64));
        Self {
            client,
            target,
            use_cache: watch.use_cache,
            version: None,
            cache_failed: false,
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
            refused: None,
            warned: false,
            started: Instant::now(),
        }
    }

    pub(super) async fn run(mut self) {
        // Apart from the rest, so that it can be waited for while the rest is at work.
        let mut follower = self.follower.clone();
        loop {
            let (round, share) = follower.current().await;
            let gained = self.turn_to(share);
            if self.reader.share.is_nothing() {
                self.note_taken(round);
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
                let version = self.follow(following, &mut follower).await;
                self.version = Some(version).filter(|version| !version.is_empty());
            }
        }
    }

    /// Keeps another share from now on, and drops what it has lost. True if it has gained something.
    fn turn_to(&mut self, share: Share) -> bool {
        let before = std::mem::replace(&mut self.reader.share, share);
        if !before.is_within(&self.reader.share) {
            self.drop_lost();
        }
        !self.reader.share.is_within(&before)
    }

    /// Drops what is not of the share, for readers as well.
    fn drop_lost(&mut self) {
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
        debug!(dropped, objects = self.store.len(), "what the share has lost dropped");
    }

    /// Notes that all of the share of that round is served, without a list.
    fn note_taken(&mut self, round: u64) {
        // Readiness never waits for what is nothing, nor for what is already there.
        self.progress.set_synced();
        self.taker.excuse(false);
        self.taker.taken(round);
    }

    /// A whole list, or nothing after a pause.
    async fn list_or_pause(&mut self) -> Option<Listed> {
        match self.list().await {
            Ok(listed) => Some(listed),
            Err(error) => {
                self.progress.lists_failed.add(1);
                self.cache_failed |= error.is_about_version();
                // No answer is no other answer.
                if !matches!(error, WatchError::Request(_)) {
                    self.note_refusal(error.is_refusal());
                    self.progress.set_not_found(error.is_not_found());
                }
                self.pause(&error, "list failed").await;
                None
            }
        }
    }

    /// Notes whether the API server refuses to list. Nobody waits for a resource that it does, once it has for a while: what
    /// is refused for a moment may be answered by a list that takes its time.
    fn note_refusal(&mut self, refused: bool) {
        if !refused {
            self.refused = None;
            self.progress.set_refused(false);
            return self.taker.excuse(false);
        }
        let since = *self.refused.get_or_insert_with(Instant::now);
        let excused = since.elapsed() >= self.taker.patience();
        if excused {
            self.progress.set_refused(true);
        } else {
            self.progress.set_refused_lately();
        }
        self.taker.excuse(excused);
    }

    /// The version that a list from the API server's cache must not be older than, so that nothing goes back in time (as
    /// client-go's reflectors have it); `None` for a list as of now.
    fn cached(&self) -> Option<&str> {
        (self.use_cache && !self.cache_failed).then(|| self.version.as_deref().unwrap_or("0"))
    }

    /// Keeps up with changes until the list must be read anew. Returns the last version seen.
    async fn follow(&mut self, mut following: Following, follower: &mut Follower) -> String {
        loop {
            tokio::select! {
                biased;
                () = follower.changed() => {
                    self.publish();
                    let (round, share) = follower.current().await;
                    if share.is_nothing() || !share.is_within(&self.reader.share) {
                        return following.version;
                    }
                    self.turn_to(share);
                    self.note_taken(round);
                    // A stream that a list has left open is of the share before.
                    (following.target, following.stream) = (None, None);
                }
                relist = self.watch(&mut following) => if relist {
                    return following.version;
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
        self.cache_failed = false;
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
            if enabled!(Level::TRACE)
                && let Ok(ObjectMeta { namespace, name, resource_version, .. }) = decode_meta(encoding, &object)
            {
                trace!(?kind, namespace, name, resource_version, "event");
            }
            match kind {
                EventKind::Bookmark => *version = decode_meta(encoding, &object)?.resource_version,
                EventKind::Deleted => {
                    let meta = identity(encoding, &object)?;
                    let key = ObjectKey::new(&meta);
                    self.store.delete(key);
                    self.reader.odd_uids.remove(&key);
                    self.note_change();
                    *version = meta.resource_version;
                }
                EventKind::Added | EventKind::Modified => {
                    let store = &mut self.store;
                    let mut apply = |key, read: Read<'_>| {
                        if let Read::Text(rendered) = read {
                            store.apply(key, rendered);
                        }
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
            error if error.is_about_connection() => self.outage.begin(),
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

/// Metadata that says which object it is of.
fn identity(encoding: Encoding, object: &[u8]) -> Result<ObjectMeta, WatchError> {
    let meta = decode_meta(encoding, object)?;
    if meta.uid.is_empty() && meta.name.is_empty() { Err(WatchError::NoMetadata) } else { Ok(meta) }
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

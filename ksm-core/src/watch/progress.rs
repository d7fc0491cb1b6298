//! What one list/watch tells the rest of the program about itself: plain counters that telemetry, readiness and the
//! landing page read whenever they like.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use super::Freshness;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }
}

/// Who filters objects by shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtering {
    /// Nothing to filter, or no list has been answered yet.
    None,
    /// Every object is read and the ones of other shards are thrown away here.
    Local,
    /// The API server sends only the shard's objects.
    ServerSide,
}

/// What a list/watch is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading a list, streamed or paged.
    Listing,
    /// Following changes.
    Watching,
    /// Waiting before the next try, after a failure.
    BackingOff,
}

impl Phase {
    /// The word for it on pages and in logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Listing => "listing",
            Self::Watching => "watching",
            Self::BackingOff => "backing off",
        }
    }
}

/// Counters and state of one list/watch. Times are milliseconds since the Unix epoch, 0 for never.
#[derive(Debug, Default)]
pub struct Progress {
    /// Lists that were read to their end.
    pub lists_succeeded: Count,
    /// Lists that failed, refused ones included.
    pub lists_failed: Count,
    /// Watches that were opened, those included that go on from a streamed list.
    pub watches_succeeded: Count,
    /// Watches that could not be opened.
    pub watches_failed: Count,
    /// Watches that were opened and broke off, otherwise than by the server's time-out or 410.
    pub watches_cut: Count,
    /// Lists after the first that swapped in a new view.
    pub relists: Count,
    /// Objects that did not decode or whose generator failed.
    pub object_errors: Count,
    /// Bytes read from the API server, bodies only.
    pub read_bytes: Count,
    /// Objects received that another shard owns.
    pub foreign_objects: Count,
    /// Events applied.
    pub events: Count,
    /// When the last list was read to its end.
    pub last_list_ms: Count,
    /// When the last event, bookmarks included, arrived.
    pub last_event_ms: Count,
    /// How long the first list took, from the first request to its end, in milliseconds.
    pub sync_duration_ms: Count,
    /// Objects kept, those included that readers are not shown yet.
    pub objects: Count,
    /// Objects that the last list took, counted only where their number is limited.
    pub listed: Count,
    /// How many it may take, 0 for all.
    pub list_limit: Count,
    /// Passes that folded changes into packed text.
    pub folds: Count,
    /// Time they took, in microseconds.
    pub folds_us: Count,
    /// Whether readers see all that was read.
    pub freshness: Freshness,
    synced: AtomicBool,
    resharding: AtomicBool,
    refused: AtomicBool,
    excused: AtomicBool,
    aside: AtomicBool,
    not_found: AtomicBool,
    filtering: AtomicU8,
    phase: AtomicU8,
}

impl Progress {
    /// Whether the initial list has been complete once.
    pub fn is_synced(&self) -> bool {
        self.synced.load(Relaxed)
    }

    /// Whether the API server's last answer to a list was that it may not be read (403) or does not exist (404).
    pub fn is_refused(&self) -> bool {
        self.refused.load(Relaxed)
    }

    /// Whether that answer was 404: the API server does not have the resource in this version.
    pub fn is_not_found(&self) -> bool {
        self.not_found.load(Relaxed)
    }

    /// Whether a list of what its share has gained is not complete yet. What was served before is served still.
    pub fn is_resharding(&self) -> bool {
        self.resharding.load(Relaxed)
    }

    /// Whether readiness need not wait for it: its share is served whole, or it is refused, in a set of automatic
    /// shards for a while.
    pub fn is_settled(&self) -> bool {
        (self.is_synced() && !self.is_resharding()) || self.excused.load(Relaxed)
    }

    /// Whether nobody is served what it keeps, as its configuration is not in use yet.
    pub(crate) fn is_aside(&self) -> bool {
        self.aside.load(Relaxed)
    }

    /// Who filters objects by shard.
    pub fn filtering(&self) -> Filtering {
        match self.filtering.load(Relaxed) {
            0 => Filtering::None,
            1 => Filtering::Local,
            _ => Filtering::ServerSide,
        }
    }

    /// What it is doing.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Relaxed) {
            0 => Phase::Listing,
            1 => Phase::Watching,
            _ => Phase::BackingOff,
        }
    }

    pub(crate) fn set_synced(&self) {
        self.synced.store(true, Relaxed);
        self.resharding.store(false, Relaxed);
        self.set_refused(false);
        self.set_not_found(false);
    }

    pub(crate) fn set_resharding(&self, resharding: bool) {
        self.resharding.store(resharding, Relaxed);
    }

    /// Refused, so that nobody is to wait for it; or not so.
    pub(crate) fn set_refused(&self, refused: bool) {
        self.refused.store(refused, Relaxed);
        self.excused.store(refused, Relaxed);
    }

    /// Refused, but only since a moment ago.
    pub(crate) fn set_refused_lately(&self) {
        self.refused.store(true, Relaxed);
        self.excused.store(false, Relaxed);
    }

    pub(crate) fn set_aside(&self, aside: bool) {
        self.aside.store(aside, Relaxed);
    }

    pub(crate) fn set_not_found(&self, not_found: bool) {
        self.not_found.store(not_found, Relaxed);
    }

    pub(crate) fn set_filtering(&self, filtering: Filtering) {
        self.filtering.store(filtering as u8, Relaxed);
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }
}

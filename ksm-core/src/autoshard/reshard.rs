//! When to serve what while a set is being scaled. Pure: time and observations come in, shares go out.
//!
//! ```text
//!            place changed                 all shards ready, for the grace
//!   settled ──────────────▶ overlapping ──────────────────────────────────▶ settled
//!                            │   ▲ place changed again: what was served
//!                            └───┘ before is kept as well
//! ```
//!
//! A process learns of a change when its API server tells it, and so do its peers. So readiness counts only while the set
//! can be read: after an outage, of which everybody has something to catch up with, the grace starts anew.
//!
//! Invariant: with an overlap, what this process was to serve before a change is part of what it is to serve until every
//! shard of the set was seen ready for the grace without a break.

use std::time::Duration;

use tokio::time::Instant;

use super::set::Seen;
use crate::shard::{Scheme, Shard, Share};
use crate::watch::Shares;

/// What was seen of the set is good for this long; it is read anew more often than that.
const FRESH: Duration = Duration::from_secs(25);

/// Decides what one process of a set serves.
#[derive(Debug)]
pub(super) struct Resharder {
    scheme: Scheme,
    /// How long everybody has to be ready before what was given away is dropped; `None` drops it at once.
    grace: Option<Duration>,
    shares: Shares,
    place: Option<(u32, u32)>,
    /// The set as it was last seen, and when.
    seen: Option<(Seen, Instant)>,
    /// The shard of this process; `None` if the set has no place for it.
    own: Option<Shard>,
    /// Shards that it had before.
    kept: Vec<Shard>,
    ready_since: Option<Instant>,
    /// When the change of place was seen that is being carried through.
    changed: Option<Instant>,
}

/// What became of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing new.
    Same,
    /// First place in the set.
    Placed,
    /// Another place; what changed hands is being taken over.
    Moved,
}

impl Resharder {
    pub(super) fn new(scheme: Scheme, grace: Option<Duration>, shares: Shares) -> Self {
        Self {
            scheme,
            grace,
            shares,
            place: None,
            seen: None,
            own: None,
            kept: Vec::new(),
            ready_since: None,
            changed: None,
        }
    }

    /// Takes in what the set looks like now.
    pub(super) fn observe(&mut self, seen: Seen, now: Instant) -> Step {
        // It is both watched and read now and then, and what is read may come before older news of the watch.
        if self.seen.as_ref().is_some_and(|(last, _)| seen.is_older_than(last)) {
            return Step::Same;
        }
        let last = self.seen.replace((seen.clone(), now)).map(|(_, when)| when);
        if !seen.is_ready() || last.is_some_and(|last| now.duration_since(last) > FRESH) {
            self.ready_since = None;
        }
        let place = (seen.ordinal, seen.total);
        let step = match self.place {
            Some(before) if before == place => return Step::Same,
            Some(_) => Step::Moved,
            None => Step::Placed,
        };
        self.place = Some(place);
        let before = std::mem::replace(&mut self.own, Shard::new(seen.ordinal, seen.total, self.scheme).ok());
        if step == Step::Moved {
            if self.grace.is_some() {
                self.kept.extend(before);
            }
            self.ready_since = None;
            self.changed.get_or_insert(now);
        }
        // What it owns anyway, or what it had twice, is nothing to keep apart.
        let own = Share::union(self.own);
        self.kept.retain(|&shard| !Share::from(shard).is_within(&own));
        self.kept.sort_unstable_by_key(|shard| (shard.total(), shard.ordinal()));
        self.kept.dedup();
        self.assign();
        step
    }

    /// Lets time pass: drops what was given away when it is due. Returns how long a change took that is now done.
    pub(super) fn tick(&mut self, now: Instant) -> Option<Duration> {
        let changed = self.changed?;
        if !self.shares.is_taken() {
            self.ready_since = None;
            return None;
        }
        if !self.kept.is_empty() {
            if !self.seen.as_ref().is_some_and(|(seen, when)| seen.is_ready() && now.duration_since(*when) <= FRESH) {
                self.ready_since = None;
                return None;
            }
            let since = *self.ready_since.get_or_insert(now);
            if now.duration_since(since) < self.grace.unwrap_or_default() {
                return None;
            }
            self.kept.clear();
            self.assign();
            // Done once that is taken as well.
            return None;
        }
        self.changed = None;
        let duration = now.duration_since(changed);
        self.shares.update(|status| {
            status.reshards += 1;
            status.reshard_time += duration;
        });
        Some(duration)
    }

    /// Whether it ever had a place.
    pub(super) fn is_placed(&self) -> bool {
        self.place.is_some()
    }

    /// Whether time is of any concern now.
    pub(super) fn is_resharding(&self) -> bool {
        self.changed.is_some()
    }

    fn assign(&self) {
        let (place, overlapping) = (self.place, !self.kept.is_empty());
        self.shares.update(|status| {
            status.place = place;
            status.overlapping = overlapping;
        });
        self.shares.assign(Share::union(self.own.into_iter().chain(self.kept.iter().copied())));
    }
}

#[cfg(test)]
mod tests;

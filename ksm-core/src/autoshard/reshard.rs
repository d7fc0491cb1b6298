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
//! Who is told to stop leaves itself out of the count, since it is not ready any more, and looks at the pods that the set
//! has a place for one by one: the number of those that are ready counts pods that are to go as well.
//!
//! Invariant: with an overlap, what this process was to serve before a change is part of what it is to serve until every
//! shard of the set was seen ready for the grace without a break, and it does not stop before.

use std::time::Duration;

use tokio::time::Instant;

use super::set::Seen;
use crate::shard::{Scheme, Shard, Share};
use crate::watch::Shares;

/// What was seen of the set is good for this long; it is read anew more often than that.
const FRESH: Duration = Duration::from_secs(15);

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
    /// While a process that is told to stop is to go on: since when nothing has changed about the set.
    calm_since: Option<Instant>,
    /// Since when all others that the set has a place for were seen ready without a break, and when they were last.
    peers: Option<(Instant, Instant)>,
    /// Whether the set is gone, or about to be: nobody takes over.
    dissolved: bool,
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
        shares.set_patience(grace.unwrap_or_default());
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
            calm_since: None,
            peers: None,
            dissolved: false,
        }
    }

    /// Goes on with another grace. What is kept stays so until everybody is ready for that long; without an overlap from
    /// now on, it is dropped.
    pub(super) fn set_grace(&mut self, grace: Option<Duration>) {
        self.grace = grace;
        self.shares.set_patience(grace.unwrap_or_default());
        if grace.is_none() {
            self.let_go();
            if !self.kept.is_empty() {
                self.kept.clear();
                self.assign();
            }
        }
    }

    /// Takes in what the set looks like now.
    pub(super) fn observe(&mut self, seen: Seen, now: Instant) -> Step {
        // It is both watched and read now and then, and what is read may come before older news of the watch.
        if self.seen.as_ref().is_some_and(|(last, _)| seen.is_older_than(last)) {
            return Step::Same;
        }
        let last = self.seen.replace((seen.clone(), now));
        self.dissolved = false;
        let stale = last.as_ref().is_some_and(|(_, when)| now.duration_since(*when) > FRESH);
        if !seen.is_ready() || stale {
            self.ready_since = None;
        }
        let otherwise = last.as_ref().is_some_and(|(last, _)| last.ready != seen.ready);
        if self.calm_since.is_some() && (stale || otherwise) {
            self.calm_since = Some(now);
        }
        // More than one change at once: who knows what the set was in between, and whom that has cost its place.
        if last.is_some_and(|(last, _)| seen.has_skipped(&last)) {
            self.disturb(now);
        }
        if seen.dissolving {
            self.dissolve();
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
            self.disturb(now);
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
        self.settle(now);
        let changed = self.changed?;
        if !self.shares.is_taken() {
            self.ready_since = None;
            return None;
        }
        if !self.kept.is_empty() {
            if !self.fresh(now).is_some_and(Seen::is_ready) {
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
        self.changed.is_some() || self.calm_since.is_some()
    }

    /// The set, if it was seen lately.
    fn fresh(&self, now: Instant) -> Option<&Seen> {
        self.seen.as_ref().filter(|(_, when)| now.duration_since(*when) <= FRESH).map(|(seen, _)| seen)
    }

    /// From now on, who is told to stop is to wait.
    fn disturb(&mut self, now: Instant) {
        if self.grace.is_some() && !self.dissolved {
            self.calm_since = Some(now);
            self.shares.update(|status| status.unsettled = true);
        }
    }

    /// Whoever is told to stop need not wait any more.
    fn let_go(&mut self) {
        self.calm_since = None;
        self.peers = None;
        self.shares.update(|status| status.unsettled = false);
    }

    /// The set is gone: nobody will take over what this process has, so that there is nothing to wait for.
    pub(super) fn dissolve(&mut self) {
        self.dissolved = true;
        self.let_go();
    }

    /// The set, if it is to be told whether all others that it has a place for are ready.
    pub(super) fn wants_peers(&self) -> Option<&Seen> {
        let is_waited_for = self.calm_since.is_some() && self.shares.status().stopping;
        self.seen.as_ref().map(|(seen, _)| seen).filter(|_| is_waited_for)
    }

    /// Takes in whether all others that the set has a place for are ready. If nobody may know (`None`), all that there are
    /// must be, those included that are to go.
    pub(super) fn observe_peers(&mut self, ready: Option<bool>, now: Instant) {
        let counted =
            || self.fresh(now).is_some_and(|seen| seen.current && seen.ready + 1 >= seen.total.max(seen.replicas));
        let since = match self.peers {
            Some((since, last)) if now.duration_since(last) <= FRESH => since,
            _ => now,
        };
        self.peers = ready.unwrap_or_else(counted).then_some((since, now));
    }

    /// Lets go who was told to stop once that can be: the set has been the same for the grace, so that whoever had
    /// something to take over has noticed, and is done with it.
    fn settle(&mut self, now: Instant) {
        let Some(calm_since) = self.calm_since else { return };
        let Some(seen) = self.fresh(now) else {
            self.calm_since = Some(now);
            return;
        };
        let stopping = self.shares.status().stopping;
        let since = match self.peers {
            Some((since, last)) if stopping && now.duration_since(last) <= FRESH => since.max(calm_since),
            _ if stopping => return,
            // As long as it keeps something, it would be missed.
            _ if self.kept.is_empty() && (seen.ordinal < seen.total || seen.is_ready()) => calm_since,
            _ => return,
        };
        if now.duration_since(since) >= self.grace.unwrap_or_default() {
            self.let_go();
        }
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

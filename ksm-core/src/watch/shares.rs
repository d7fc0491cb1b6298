//! Which share the list/watches of a process are to keep, and whether they do.
//!
//! One side assigns, every list/watch follows: see [`Shares`]. While no share is known, none reads anything, so that no
//! wrong one is ever served.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::Progress;
use crate::shard::{Scheme, Shard, Share};

/// Handle of a process's share; clones are the same one.
#[derive(Clone, Debug)]
pub struct Shares(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    assigned: watch::Sender<Assigned>,
    takers: Mutex<Vec<Weak<Taker>>>,
    status: Mutex<Status>,
    /// For how long a resource must be refused before nobody waits for it, in milliseconds.
    patience_ms: AtomicU64,
    /// Somebody wants to know how the set is now.
    asked: Notify,
    /// How often that was found out.
    looks: watch::Sender<u64>,
}

/// A share, and how many were assigned before it.
#[derive(Clone, Debug)]
struct Assigned {
    round: u64,
    share: Option<Share>,
}

/// What self-metrics and pages say about sharding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// How objects are spread.
    pub scheme: Scheme,
    /// Which shard of how many this is; `None` while it is not known. The ordinal is not below the total in a process that
    /// its set has no place for any more.
    pub place: Option<(u32, u32)>,
    /// Whether objects that were given away are served still.
    pub overlapping: bool,
    /// Whether the set was scaled a short while ago, so that a process which stops now may leave objects without an owner.
    pub unsettled: bool,
    /// Whether this process was told to stop, and goes on for the sake of its objects alone.
    pub stopping: bool,
    /// Changes of place that were carried through.
    pub reshards: u64,
    /// Time from each change until nothing more was to do for it, summed up.
    pub reshard_time: Duration,
    /// Objects given away and no longer served.
    pub given_away: u64,
}

impl Status {
    /// Whether its set has no place for it any more.
    pub fn is_leaving(&self) -> bool {
        self.place.is_some_and(|(ordinal, total)| ordinal >= total)
    }
}

impl From<Shard> for Shares {
    fn from(shard: Shard) -> Self {
        Self::fixed(shard)
    }
}

impl Shares {
    /// A share that never changes.
    pub fn fixed(shard: Shard) -> Self {
        let shares = Self::unknown(shard.scheme());
        shares.update(|status| status.place = Some((shard.ordinal(), shard.total())));
        shares.assign(shard.into());
        shares
    }

    /// A share that is to be [assigned](Self::assign).
    pub fn unknown(scheme: Scheme) -> Self {
        let status = Status {
            scheme,
            place: None,
            overlapping: false,
            unsettled: false,
            stopping: false,
            reshards: 0,
            reshard_time: Duration::ZERO,
            given_away: 0,
        };
        let assigned = watch::Sender::new(Assigned { round: 0, share: None });
        Self(Arc::new(Inner {
            assigned,
            takers: Mutex::default(),
            status: Mutex::new(status),
            patience_ms: AtomicU64::new(0),
            asked: Notify::new(),
            looks: watch::Sender::new(0),
        }))
    }

    /// Tells every list/watch to keep this share from now on.
    pub fn assign(&self, share: Share) {
        self.0.assigned.send_modify(|assigned| {
            assigned.round += 1;
            assigned.share = Some(share);
        });
    }

    /// The share that was assigned last.
    #[cfg(test)]
    pub(crate) fn assigned(&self) -> Option<Share> {
        self.0.assigned.borrow().share.clone()
    }

    /// Whether every list/watch serves the share that was assigned last. Nobody waits for those that the API server
    /// refuses, nor for those of a configuration that is not in use yet.
    pub fn is_taken(&self) -> bool {
        let round = self.0.assigned.borrow().round;
        let mut takers = lock(&self.0.takers);
        takers.retain(|taker| taker.strong_count() > 0);
        takers
            .iter()
            .filter_map(Weak::upgrade)
            .all(|taker| taker.has(round) || taker.excused.load(Ordering::Acquire) || taker.progress.is_aside())
    }

    /// For how long a resource must be refused before nobody waits for it; not at all unless set.
    pub(crate) fn set_patience(&self, patience: Duration) {
        let ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        self.0.patience_ms.store(ms, Ordering::Relaxed);
    }

    /// How sharding stands.
    pub fn status(&self) -> Status {
        lock(&self.0.status).clone()
    }

    /// Changes what is said about sharding.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Status)) {
        change(&mut lock(&self.0.status));
    }

    /// Has the assigning side look at its set, and waits until it has, or no longer than `limit`.
    pub(crate) async fn ask(&self, limit: Duration) {
        let mut looks = self.0.looks.subscribe();
        self.0.asked.notify_one();
        // Late is as good as never to who asks.
        let _ = timeout(limit, looks.changed()).await;
    }

    /// The assigning side: waits until somebody asks.
    pub(crate) async fn asked(&self) {
        self.0.asked.notified().await;
    }

    /// The assigning side: it has read its set and said what follows.
    pub(crate) fn looked(&self) {
        self.0.looks.send_modify(|looks| *looks += 1);
    }

    /// The side of a list/watch.
    pub(super) fn follow(&self, progress: Arc<Progress>) -> (Follower, Arc<Taker>) {
        let (shares, round, excused) = (self.clone(), AtomicU64::new(0), AtomicBool::new(false));
        let taker = Arc::new(Taker { shares, progress, round, excused });
        lock(&self.0.takers).push(Arc::downgrade(&taker));
        (Follower(self.0.assigned.subscribe()), taker)
    }
}

/// Nothing that is done under these locks can leave the value half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a list/watch says about the share it was told to keep.
#[derive(Debug)]
pub(super) struct Taker {
    /// Keeps the assigning side alive: a fixed share has no other holder.
    shares: Shares,
    progress: Arc<Progress>,
    round: AtomicU64,
    excused: AtomicBool,
}

impl Taker {
    fn has(&self, round: u64) -> bool {
        self.round.load(Ordering::Acquire) >= round
    }

    /// The share of that round is served.
    pub(super) fn taken(&self, round: u64) {
        self.round.store(round, Ordering::Release);
    }

    /// For how long it must be refused until it is excused.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_millis(self.shares.0.patience_ms.load(Ordering::Relaxed))
    }

    /// Whether nobody is to wait for it, since it may not read its resource.
    pub(super) fn excuse(&self, excused: bool) {
        self.excused.store(excused, Ordering::Release);
    }

    /// So many objects that were given away are no longer served.
    pub(super) fn dropped(&self, objects: usize) {
        // Nobody was served these.
        if self.progress.is_aside() {
            return;
        }
        self.shares.update(|status| status.given_away += objects as u64);
    }
}

/// Learns what to keep.
#[derive(Clone, Debug)]
pub(super) struct Follower(watch::Receiver<Assigned>);

impl Follower {
    /// The share to keep and its round; waits until one is known.
    pub(super) async fn current(&mut self) -> (u64, Share) {
        loop {
            if let Assigned { round, share: Some(share) } = self.0.borrow_and_update().clone() {
                return (round, share);
            }
            self.changed().await;
        }
    }

    /// Waits until another share is to be kept. Cancel-safe.
    pub(super) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_is_not_in_use_yet_is_not_waited_for() {
        let (shares, progress) = (Shares::unknown(Scheme::Range), Arc::<Progress>::default());
        let (_follower, _taker) = shares.follow(Arc::clone(&progress));
        shares.assign(Share::NOTHING);
        assert!(!shares.is_taken());
        progress.set_aside(true);
        assert!(shares.is_taken());
        progress.set_aside(false);
        assert!(!shares.is_taken(), "once in use it counts");
    }

    #[tokio::test]
    async fn a_share_is_taken_when_every_list_watch_says_so() {
        let shares = Shares::unknown(Scheme::Range);
        let (mut first, first_taker) = shares.follow(Arc::default());
        let (_second, second_taker) = shares.follow(Arc::default());
        let share = Share::from(Shard::new(1, 2, Scheme::Range).unwrap());
        shares.assign(share.clone());
        assert!(!shares.is_taken());
        assert_eq!(first.current().await, (1, share));
        first_taker.taken(1);
        assert!(!shares.is_taken());
        second_taker.excuse(true);
        assert!(shares.is_taken());
        second_taker.excuse(false);
        drop(second_taker);
        assert!(shares.is_taken(), "one that has ended is not waited for");
        shares.assign(Share::NOTHING);
        assert!(!shares.is_taken());
    }
}

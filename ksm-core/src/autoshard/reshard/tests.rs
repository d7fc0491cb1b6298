//! Shares over time, as a set is scaled.

use super::*;

const GRACE: Duration = Duration::from_secs(30);

fn seen(ordinal: u32, total: u32, ready: u32) -> Seen {
    let edition = ("u".to_owned(), 1);
    Seen { ordinal, first: 0, total, replicas: total.max(ready), ready, current: true, dissolving: false, edition }
}

fn share(shards: &[(u32, u32)]) -> Option<Share> {
    Some(Share::union(shards.iter().map(|&(o, t)| Shard::new(o, t, Scheme::Range).unwrap())))
}

/// One process and its clock.
struct Process {
    resharder: Resharder,
    shares: Shares,
    now: Instant,
    /// Whether the other pods of the set are ready, as far as that may be known.
    peers: Option<bool>,
}

impl Process {
    fn new(grace: Option<Duration>) -> Self {
        let shares = Shares::unknown(Scheme::Range);
        Self {
            resharder: Resharder::new(Scheme::Range, grace, shares.clone()),
            shares,
            now: Instant::now(),
            peers: Some(false),
        }
    }

    fn see(&mut self, seen: Seen) -> Step {
        self.resharder.observe(seen, self.now)
    }

    /// Tells it to stop.
    fn stop(&mut self) {
        self.shares.update(|status| status.stopping = true);
        self.look(self.peers);
    }

    /// The other pods of the set are ready from now on, or not.
    fn look(&mut self, peers: Option<bool>) {
        self.peers = peers;
        if self.resharder.wants_peers().is_some() {
            self.resharder.observe_peers(peers, self.now);
        }
    }

    fn is_unsettled(&self) -> bool {
        self.shares.status().unsettled
    }

    /// Lets time pass while the set, read every few seconds, stays the same.
    fn pass(&mut self, duration: Duration) -> Option<Duration> {
        let mut done = None;
        let end = self.now + duration;
        loop {
            done = self.resharder.tick(self.now).or(done);
            if self.now >= end {
                return done;
            }
            self.now = (self.now + Duration::from_secs(5)).min(end);
            if let Some((seen, _)) = self.resharder.seen.clone() {
                self.see(seen);
                self.look(self.peers);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_served_is_kept_until_all_were_ready_for_the_grace() {
    let mut process = Process::new(Some(GRACE));
    assert_eq!(process.see(seen(1, 2, 2)), Step::Placed);
    assert_eq!((process.shares.assigned(), process.resharder.is_resharding()), (share(&[(1, 2)]), false));
    assert_eq!(process.see(seen(1, 4, 2)), Step::Moved);
    assert_eq!(process.shares.assigned(), share(&[(1, 4), (1, 2)]));
    assert!(process.shares.status().overlapping);
    assert_eq!(process.pass(GRACE * 10), None, "the new ones are not ready");
    assert_eq!(process.see(seen(1, 4, 4)), Step::Same);
    process.pass(GRACE / 2);
    // One of them falls back: the grace starts anew.
    process.see(seen(1, 4, 3));
    process.see(seen(1, 4, 4));
    process.pass(GRACE - Duration::from_secs(1));
    assert_eq!(process.shares.assigned(), share(&[(1, 4), (1, 2)]));
    process.pass(Duration::from_secs(1));
    assert_eq!(process.shares.assigned(), share(&[(1, 4)]));
    assert_eq!(process.pass(Duration::ZERO), Some(GRACE * 10 + GRACE / 2 + GRACE));
    let status = process.shares.status();
    assert_eq!((status.reshards, status.overlapping, status.place), (1, false, Some((1, 4))));
}

#[tokio::test(start_paused = true)]
async fn changes_in_a_row_keep_all_that_was_served_and_nothing_twice() {
    let mut process = Process::new(Some(GRACE));
    for total in [1, 2, 4, 3, 1] {
        process.see(seen(0, total, total));
        assert_eq!(process.shares.assigned(), share(&[(0, 1)]), "{total}");
    }
    // It is where it began: nothing to drop.
    assert!(!process.shares.status().overlapping);
    let mut process = Process::new(Some(GRACE));
    for (total, expected) in [
        (2, share(&[(1, 2)])),
        (4, share(&[(1, 4), (1, 2)])),
        (3, share(&[(1, 4), (1, 2), (1, 3)])),
        (1, share(&[(1, 4), (1, 2), (1, 3)])),
    ] {
        process.see(seen(1, total, total));
        assert_eq!(process.shares.assigned(), expected, "{total}");
    }
    assert!(process.shares.status().is_leaving());
    process.pass(GRACE);
    assert_eq!(process.shares.assigned(), Some(Share::NOTHING), "a shard that is not of the set ends up with nothing");
}

#[tokio::test(start_paused = true)]
async fn without_an_overlap_the_new_shard_is_all_there_is() {
    let mut process = Process::new(None);
    process.see(seen(0, 1, 1));
    process.see(seen(0, 2, 1));
    assert_eq!((process.shares.assigned(), process.shares.status().overlapping), (share(&[(0, 2)]), false));
    assert_eq!(process.pass(Duration::ZERO), Some(Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_set_with_shards_still_to_go_is_not_ready_before_they_are() {
    let mut process = Process::new(Some(GRACE));
    process.see(seen(1, 4, 4));
    // Shard 0 lists what it gained and is not ready; 2 and 3, which are to go, still are.
    let condemned = Seen { replicas: 4, ..seen(1, 2, 3) };
    process.see(condemned.clone());
    process.pass(GRACE * 2);
    assert!(process.shares.status().overlapping);
    // What the status says of the set as it was before says nothing.
    process.see(Seen { current: false, ready: 4, ..condemned });
    process.pass(GRACE * 2);
    assert!(process.shares.status().overlapping);
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_the_grace_starts_anew() {
    let mut process = Process::new(Some(GRACE));
    process.see(seen(1, 2, 2));
    process.see(seen(1, 4, 4));
    process.pass(GRACE / 3);
    // Nothing can be read meanwhile, and the others cannot list.
    for _ in 0..60 {
        process.now += Duration::from_secs(1);
        process.resharder.tick(process.now);
    }
    assert!(process.shares.status().overlapping);
    process.see(seen(1, 4, 4));
    process.pass(GRACE - Duration::from_secs(1));
    assert!(process.shares.status().overlapping);
    process.pass(Duration::from_secs(1));
    assert!(!process.shares.status().overlapping);
}

#[tokio::test(start_paused = true)]
async fn old_news_of_the_same_set_is_no_news() {
    let mut process = Process::new(Some(GRACE));
    let edition = |uid: &str, generation| (uid.to_owned(), generation);
    process.see(Seen { edition: edition("u", 3), ..seen(0, 2, 2) });
    assert_eq!(process.see(Seen { edition: edition("u", 2), ..seen(0, 4, 4) }), Step::Same);
    assert_eq!(process.shares.assigned(), share(&[(0, 2)]));
    // A set made anew counts from the start.
    assert_eq!(process.see(Seen { edition: edition("v", 1), ..seen(0, 4, 4) }), Step::Moved);
}

#[tokio::test(start_paused = true)]
async fn who_is_told_to_stop_waits_until_the_set_is_at_rest() {
    let mut process = Process::new(Some(GRACE));
    process.see(seen(3, 4, 4));
    assert!(!process.is_unsettled(), "a restart is none of its business");
    // Out of the set, and as many are ready as are to stay: one of them is to go as well.
    process.see(Seen { replicas: 4, ..seen(3, 2, 2) });
    process.stop();
    process.pass(GRACE * 3);
    assert!(process.is_unsettled());
    process.look(Some(true));
    process.pass(GRACE - Duration::from_secs(1));
    assert!(process.is_unsettled());
    process.pass(Duration::from_secs(1));
    assert!(!process.is_unsettled());
    // Back in the set: it is to go all the same, and those that hold its objects may still be listing them.
    process.see(Seen { replicas: 4, ..seen(3, 4, 2) });
    process.pass(GRACE / 2);
    process.see(Seen { replicas: 4, ..seen(3, 4, 3) });
    process.pass(GRACE - Duration::from_secs(1));
    assert!(process.is_unsettled());
    process.pass(Duration::from_secs(1));
    assert!(!process.is_unsettled());
    // Two changes at once: it may have been out in between.
    process.see(Seen { edition: ("u".to_owned(), 3), ..seen(3, 4, 3) });
    assert!(process.is_unsettled());
}

#[tokio::test(start_paused = true)]
async fn who_keeps_something_waits_for_the_new_ones_and_not_for_itself() {
    let mut process = Process::new(Some(GRACE));
    process.see(seen(0, 2, 2));
    process.see(seen(0, 4, 2));
    // The new ones wait for a node, and nothing changes for long.
    process.pass(GRACE * 5);
    assert!(process.is_unsettled());
    process.stop();
    process.see(seen(0, 4, 1));
    process.pass(GRACE * 5);
    assert!(process.is_unsettled());
    // All are ready but itself.
    process.see(seen(0, 4, 3));
    process.look(Some(true));
    process.pass(GRACE);
    assert!(!process.is_unsettled());
    assert_eq!(process.shares.assigned(), share(&[(0, 2)]), "the others go on waiting for its successor");
}

#[tokio::test(start_paused = true)]
async fn without_a_look_at_the_pods_all_that_there_are_must_be_ready() {
    let mut process = Process::new(Some(GRACE));
    process.see(seen(3, 4, 4));
    process.see(Seen { replicas: 4, ..seen(3, 2, 2) });
    process.peers = None;
    process.stop();
    process.pass(GRACE * 3);
    assert!(process.is_unsettled(), "one of the two that are ready may be to go");
    process.see(Seen { replicas: 4, ..seen(3, 2, 3) });
    process.look(None);
    process.pass(GRACE);
    assert!(!process.is_unsettled());
}

#[tokio::test(start_paused = true)]
async fn nobody_takes_over_from_a_set_that_is_gone() {
    for at_once in [true, false] {
        let mut process = Process::new(Some(GRACE));
        process.see(seen(0, 2, 2));
        process.see(seen(0, 4, 2));
        assert!(process.is_unsettled());
        if at_once {
            process.resharder.dissolve();
        } else {
            process.see(Seen { dissolving: true, ..seen(0, 4, 2) });
        }
        process.stop();
        assert!(!process.is_unsettled() && process.shares.status().overlapping);
        // Made anew.
        process.see(Seen { edition: ("v".to_owned(), 1), ..seen(0, 4, 2) });
        assert!(process.is_unsettled());
    }
}

#[tokio::test(start_paused = true)]
async fn another_grace_counts_for_what_is_kept_already() {
    let mut process = Process::new(Some(GRACE));
    process.see(seen(0, 2, 2));
    process.see(seen(0, 4, 2));
    process.resharder.set_grace(Some(GRACE * 2));
    assert_eq!(process.shares.assigned(), share(&[(0, 2)]));
    process.see(seen(0, 4, 4));
    process.pass(GRACE);
    assert!(process.shares.status().overlapping);
    process.resharder.set_grace(None);
    assert_eq!(process.shares.assigned(), share(&[(0, 4)]));
    assert!(!process.shares.status().overlapping && !process.is_unsettled());
}

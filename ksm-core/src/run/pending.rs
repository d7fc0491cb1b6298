//! A new configuration on its way: listed aside, and what still keeps it from taking the place of the one in use.
//!
//! Invariant: nothing that is served goes missing by a change of configuration, unless the new one does not ask for it.
//! A list that is complete in the deployment in use must be complete in the new one as well; that the API server refuses
//! it now (a wrong token, a right that is not there) is no reason to serve nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::READINESS_PAUSE;
use super::deploy::Deployment;
use super::reload::Change;
use crate::telemetry::Files;
use crate::watch::Progress;

/// How long a new configuration may take before it is said to have failed. It is tried on and on all the same.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a list may fail before that is said: credentials that are wrong fail at once, and so does an API server that
/// is about to be well again.
const TRIES: u64 = 3;

/// A list/watch, as far as it is measured against that of another configuration.
pub(super) struct List {
    pub(super) plural: String,
    /// `None` for all namespaces at once.
    pub(super) namespace: Option<String>,
    pub(super) progress: Arc<Progress>,
}

impl List {
    /// Whether some object could be in both.
    fn overlaps(&self, other: &Self) -> bool {
        let both = self.namespace.as_ref().zip(other.namespace.as_ref());
        self.plural == other.plural && both.is_none_or(|(one, other)| one == other)
    }

    /// Whether its share is listed whole.
    fn is_complete(&self) -> bool {
        self.progress.is_synced() && !self.progress.is_resharding()
    }
}

/// A deployment that is not in use yet.
pub(super) struct Pending {
    pub(super) deployment: Deployment,
    pub(super) change: Change,
    waiting: Waiting,
}

impl Pending {
    /// A deployment that has just been started.
    pub(super) fn new(deployment: Deployment, change: Change) -> Self {
        info!("new configuration, listing aside");
        deployment.lists.iter().for_each(|list| list.progress.set_aside(true));
        Self { deployment, change, waiting: Waiting { since: Instant::now(), told: false } }
    }
}

/// What became of a new deployment.
pub(super) enum Outcome {
    /// It can take the place of the one in use.
    Complete,
    /// The task of that name ended, which none should.
    Ended(String),
}

/// Waits for the new deployment, for ever without one; tells in `files` what it is waiting for.
pub(super) async fn outcome(next: Option<&mut Pending>, current: &[List], files: &Files) -> Outcome {
    let Some(Pending { deployment, change, waiting }) = next else { return std::future::pending().await };
    tokio::select! {
        name = deployment.tasks.ended() => Outcome::Ended(name),
        () = waiting.complete(&deployment.lists, current, files, || change.failed(files)) => Outcome::Complete,
    }
}

/// For how long has been waited.
struct Waiting {
    since: Instant,
    /// Whether it was said that this is too long.
    told: bool,
}

impl Waiting {
    async fn complete(&mut self, next: &[List], current: &[List], files: &Files, failed: impl Fn()) {
        loop {
            let Missing { lists, refused, failing } = Missing::of(next, current);
            let names = lists.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let done = lists.is_empty();
            files.set_waiting(lists);
            if done {
                return;
            }
            let why = match self.since.elapsed() >= PATIENCE {
                _ if refused => Some("the API server refuses what is served now"),
                _ if failing => Some("its lists fail"),
                true => Some("its lists are not complete"),
                false => None,
            };
            if let Some(why) = why.filter(|_| !self.told) {
                self.told = true;
                failed();
                warn!(waiting = names, "new configuration not in use: {why}; trying on, the one before stays served");
            }
            sleep(READINESS_PAUSE).await;
        }
    }
}

/// What keeps a deployment from taking the place of another.
#[derive(Debug, Default, PartialEq, Eq)]
struct Missing {
    /// How many list/watches of each resource.
    lists: BTreeMap<String, usize>,
    /// Whether one of them is refused though it is served now.
    refused: bool,
    /// Whether one of them has failed again and again.
    failing: bool,
}

impl Missing {
    fn of(next: &[List], current: &[List]) -> Self {
        let mut missing = Self::default();
        for list in next {
            let is_served = current.iter().any(|other| other.overlaps(list) && other.progress.is_synced());
            let is_there = if is_served { list.is_complete() } else { list.progress.is_settled() };
            if is_there {
                continue;
            }
            missing.refused |= is_served && list.progress.is_refused();
            missing.failing |= list.progress.lists_failed.get() >= TRIES;
            *missing.lists.entry(list.plural.clone()).or_default() += 1;
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn list(plural: &str, namespace: Option<&str>, set: impl Fn(&Progress)) -> List {
        let progress = Arc::new(Progress::default());
        set(&progress);
        List { plural: plural.to_owned(), namespace: namespace.map(str::to_owned), progress }
    }

    fn refused(progress: &Progress) {
        progress.set_refused(true);
    }

    fn new(_: &Progress) {}

    #[test]
    fn what_is_served_must_be_complete_and_the_rest_settled() {
        let missing = |next: &[List], current: &[List]| {
            let Missing { lists, refused, .. } = Missing::of(next, current);
            (lists.into_iter().collect::<Vec<_>>(), refused)
        };
        let pods = |count| vec![("pods".to_owned(), count)];
        let (all, a, b) = (None, Some("a"), Some("b"));
        let synced = Progress::set_synced;
        // Refused although it is served: whatever the namespaces, as long as they overlap.
        for (ours, theirs) in [(all, all), (a, a), (all, a), (a, all)] {
            let next = [list("pods", theirs, refused)];
            assert_eq!(missing(&next, &[list("pods", ours, synced)]), (pods(1), true));
        }
        assert_eq!(missing(&[list("pods", b, refused)], &[list("pods", a, synced)]), (vec![], false));
        assert_eq!(missing(&[list("nodes", all, refused)], &[list("pods", all, synced)]), (vec![], false));
        // Refused now as before is as good as it was.
        assert_eq!(missing(&[list("pods", all, refused)], &[list("pods", all, refused)]), (vec![], false));
        // What is not there yet is waited for in any case, and what is not asked for any more is not.
        assert_eq!(missing(&[list("pods", a, new), list("pods", b, new)], &[]), (pods(2), false));
        assert_eq!(missing(&[list("pods", all, synced)], &[list("nodes", all, synced)]), (vec![], false));
        let regaining = |progress: &Progress| {
            progress.set_synced();
            progress.set_resharding(true);
        };
        assert_eq!(missing(&[list("pods", all, regaining)], &[list("pods", all, synced)]), (pods(1), false));
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_told_once_and_tried_on() {
        let (current, next) = ([list("pods", None, Progress::set_synced)], [list("pods", None, new)]);
        let (files, failures) = (Files::default(), Cell::new(0));
        let mut waiting = Waiting { since: Instant::now(), told: false };
        let started = Instant::now();
        // Again and again from the start, as select does with it.
        for (seconds, told) in [(1, 0), (58, 0), (2, 1), (600, 1)] {
            let failed = || failures.set(failures.get() + 1);
            let complete = waiting.complete(&next, &current, &files, failed);
            let wait = tokio::time::timeout(Duration::from_secs(seconds), complete);
            assert!(wait.await.is_err());
            assert_eq!(failures.get(), told, "after {:?}", started.elapsed());
        }
        next[0].progress.set_synced();
        waiting.complete(&next, &current, &files, || failures.set(9)).await;
        assert_eq!(failures.get(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_of_what_is_served_is_told_at_once_and_other_failures_when_they_repeat() {
        let failing = |times| move |progress: &Progress| progress.lists_failed.add(times);
        for (next, told) in [
            (list("pods", None, refused), 1),
            (list("pods", None, failing(TRIES)), 1),
            (list("nodes", None, failing(TRIES)), 1),
            (list("pods", None, failing(TRIES - 1)), 0),
        ] {
            let (current, next) = ([list("pods", None, Progress::set_synced)], [next]);
            let (files, failures) = (Files::default(), Cell::new(0));
            let mut waiting = Waiting { since: Instant::now(), told: false };
            let complete = waiting.complete(&next, &current, &files, || failures.set(failures.get() + 1));
            assert!(tokio::time::timeout(Duration::from_secs(1), complete).await.is_err());
            assert_eq!(failures.get(), told);
        }
    }
}

//! Whether readers see all that a list/watch has read, and how they ask to.
//!
//! Showing readers a change to packed text takes time in proportion to the blocks it touches, whatever the number of
//! changes to each. So changes gather until a reader is about to look.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

/// How long a reader waits for a writer; what was shown before is better than no answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shared by the writer of a store and all who read it.
#[derive(Debug)]
pub struct Freshness {
    origin: Instant,
    /// When the oldest change that readers do not see was read, in milliseconds since `origin` plus one; 0 for none.
    unseen_since: AtomicU64,
    wanted: Notify,
    /// Counts how often readers were shown something.
    shown: watch::Sender<u64>,
}

impl Default for Freshness {
    fn default() -> Self {
        let shown = watch::Sender::new(0);
        Self { origin: Instant::now(), unseen_since: AtomicU64::new(0), wanted: Notify::new(), shown }
    }
}

impl Freshness {
    /// For how long there have been changes that readers do not see; `None` if they see all.
    pub fn behind(&self) -> Option<Duration> {
        let since = self.unseen_since.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.origin.elapsed().saturating_sub(Duration::from_millis(since)))
    }

    /// Waits until readers see all but changes of less than `tolerance` ago, but not long. True if they do.
    pub async fn ensure(&self, tolerance: Duration) -> bool {
        let mut shown = self.shown.subscribe();
        if self.behind().is_none_or(|behind| behind < tolerance) {
            return true;
        }
        self.wanted.notify_one();
        matches!(timeout(PATIENCE, shown.changed()).await, Ok(Ok(())))
    }

    /// The writer's side: notes that a change was read that readers do not see yet.
    pub(crate) fn note_change(&self) {
        if self.unseen_since.load(Ordering::Relaxed) == 0 {
            let now = u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
            self.unseen_since.store(now + 1, Ordering::Release);
        }
    }

    /// The writer's side: notes that readers see all that was read.
    pub(crate) fn note_shown(&self) {
        self.unseen_since.store(0, Ordering::Release);
        self.shown.send_modify(|count| *count += 1);
    }

    /// The writer's side: waits until a reader wants to see what was read.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn readers_who_see_all_do_not_wait() {
        let freshness = Freshness::default();
        assert!(freshness.ensure(Duration::ZERO).await);
        assert_eq!(freshness.behind(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_tolerated_until_it_is_too_old() {
        let freshness = Freshness::default();
        freshness.note_change();
        tokio::time::advance(Duration::from_millis(900)).await;
        freshness.note_change();
        assert_eq!(freshness.behind(), Some(Duration::from_millis(900)));
        assert!(freshness.ensure(Duration::from_secs(1)).await);
        tokio::time::advance(Duration::from_millis(200)).await;
        assert!(!freshness.ensure(Duration::from_secs(1)).await, "no writer answers");
    }

    #[tokio::test(start_paused = true)]
    async fn a_writer_that_shows_all_wakes_every_reader() {
        let freshness = Arc::new(Freshness::default());
        freshness.note_change();
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let freshness = Arc::clone(&freshness);
                tokio::spawn(async move { freshness.ensure(Duration::ZERO).await })
            })
            .collect();
        freshness.wanted().await;
        freshness.note_shown();
        for reader in readers {
            assert!(reader.await.expect("no reader panics"));
        }
        assert_eq!(freshness.behind(), None);
    }
}

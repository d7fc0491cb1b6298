//! Pauses between tries: growing, with jitter, and forgotten after a success that lasted.

use std::time::Duration;

use tokio::time::Instant;

/// As client-go's reflectors: 0.8 s doubling to 30 s.
const FIRST: Duration = Duration::from_millis(800);
const MAX: Duration = Duration::from_secs(30);

/// A connection that held this long ends the series of failures before it.
const RESET_AFTER: Duration = Duration::from_secs(60);

/// Pauses of one list/watch.
#[derive(Debug)]
pub(crate) struct Backoff {
    failures: u32,
    last: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { failures: 0, last: None }
    }

    /// Forgets all failures.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// How long to wait after one more failure; never less than what the API server asked for.
    pub(crate) fn next(&mut self, retry_after: Option<Duration>) -> Duration {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) >= RESET_AFTER + MAX) {
            self.failures = 0;
        }
        self.last = Some(now);
        let pause = FIRST.saturating_mul(1 << self.failures.min(10)).min(MAX);
        self.failures += 1;
        // Between half and all of it, so that clients that failed together do not come back together.
        let jittered = pause.mul_f64(0.5 + 0.5 * fastrand::f64());
        jittered.max(retry_after.unwrap_or_default().min(MAX * 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_limit_and_start_over_after_a_long_success() {
        let mut backoff = Backoff::new();
        let mut pause = |n: u32| {
            let full = FIRST.saturating_mul(1 << n).min(MAX);
            let pause = backoff.next(None);
            assert!(pause >= full / 2 && pause <= full, "{n}: {pause:?}");
        };
        (0..8).for_each(&mut pause);
        tokio::time::advance(RESET_AFTER + MAX).await;
        assert!(backoff.next(None) <= FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_server_may_ask_for_a_longer_pause_within_reason() {
        let mut backoff = Backoff::new();
        assert_eq!(backoff.next(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(backoff.next(Some(Duration::from_secs(86_400))), MAX * 4);
    }
}

//! Polling with a deadline.
//!
//! Invariant: a wait ends at its deadline, on Ctrl-C or with a result, whichever comes first.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::interrupt;

/// Time between two looks at a process, file or port on this machine.
const INTERVAL: Duration = Duration::from_millis(50);

/// Calls `probe` until it gives a value, at least once. `what` completes the sentence "… did not happen within 30 s".
pub fn until<T>(what: &str, limit: Duration, mut probe: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        interrupt::check()?;
        if let Some(value) = probe()? {
            return Ok(value);
        }
        if Instant::now() >= deadline {
            bail!("{what}: did not happen within {} s", limit.as_secs());
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Calls `check` until it succeeds, at least once; fails with what it said last.
pub fn until_ok<T>(what: &str, limit: Duration, mut check: impl FnMut() -> Result<T>) -> Result<T> {
    let mut last = None;
    let outcome = until(what, limit, || match check() {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            last = Some(error);
            Ok(None)
        }
    });
    outcome.map_err(|error| match last {
        Some(last) => last.context(error),
        None => error,
    })
}

/// Waits until a moment.
pub fn until_moment(moment: Instant) -> Result<()> {
    loop {
        interrupt::check()?;
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(INTERVAL));
    }
}

/// Waits for one polling interval.
pub fn pause() -> Result<()> {
    std::thread::sleep(INTERVAL);
    interrupt::check()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_ends_the_wait_after_a_last_look() {
        let mut looks = 0;
        let outcome: Result<()> = until("a miracle", Duration::ZERO, || {
            looks += 1;
            Ok(None)
        });
        assert_eq!(looks, 1);
        assert!(outcome.unwrap_err().to_string().contains("a miracle"));
    }

    #[test]
    fn what_fails_at_first_is_tried_again_and_what_fails_for_ever_says_why() {
        let mut tries = 0;
        let mut third_time = || {
            tries += 1;
            if tries < 3 {
                bail!("try {tries}")
            }
            Ok(tries)
        };
        assert_eq!(until_ok("luck", Duration::from_secs(60), &mut third_time).unwrap(), 3);
        let outcome: Result<()> = until_ok("a miracle", Duration::ZERO, || bail!("none in sight"));
        assert_eq!(format!("{:#}", outcome.unwrap_err()), "a miracle: did not happen within 0 s: none in sight");
    }
}

//! Ctrl-C and SIGTERM as a flag, so that every exit path unwinds and stops the children it started.
//!
//! Invariant: nothing waits without asking this flag; see `wait::until`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Turns SIGINT and SIGTERM into the flag. Call once, first thing.
pub fn install() -> Result<()> {
    let flag = FLAG.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(flag)).context("cannot listen for signals")?;
    }
    Ok(())
}

/// Whether the user asked to stop.
pub fn requested() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// An error once the user asked to stop.
pub fn check() -> Result<()> {
    if requested() {
        bail!("interrupted");
    }
    Ok(())
}

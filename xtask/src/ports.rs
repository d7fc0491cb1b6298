//! Free TCP ports on 127.0.0.1 for programs that cannot pick one themselves.
//!
//! Invariant: a port is handed out once a run, and lies below the range the kernel takes for outgoing connections, so
//! that a server that was killed finds its port free when it comes back.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Context, Result};

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port that nothing listens on at this moment.
pub fn free() -> Result<u16> {
    // Runs that share a machine start at different places.
    let start = u16::try_from(std::process::id() % u32::from(COUNT)).expect("below COUNT");
    (0..COUNT)
        .map(|_| {
            let step = NEXT.fetch_add(1, Ordering::Relaxed);
            FIRST + (u32::from(start) * 37 + u32::from(step)).rem_euclid(u32::from(COUNT)) as u16
        })
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .with_context(|| format!("no free port on 127.0.0.1 from {FIRST} on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_differ() {
        let (a, b) = (free().unwrap(), free().unwrap());
        assert_ne!(a, b);
        TcpListener::bind(("127.0.0.1", a)).unwrap();
    }
}

//! Responses in progress, so few that clients which read slowly cannot hold on to much.
//!
//! Each is made from the view it started with, and the more the cluster changes meanwhile, the less of it is shared with
//! newer views. Where there are too many, the oldest is cut: a scrape takes a second, a client that reads slowly a minute.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Scrapes in progress at most: parts included, several times what the servers of one Prometheus installation ask for at
/// the same moment.
const MOST: usize = 64;

/// Cuts the connection whose request carries it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cut(Arc<Notify>);

impl Cut {
    /// Waits until the connection is to end.
    pub(super) async fn wanted(&self) {
        self.0.notified().await;
    }
}

/// Responses in progress, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    present: Mutex<Present>,
}

#[derive(Debug, Default)]
struct Present {
    responses: VecDeque<(u64, Cut)>,
    next: u64,
}

/// A response's place; it is given up when this is dropped.
pub(super) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
}

impl Crowd {
    /// A place for another response, for which the oldest may have to go.
    pub(super) fn enter(self: &Arc<Self>, cut: Cut) -> Place {
        let mut present = self.lock();
        if present.responses.len() >= MOST
            && let Some((_, oldest)) = present.responses.pop_front()
        {
            oldest.0.notify_one();
        }
        let number = present.next;
        present.next += 1;
        present.responses.push_back((number, cut));
        drop(present);
        Place { crowd: Arc::clone(self), number }
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.lock().responses.retain(|(number, _)| *number != self.number);
    }
}

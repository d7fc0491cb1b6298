//! The swap between a store's one writer and its readers.
//!
//! Invariant: a view is complete before it is stored here, and nobody changes it after. Neither side waits for the
//! other.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::Snapshot;

/// Where a writer puts the newest view and readers find it; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Published(Arc<Cell>);

#[cfg(not(test))]
type Cell = ArcSwap<Snapshot>;

/// Tests may run under a scheduler that tries many orders of steps; it must know of each load and store.
#[cfg(test)]
#[derive(Debug)]
enum Cell {
    Swap(ArcSwap<Snapshot>),
    Scheduled(shuttle::sync::Mutex<Arc<Snapshot>>),
}

impl Published {
    pub(super) fn new(first: Snapshot) -> Self {
        let swap = ArcSwap::from_pointee(first);
        #[cfg(test)]
        let swap = Cell::Swap(swap);
        Self(Arc::new(swap))
    }

    /// The same for threads of a scheduler.
    #[cfg(test)]
    pub(super) fn scheduled(first: Snapshot) -> Self {
        Self(Arc::new(Cell::Scheduled(shuttle::sync::Mutex::new(Arc::new(first)))))
    }

    pub(super) fn load(&self) -> Arc<Snapshot> {
        self.0.load_full()
    }

    pub(super) fn store(&self, view: Arc<Snapshot>) {
        self.0.store(view);
    }
}

#[cfg(test)]
impl Cell {
    fn load_full(&self) -> Arc<Snapshot> {
        match self {
            Self::Swap(swap) => swap.load_full(),
            Self::Scheduled(view) => Arc::clone(&view.lock().unwrap()),
        }
    }

    fn store(&self, view: Arc<Snapshot>) {
        match self {
            Self::Swap(swap) => swap.store(view),
            Self::Scheduled(place) => *place.lock().unwrap() = view,
        }
    }
}

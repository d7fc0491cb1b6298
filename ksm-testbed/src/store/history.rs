//! The last events of a resource, oldest first, and the version behind which they are complete.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, OnceLock},
};

use super::{Expired, Key, Object};

/// What a watcher is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) resource_version: u64,
    /// The object after the change; for a deletion its last state, at the version of the deletion.
    object: Arc<Object>,
    /// The object before the change.
    previous: Option<Arc<Object>>,
    deleted: bool,
    /// `previous` at the version of this event, made when the first watcher needs it.
    departed: OnceLock<Arc<Object>>,
}

impl Event {
    pub(super) fn new(object: Arc<Object>, previous: Option<Arc<Object>>, deleted: bool) -> Self {
        Self { resource_version: object.resource_version, object, previous, deleted, departed: OnceLock::new() }
    }

    /// What a watcher sees that is only interested in objects that `matches`: one that begins or ceases to match is
    /// added or deleted for it.
    pub(crate) fn seen_by(&self, matches: impl Fn(&Object) -> bool) -> Option<(Change, Arc<Object>)> {
        let before = self.previous.as_deref().is_some_and(&matches);
        let after = !self.deleted && matches(&self.object);
        match (before, after) {
            (false, false) => None,
            (false, true) => Some((Change::Added, Arc::clone(&self.object))),
            (true, true) => Some((Change::Modified, Arc::clone(&self.object))),
            (true, false) if self.deleted => Some((Change::Deleted, Arc::clone(&self.object))),
            (true, false) => {
                let previous = self.previous.as_ref()?;
                let departed = self.departed.get_or_init(|| Arc::new(previous.at_version(self.resource_version)));
                Some((Change::Deleted, Arc::clone(departed)))
            }
        }
    }
}

#[derive(Default)]
pub(super) struct History {
    events: VecDeque<Arc<Event>>,
    limit: usize,
    /// Events up to this version may be missing.
    compacted: u64,
}

impl History {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.events.push_back(event);
        while self.events.len() > self.limit {
            let forgotten = self.events.pop_front();
            self.compacted = forgotten.map_or(self.compacted, |event| event.resource_version);
        }
    }

    pub(super) fn compact(&mut self, version: u64) {
        self.events.clear();
        self.compacted = version;
    }

    pub(super) fn after(&self, version: u64, limit: usize) -> Result<Vec<Arc<Event>>, Expired> {
        let start = self.position(version)?;
        Ok(self.events.range(start..).take(limit).map(Arc::clone).collect())
    }

    /// What to put in the place of the current objects to get back to a version; `None` for objects younger than it.
    pub(super) fn undo(&self, version: u64) -> Result<BTreeMap<Key, Option<Arc<Object>>>, Expired> {
        let start = self.position(version)?;
        let mut undo = BTreeMap::new();
        for event in self.events.range(start..).rev() {
            undo.insert(event.object.key.clone(), event.previous.clone());
        }
        Ok(undo)
    }

    /// Index of the first event behind a version.
    fn position(&self, version: u64) -> Result<usize, Expired> {
        if version < self.compacted {
            return Err(Expired { oldest: self.compacted });
        }
        Ok(self.events.partition_point(|event| event.resource_version <= version))
    }
}

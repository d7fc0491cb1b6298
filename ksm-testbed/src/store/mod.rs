//! The objects of one resource, their history and those who wait for changes.
//!
//! Versions are taken from one counter for all resources, but only while the resource's own lock is held: whoever holds
//! the lock may use the counter's value as the resource version of what it sees.

mod history;
pub(crate) mod object;

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use history::History;
pub(crate) use history::{Change, Event};
pub(crate) use object::{Key, MetadataPatch, Object};
use tokio::sync::watch;

/// The resource version asked for is no longer known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expired {
    /// The oldest version that still is.
    pub(crate) oldest: u64,
}

/// One resource's objects.
pub(crate) struct Collection {
    revision: Arc<AtomicU64>,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    expired: watch::Sender<()>,
}

#[derive(Default)]
pub(crate) struct State {
    objects: BTreeMap<Key, Arc<Object>>,
    history: History,
}

/// A write in progress: holds the lock, so that what it read cannot change under it.
pub(crate) struct Writer<'a> {
    collection: &'a Collection,
    state: MutexGuard<'a, State>,
}

/// A consistent view of a resource at one version, from some key on.
pub(crate) struct Snapshot {
    pub(crate) resource_version: u64,
    pub(crate) objects: Vec<Arc<Object>>,
}

impl Collection {
    pub(crate) fn new(revision: Arc<AtomicU64>, history_limit: usize) -> Self {
        let state = State { history: History::new(history_limit), ..State::default() };
        Self { revision, state: Mutex::new(state), changed: watch::Sender::new(()), expired: watch::Sender::new(()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no writer panics while it holds the lock")
    }

    pub(crate) fn write(&self) -> Writer<'_> {
        Writer { collection: self, state: self.lock() }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.lock().objects.get(key).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().objects.len()
    }

    /// A receiver that is told of every change after this call.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// A receiver that is told of every [`Collection::expire`] after this call.
    pub(crate) fn subscribe_to_expiry(&self) -> watch::Receiver<()> {
        self.expired.subscribe()
    }

    /// Ends open watches as if their position were forgotten.
    pub(crate) fn expire(&self) {
        self.expired.send_replace(());
    }

    /// The objects now, of one namespace or all.
    pub(crate) fn snapshot(&self, namespace: Option<&str>) -> Snapshot {
        let state = self.lock();
        let resource_version = self.revision.load(Ordering::SeqCst);
        let objects = range(&state.objects, namespace, None).map(|(_, object)| Arc::clone(object)).collect();
        Snapshot { resource_version, objects }
    }

    /// The objects as they were at a version, from behind a key on.
    pub(crate) fn snapshot_at(
        &self,
        version: u64,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> Result<Snapshot, Expired> {
        let state = self.lock();
        let undo = state.history.undo(version)?;
        let start = |key: &&Key| after.is_none_or(|after| *key > after);
        let mut objects: Vec<_> = range(&state.objects, namespace, after)
            .filter(|(key, _)| undo.is_empty() || !undo.contains_key(*key))
            .map(|(_, object)| Arc::clone(object))
            .collect();
        let restored = undo
            .iter()
            .filter(|(key, _)| namespace.is_none_or(|namespace| *key.namespace == *namespace) && start(key))
            .filter_map(|(_, object)| object.clone());
        let unchanged = objects.len();
        objects.extend(restored);
        if objects.len() > unchanged {
            objects.sort_by(|left, right| left.key.cmp(&right.key));
        }
        Ok(Snapshot { resource_version: version, objects })
    }

    /// At most `limit` events behind a version, and the version up to which there are none left out.
    pub(crate) fn events_after(&self, version: u64, limit: usize) -> Result<(Vec<Arc<Event>>, u64), Expired> {
        let state = self.lock();
        let events = state.history.after(version, limit)?;
        let seen = match events.last() {
            Some(last) if events.len() == limit => last.resource_version,
            _ => self.revision.load(Ordering::SeqCst).max(version),
        };
        Ok((events, seen))
    }

    /// Forgets every event.
    pub(crate) fn compact(&self) {
        let mut state = self.lock();
        let revision = self.revision.load(Ordering::SeqCst);
        state.history.compact(revision);
    }

    /// Puts many objects without telling anyone: the state a cluster starts with. They get consecutive versions.
    pub(crate) fn load(&self, objects: impl IntoIterator<Item = Vec<u8>>) {
        let mut state = self.lock();
        for bytes in objects {
            let resource_version = Some(self.revision.fetch_add(1, Ordering::SeqCst) + 1);
            let patch = MetadataPatch { resource_version, ..MetadataPatch::default() };
            let object = Arc::new(Object::new(object::patch_metadata(&bytes, &patch).into()));
            state.objects.insert(object.key.clone(), object);
        }
        let revision = self.revision.load(Ordering::SeqCst);
        state.history.compact(revision);
    }
}

fn range<'a>(
    objects: &'a BTreeMap<Key, Arc<Object>>,
    namespace: Option<&'a str>,
    after: Option<&Key>,
) -> impl Iterator<Item = (&'a Key, &'a Arc<Object>)> {
    let first = namespace.map(|namespace| Key::new(namespace, ""));
    let start = match (after, first) {
        (Some(after), Some(first)) if *after < first => Bound::Included(first),
        (Some(after), _) => Bound::Excluded(after.clone()),
        (None, Some(first)) => Bound::Included(first),
        (None, None) => Bound::Unbounded,
    };
    objects
        .range((start, Bound::Unbounded))
        .take_while(move |(key, _)| namespace.is_none_or(|namespace| *key.namespace == *namespace))
}

impl Writer<'_> {
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.state.objects.get(key)
    }

    /// Stores a new version of an object and tells the watchers.
    pub(crate) fn put(mut self, bytes: &[u8]) -> Arc<Object> {
        let resource_version = self.next_version();
        let patch = MetadataPatch { resource_version: Some(resource_version), ..MetadataPatch::default() };
        let object = Arc::new(Object::new(object::patch_metadata(bytes, &patch).into()));
        let previous = self.state.objects.insert(object.key.clone(), Arc::clone(&object));
        self.record(Event::new(Arc::clone(&object), previous, false));
        object
    }

    /// Removes an object and tells the watchers its last state.
    pub(crate) fn remove(mut self, key: &Key) -> Option<Arc<Object>> {
        let previous = self.state.objects.remove(key)?;
        let last = Arc::new(previous.at_version(self.next_version()));
        self.record(Event::new(Arc::clone(&last), Some(previous), true));
        Some(last)
    }

    fn next_version(&self) -> u64 {
        self.collection.revision.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn record(&mut self, event: Event) {
        self.state.history.push(Arc::new(event));
        self.collection.changed.send_replace(());
    }
}

#[cfg(test)]
mod tests;

//! What clients did: one record for each request, and totals for each resource and verb.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU16, AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};

use crate::request::Verb;

/// Records kept; older ones are forgotten, the totals are not.
const RECORDS: usize = 10_000;

/// One request, as long as its answer goes on and after.
#[derive(Debug)]
pub struct Record {
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// Decoded query parameters in their order.
    pub query: Vec<(String, String)>,
    /// What the request does.
    pub verb: Verb,
    /// Plural of the resource; empty for requests that are not about objects.
    pub resource: String,
    /// The `Accept` header.
    pub accept: String,
    status: AtomicU16,
    bytes: AtomicU64,
    /// 1 until the body has ended, however it did.
    open: AtomicU64,
    totals: Arc<Totals>,
}

/// Sums over requests with the same resource and verb.
#[derive(Debug, Default)]
struct Totals {
    requests: AtomicU64,
    bytes: AtomicU64,
    open: AtomicU64,
}

impl Record {
    /// A query parameter, if given.
    pub fn parameter(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// HTTP status of the answer; 0 before it.
    pub fn status(&self) -> u16 {
        self.status.load(Ordering::Relaxed)
    }

    /// Bytes of the body handed to the connection so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether the body has not ended yet.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn answered(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.totals.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self) {
        if self.open.swap(0, Ordering::Relaxed) > 0 {
            self.totals.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn to_value(&self) -> Value {
        json!({
            "method": self.method,
            "path": self.path,
            "query": self.query.iter().cloned().collect::<BTreeMap<_, _>>(),
            "verb": self.verb,
            "resource": self.resource,
            "accept": self.accept,
            "status": self.status(),
            "bytes": self.bytes(),
            "open": self.is_open(),
        })
    }
}

/// A handle to the counters of a test bed.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    records: VecDeque<Arc<Record>>,
    totals: BTreeMap<(String, Verb), Arc<Totals>>,
}

/// A request about to be recorded.
pub(crate) struct NewRecord<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a [(String, String)],
    pub(crate) verb: Verb,
    pub(crate) resource: &'a str,
    pub(crate) accept: &'a str,
}

impl Stats {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("counting cannot panic")
    }

    pub(crate) fn record(&self, new: &NewRecord<'_>) -> Arc<Record> {
        let mut inner = self.lock();
        let totals = Arc::clone(inner.totals.entry((new.resource.to_owned(), new.verb)).or_default());
        totals.requests.fetch_add(1, Ordering::Relaxed);
        totals.open.fetch_add(1, Ordering::Relaxed);
        let record = Arc::new(Record {
            method: new.method.to_owned(),
            path: new.path.to_owned(),
            query: new.query.to_vec(),
            verb: new.verb,
            resource: new.resource.to_owned(),
            accept: new.accept.to_owned(),
            status: AtomicU16::new(0),
            bytes: AtomicU64::new(0),
            open: AtomicU64::new(1),
            totals,
        });
        inner.records.push_back(Arc::clone(&record));
        if inner.records.len() > RECORDS {
            inner.records.pop_front();
        }
        record
    }

    /// The last requests, oldest first.
    pub fn records(&self) -> Vec<Arc<Record>> {
        self.lock().records.iter().cloned().collect()
    }

    /// How many requests there were for a resource with a verb.
    pub fn requests(&self, resource: &str, verb: Verb) -> u64 {
        self.total(resource, Some(verb), |totals| &totals.requests)
    }

    /// Bytes of bodies sent for a resource.
    pub fn bytes(&self, resource: &str) -> u64 {
        self.total(resource, None, |totals| &totals.bytes)
    }

    /// Watches of a resource that are open now, streamed lists included.
    pub fn open_watches(&self, resource: &str) -> u64 {
        let open = |verb| self.total(resource, Some(verb), |totals: &Totals| &totals.open);
        open(Verb::Watch) + open(Verb::StreamedList)
    }

    /// Forgets records and totals; requests that are still open no longer count.
    pub fn reset(&self) {
        *self.lock() = Inner::default();
    }

    fn total(&self, resource: &str, verb: Option<Verb>, what: impl Fn(&Totals) -> &AtomicU64) -> u64 {
        let inner = self.lock();
        let matching = inner.totals.iter().filter(|((r, v), _)| r == resource && verb.is_none_or(|verb| verb == *v));
        matching.map(|(_, totals)| what(totals).load(Ordering::Relaxed)).sum()
    }

    /// Totals and records as `GET /testbed/stats` shows them.
    pub fn to_value(&self) -> Value {
        let inner = self.lock();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let totals = inner.totals.iter().map(|((resource, verb), totals)| {
            let (requests, bytes, open) = (load(&totals.requests), load(&totals.bytes), load(&totals.open));
            json!({"resource": resource, "verb": verb, "requests": requests, "bytes": bytes, "open": open})
        });
        let totals: Vec<_> = totals.collect();
        let records: Vec<_> = inner.records.iter().map(|record| record.to_value()).collect();
        json!({"totals": totals, "requests": records})
    }
}

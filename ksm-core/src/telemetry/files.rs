//! Files that are read again when they change: what is in use of each, and whether the last change was.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use md5::{Digest, Md5};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::{begin, unix_seconds};
use crate::self_metrics;

/// How reading files went.
#[derive(Debug, Default)]
pub struct Files {
    /// By kind and name of the file.
    states: Mutex<BTreeMap<(&'static str, String), State>>,
    /// Keys whose new value waits for a new start.
    pending: Mutex<Vec<&'static str>>,
    /// Resources whose lists a new configuration waits for, and how many list/watches that is.
    waiting: Mutex<BTreeMap<String, usize>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    successful: bool,
    /// Hash of the content in use, and since when in seconds since the Unix epoch.
    used: Option<(f64, f64)>,
}

impl Files {
    /// Notes that a file with that content is in use.
    pub fn succeeded(&self, kind: &'static str, path: &Path, content: &[u8]) {
        let used = Some((hash(content), unix_seconds(SystemTime::now())));
        self.lock().insert((kind, path.display().to_string()), State { successful: true, used });
    }

    /// Notes that a file cannot be used as it is now.
    pub fn failed(&self, kind: &'static str, path: &Path) {
        self.lock().entry((kind, path.display().to_string())).or_default().successful = false;
    }

    /// Notes for which keys of the configuration file a new value counts at the next start only; true if that is news.
    pub fn set_pending(&self, keys: Vec<&'static str>) -> bool {
        let mut pending = lock(&self.pending);
        let news = *pending != keys;
        *pending = keys;
        news
    }

    /// Notes which resources a new configuration waits for, with the number of their list/watches; none if there is
    /// no new configuration, or all of it is there.
    pub fn set_waiting(&self, resources: BTreeMap<String, usize>) {
        *lock(&self.waiting) = resources;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(&'static str, String), State>> {
        lock(&self.states)
    }
}

/// Nothing that is done under these locks can leave the value half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first six bytes of the MD5 sum, as Prometheus servers show the hash of their configuration: a float64 holds
/// 48 bits exactly.
fn hash(content: &[u8]) -> f64 {
    let sum = Md5::digest(content);
    sum[..6].iter().rev().fold(0_u64, |hash, byte| hash << 8 | u64::from(*byte)) as f64
}

#[derive(Debug)]
pub(super) struct FilesCollector {
    pub(super) files: Arc<Files>,
}

impl Collector for FilesCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let files = self.files.lock().clone();
        if files.is_empty() {
            return Ok(());
        }
        let mut family = begin(&mut encoder, self_metrics::CONFIG_HASH)?;
        for ((kind, name), state) in &files {
            if let Some((hash, _)) = state.used {
                family.encode_family(&labels(kind, name))?.encode_gauge(&hash)?;
            }
        }
        let mut family = begin(&mut encoder, self_metrics::RELOAD_SUCCESSFUL)?;
        for ((kind, name), state) in &files {
            family.encode_family(&labels(kind, name))?.encode_gauge(&u32::from(state.successful))?;
        }
        let mut family = begin(&mut encoder, self_metrics::RELOAD_TIME)?;
        for ((kind, name), state) in &files {
            if let Some((_, time)) = state.used {
                family.encode_family(&labels(kind, name))?.encode_gauge(&time)?;
            }
        }
        let waiting = lock(&self.files.waiting).clone();
        if !waiting.is_empty() {
            let mut family = begin(&mut encoder, self_metrics::RELOAD_WAITING)?;
            for (resource, count) in waiting {
                family.encode_family(&[("resource", resource)])?.encode_gauge(&(count as f64))?;
            }
        }
        let pending = lock(&self.files.pending).clone();
        if !pending.is_empty() {
            let mut family = begin(&mut encoder, self_metrics::RESTART_NEEDED)?;
            for key in pending {
                family.encode_family(&[("key", key)])?.encode_gauge(&1_u32)?;
            }
        }
        Ok(())
    }
}

fn labels<'a>(kind: &'a str, name: &'a str) -> [(&'static str, &'a str); 2] {
    [("type", kind), ("filename", name)]
}

//! How much memory a view of a cluster takes, counted at the allocator: no noise, so that CI can trust it.
//!
//! Resident memory is more by what an allocator wastes; `cargo xtask bench` measures that.
#![expect(unsafe_code, reason = "a global allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

#[path = "support/sample.rs"]
mod sample;

use ksm_core::resource::Rendered;
use sample::Sample;

/// Counts what is allocated and not freed, and the most there ever was.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PODS: usize = 5000;

/// What `work` gives, the memory it still takes, and the most it took meanwhile.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let value = work();
    let live = LIVE.load(Ordering::Relaxed).saturating_sub(before);
    (value, live, PEAK.load(Ordering::Relaxed) - before)
}

/// One test, since the allocator counts for the whole process.
#[test]
fn memory_stays_a_fraction_of_the_text() {
    let sample = Sample::new(PODS);
    let (mut store, live, peak) = measured(|| sample.store());
    let text: u64 = store.reader().snapshot().totals().iter().map(|total| total.bytes).sum();
    let text = usize::try_from(text).expect("fits");
    eprintln!("{PODS} pods: text {text}, live {live} ({} a pod), peak of the list {peak}", live / PODS);
    assert!(live < text / 4, "a view of {text} bytes takes {live}");
    assert!(peak < live + 4 * 1024 * 1024, "a list took {peak} at its peak for a view of {live}");

    let ((), grown, peak) = measured(|| {
        let (mut relist, mut rendered) = (store.relist(), Rendered::default());
        for pod in &sample.pods {
            let key = sample.render(pod, &mut rendered);
            store.relist_apply(&mut relist, key, &rendered);
        }
        store.replace(relist);
    });
    eprintln!("relist without a change: grown by {grown}, peak {peak}");
    assert!(grown < 64 * 1024, "a relist without a change left {grown} bytes");
    assert!(peak < 2 * 1024 * 1024, "a relist without a change took {peak} bytes");

    // A shard that is to keep a third, as when a set of one is scaled to three.
    let keep: std::collections::HashSet<_> =
        sample.pods.iter().step_by(3).map(|pod| sample.render(pod, &mut Rendered::default())).collect();
    let before = LIVE.load(Ordering::Relaxed);
    let (_, _, peak) = measured(|| {
        store.retain(|key| keep.contains(&key));
        store.publish();
    });
    let left = live.saturating_sub(before.saturating_sub(LIVE.load(Ordering::Relaxed)));
    let view = store.reader().snapshot();
    let (packed, plain) = (view.packed_bytes(), view.unpacked_bytes());
    drop(view);
    eprintln!("a third kept: {left} left of {live} ({packed} packed, {plain} plain), peak {peak}");
    assert!(left < live * 45 / 100, "a third of {live} bytes takes {left}");
    assert!(peak < 6 * 1024 * 1024, "dropping two thirds of {live} bytes took {peak}");

    // It gains what it has lost, in relists that bring some each.
    let ((), grown, peak) = measured(|| {
        for relist in 1..=20 {
            let (mut list, mut rendered) = (store.relist(), Rendered::default());
            let gained = sample.pods.iter().enumerate().filter(|(i, _)| i % 3 == 0 || i % 1000 < relist * 50);
            for (_, pod) in gained {
                let key = sample.render(pod, &mut rendered);
                store.relist_apply(&mut list, key, &rendered);
            }
            store.replace(list);
        }
    });
    eprintln!("all gained again in 20 relists: grown by {grown} to {}, peak {peak}", left + grown);
    assert!(left + grown < live * 11 / 10, "what took {live} bytes at once takes {}", left + grown);
    assert!(peak < grown + 6 * 1024 * 1024, "relists took {peak} at their peak, and left {grown}");
}

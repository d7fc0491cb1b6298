//! What each step from encoded object to response body costs. `cargo bench -p ksm-core`.
//!
//! Where a step is about a block, it is about one of 64 pods; where it is about a view, about 2 000 pods.
#![allow(missing_docs, reason = "a benchmark has no API")]

use divan::counter::{BytesCount, ItemsCount};
use divan::{AllocProfiler, Bencher};
use ksm_core::resource::Rendered;
use ksm_core::store::{Packed, Store, TextReader};

#[path = "../tests/support/sample.rs"]
mod sample;

use sample::Sample;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const VIEW: usize = 2000;

fn main() {
    divan::main();
}

/// Protobuf to text.
#[divan::bench]
fn render_a_pod(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(200);
    let mut rendered = Rendered::default();
    let mut pods = sample.pods.iter().cycle();
    bencher.bench_local(|| sample.render(pods.next().expect("endless"), &mut rendered));
}

/// A pod whose text is what it was, as most are in a relist.
#[divan::bench]
fn apply_an_unchanged_pod(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(VIEW);
    let mut store = sample.store();
    let mut rendered = Rendered::default();
    let key = sample.render(&sample.pods[0], &mut rendered);
    bencher.bench_local(|| store.apply(key, &rendered));
}

/// The whole first list, single-threaded.
#[divan::bench(sample_count = 10)]
fn list_2000_pods(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(VIEW);
    bencher.counter(ItemsCount::new(VIEW)).bench_local(|| sample.store());
}

/// A relist that finds everything as it was.
#[divan::bench(sample_count = 10)]
fn relist_2000_unchanged_pods(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(VIEW);
    let mut store = sample.store();
    let mut rendered = Rendered::default();
    bencher.counter(ItemsCount::new(VIEW)).bench_local(|| {
        let mut relist = store.relist();
        for pod in &sample.pods {
            let key = sample.render(pod, &mut rendered);
            store.relist_apply(&mut relist, key, &rendered);
        }
        store.replace(relist);
    });
}

/// One status of one pod changes, then readers are shown it: one block, the families that changed.
#[divan::bench]
fn fold_one_change(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(VIEW);
    let mut store = sample.store();
    let mut rendered = Rendered::default();
    let key = sample.render(&sample.pods[0], &mut rendered);
    let states = [sample.changed(&rendered, 15, 0), sample.changed(&rendered, 15, 1)];
    let mut turn = 0;
    bencher.bench_local(|| {
        turn ^= 1;
        store.apply(key, &states[turn]);
        store.publish();
    });
}

/// The same for every pod of the view: what a scrape costs at most, however many changes came before it.
#[divan::bench(sample_count = 10)]
fn fold_2000_changes(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(VIEW);
    let mut store = sample.store();
    let mut rendered = Rendered::default();
    let states: Vec<_> = sample
        .pods
        .iter()
        .map(|pod| {
            let key = sample.render(pod, &mut rendered);
            (key, [sample.changed(&rendered, 15, 0), sample.changed(&rendered, 15, 1)])
        })
        .collect();
    let mut turn = 0;
    bencher.counter(ItemsCount::new(VIEW)).bench_local(|| {
        turn ^= 1;
        for (key, states) in &states {
            store.apply(*key, &states[turn]);
        }
        store.publish();
    });
}

/// Lengths and checksums of a gzip body, when nothing is known of them yet.
#[divan::bench]
fn combine_checksums(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(VIEW);
    let mut store = sample.store();
    let mut rendered = Rendered::default();
    let key = sample.render(&sample.pods[0], &mut rendered);
    let states = [sample.changed(&rendered, 1, 0), sample.changed(&rendered, 1, 1)];
    let mut turn = 0;
    bencher
        .with_inputs(|| {
            turn ^= 1;
            store.apply(key, &states[turn]);
            store.publish();
            store.reader().snapshot()
        })
        .bench_local_values(|snapshot| snapshot.packed_totals().len());
}

fn bodies(store: &Store) -> (u64, u64) {
    let snapshot = store.reader().snapshot();
    let plain = snapshot.totals().iter().map(|total| total.bytes).sum();
    let packed = snapshot.packed_totals().iter().map(|total| total.bytes).sum();
    (plain, packed)
}

/// The samples of a gzip body.
#[divan::bench]
fn concatenate(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(VIEW);
    let store = sample.store();
    let snapshot = store.reader().snapshot();
    let mut out = Vec::new();
    bencher.counter(BytesCount::new(bodies(&store).1)).bench_local(|| {
        out.clear();
        for family in 0..sample.plan.families().len() {
            for block in snapshot.blocks() {
                out.extend_from_slice(block.packed().piece(family).data);
            }
        }
        out.len()
    });
}

/// The samples of a plain body.
#[divan::bench]
fn inflate(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(VIEW);
    let store = sample.store();
    let snapshot = store.reader().snapshot();
    let (mut out, mut reader) = (Vec::new(), TextReader::default());
    bencher.counter(BytesCount::new(bodies(&store).0)).bench_local(|| {
        out.clear();
        for family in 0..sample.plan.families().len() {
            for block in snapshot.blocks() {
                block.append(family, &mut reader, &mut out);
            }
        }
        out.len()
    });
}

/// Text to a piece of deflate, 64 pods of one family at a time.
#[divan::bench]
fn pack(bencher: Bencher<'_, '_>) {
    let sample = Sample::new(64);
    let mut rendered = Rendered::default();
    let mut texts = vec![Vec::new(); sample.plan.families().len()];
    for pod in &sample.pods {
        sample.render(pod, &mut rendered);
        let mut start = 0;
        for (family, text) in texts.iter_mut().enumerate() {
            text.extend_from_slice(&rendered.text[start..rendered.ends[family] as usize]);
            start = rendered.ends[family] as usize;
        }
    }
    let bytes: usize = texts.iter().map(Vec::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| Packed::of(texts.iter().map(Vec::as_slice)));
}

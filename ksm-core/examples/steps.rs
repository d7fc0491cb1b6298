//! One step of the data path, a given number of times: `steps STEP TIMES`. What `cargo xtask instructions` counts.
#![expect(clippy::print_stderr, reason = "a program for developers")]

#[path = "../tests/support/sample.rs"]
mod sample;

use std::hint::black_box;
use std::process::ExitCode;

use ksm_core::resource::Rendered;
use ksm_core::store::{Store, TextReader};
use sample::Sample;

/// Enough for three sealed blocks beside the text that stays plain.
const PODS: usize = 260;

/// Pods that change before a fold, and families that change of each.
const CHANGES: usize = 4;
const FAMILIES: usize = 15;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, step, times] = arguments.as_slice() else { return usage() };
    let Ok(times) = times.parse::<u32>() else { return usage() };
    let sample = Sample::new(PODS);
    let mut store = sample.store();
    for time in 0..times {
        match step.as_str() {
            "render" => render(&sample),
            "list" => drop(black_box(sample.store())),
            "relist" => relist(&sample, &mut store),
            "fold" => fold(&sample, &mut store, (time % 2) as u8),
            "pack" => pack(&sample),
            "inflate" => inflate(&sample, &store),
            _ => return usage(),
        }
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: steps render|list|relist|fold|pack|inflate TIMES");
    ExitCode::from(2)
}

/// Protobuf to text.
fn render(sample: &Sample) {
    let mut rendered = Rendered::default();
    for pod in &sample.pods {
        black_box(sample.render(pod, &mut rendered));
    }
}

/// A relist that finds everything as it was.
fn relist(sample: &Sample, store: &mut Store) {
    let (mut relist, mut rendered) = (store.relist(), Rendered::default());
    for pod in &sample.pods {
        let key = sample.render(pod, &mut rendered);
        store.relist_apply(&mut relist, key, &rendered);
    }
    store.replace(relist);
}

/// A few changes to one sealed block, shown to readers.
fn fold(sample: &Sample, store: &mut Store, value: u8) {
    let mut rendered = Rendered::default();
    for pod in &sample.pods[..CHANGES] {
        let key = sample.render(pod, &mut rendered);
        store.apply(key, &sample.changed(&rendered, FAMILIES, value));
    }
    store.publish();
}

/// Text to pieces of deflate, and the checksum of a body.
fn pack(sample: &Sample) {
    black_box(sample.store().reader().snapshot().packed_totals().len());
}

/// Pieces of deflate to text.
fn inflate(sample: &Sample, store: &Store) {
    let snapshot = store.reader().snapshot();
    let (mut out, mut reader) = (Vec::new(), TextReader::default());
    for family in 0..sample.plan.families().len() {
        for block in snapshot.blocks() {
            block.append(family, &mut reader, &mut out);
        }
    }
    black_box(out.len());
}

//! Many orders in which a writer and its readers may take their steps, chosen by a scheduler instead of by chance.

use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

use super::super::published::Published;
use super::*;

const OBJECTS: u16 = 70;

/// Readers that load at any moment see one of the published views, whole, in order, and as it is later.
fn readers_beside_a_writer() {
    let mut store = sealing_store();
    store.published = Published::scheduled(Snapshot::empty(FAMILIES));
    fill(&mut store, 0..OBJECTS, 0);
    store.publish();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let reader = store.reader();
            thread::spawn(move || {
                let mut last = 0;
                let mut held: Vec<(Arc<Snapshot>, String)> = Vec::new();
                for _ in 0..3 {
                    let snapshot = reader.snapshot();
                    let shown = text(&snapshot, 0);
                    let mut values = shown.lines().map(|line| line.rsplit(' ').next().unwrap());
                    let value = values.next().unwrap();
                    assert!(values.all(|other| other == value), "a view is of one moment");
                    assert_eq!(shown.lines().count(), usize::from(OBJECTS));
                    let value: u8 = value.parse().unwrap();
                    assert!(value >= last, "views only go forward");
                    last = value;
                    check_packed(&snapshot);
                    held.push((snapshot, shown));
                    thread::yield_now();
                }
                held.iter().for_each(|(snapshot, shown)| assert_eq!(text(snapshot, 0), *shown, "a view stays"));
            })
        })
        .collect();
    // Hot blocks, sealed ones with folded changes, a view swapped in whole.
    for value in 1..5 {
        if value == 3 {
            let mut relist = store.relist();
            for object in 0..OBJECTS {
                store.relist_apply(&mut relist, key(object), &rendered(&lines(object, value)));
            }
            thread::yield_now();
            store.replace(relist);
        } else {
            for object in 0..OBJECTS {
                fill(&mut store, object..=object, value);
                if object % 32 == 0 {
                    thread::yield_now();
                }
            }
            store.publish();
        }
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert!(text(&store.reader().snapshot(), 0).lines().all(|line| line.ends_with(" 4")));
}

#[test]
fn readers_see_whole_views_in_any_order_of_steps() {
    Runner::new(RandomScheduler::new(300), Config::new()).run(readers_beside_a_writer);
}

/// Orders with few switches at the worst places, which chance alone seldom finds.
#[test]
fn readers_see_whole_views_when_stopped_anywhere() {
    Runner::new(PctScheduler::new(3, 300), Config::new()).run(readers_beside_a_writer);
}

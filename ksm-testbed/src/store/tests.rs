//! The store: versions, history, snapshots, watchers.

use serde_json::json;

use super::*;
use crate::{codec, resources};

fn collection() -> Collection {
    Collection::new(Arc::new(AtomicU64::new(100)), 5)
}

fn pod(name: &str, node: &str) -> Vec<u8> {
    let pod = json!({"metadata": {"name": name, "namespace": "n", "uid": name}, "spec": {"nodeName": node}});
    codec::to_protobuf(resources::by_plural("pods").unwrap().message(), &pod).unwrap()
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.objects.iter().map(|object| &*object.key.name).collect()
}

#[test]
fn an_old_version_is_rebuilt_from_the_history() {
    let pods = collection();
    pods.load([pod("a", ""), pod("b", ""), pod("d", "")]);
    let version = pods.snapshot(None).resource_version;
    pods.write().put(&pod("c", ""));
    pods.write().remove(&Key::new("n", "b")).unwrap();
    pods.write().put(&pod("a", "node"));
    assert_eq!(names(&pods.snapshot(None)), ["a", "c", "d"]);
    let old = pods.snapshot_at(version, Some("n"), None).unwrap();
    assert_eq!(names(&old), ["a", "b", "d"]);
    assert_eq!(old.objects[0].resource_version, 101);
    assert_eq!(names(&pods.snapshot_at(version, None, Some(&Key::new("n", "a"))).unwrap()), ["b", "d"]);
    assert_eq!(names(&pods.snapshot_at(version, Some("m"), None).unwrap()), [""; 0]);
}

#[test]
fn versions_behind_the_history_are_expired() {
    let pods = collection();
    pods.load([pod("a", "")]);
    for _ in 0..6 {
        pods.write().put(&pod("a", ""));
    }
    assert_eq!(pods.events_after(101, 10).unwrap_err(), Expired { oldest: 102 });
    assert_eq!(pods.events_after(102, 10).unwrap().0.len(), 5);
    pods.compact();
    assert!(pods.events_after(106, 10).is_err());
    assert_eq!(pods.events_after(107, 10).unwrap().1, 107);
}

#[test]
fn events_come_in_batches_without_gaps() {
    let pods = collection();
    pods.load([pod("a", "")]);
    for _ in 0..3 {
        pods.write().put(&pod("a", ""));
    }
    let (events, seen) = pods.events_after(101, 2).unwrap();
    assert_eq!((events.len(), seen), (2, 103));
    let (events, seen) = pods.events_after(seen, 2).unwrap();
    assert_eq!((events.len(), seen), (1, 104));
}

#[test]
fn leaving_a_selection_is_a_deletion_at_the_version_of_the_change() {
    let pods = collection();
    pods.load([]);
    let start = pods.snapshot(None).resource_version;
    pods.write().put(&pod("a", ""));
    pods.write().put(&pod("a", "node"));
    pods.write().remove(&Key::new("n", "a")).unwrap();
    let (events, _) = pods.events_after(start, 10).unwrap();
    let node = pod("a", "node");
    let bound = |object: &Object| object.spec() == Object::new(node.clone().into()).spec();
    let seen = |matches: &dyn Fn(&Object) -> bool| -> Vec<_> {
        let visible = events.iter().filter_map(|event| event.seen_by(matches));
        visible.map(|(change, object)| (change, object.resource_version)).collect()
    };
    assert_eq!(seen(&|_| true), [(Change::Added, 101), (Change::Modified, 102), (Change::Deleted, 103)]);
    assert_eq!(seen(&bound), [(Change::Added, 102), (Change::Deleted, 103)]);
    assert_eq!(seen(&|object| !bound(object)), [(Change::Added, 101), (Change::Deleted, 102)]);
}

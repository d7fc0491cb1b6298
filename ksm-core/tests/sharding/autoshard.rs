//! Automatic shards against simulated API servers, in virtual time: rights, names, ordinals, and who filters.

use std::collections::BTreeSet;
use std::time::Duration;

use ksm_core::autoshard::{Means, linger};
use ksm_core::shard::{Scheme, Shard};
use ksm_core::watch::Filtering;
use ksm_testbed::{Cluster, Fault, Verb, WatchFault};
use serde_json::{Value, json};

use crate::control_plane::{Choice, ControlPlane};
use crate::member::Member;

const GRACE: Option<Duration> = Some(Duration::from_secs(30));

/// Longer than anything that is waited for, in virtual time.
const DEADLINE: Duration = Duration::from_secs(900);

pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = tokio::time::Instant::now();
    while !condition() {
        assert!(started.elapsed() < DEADLINE, "not within {DEADLINE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) fn fill(cluster: &Cluster, count: usize) -> BTreeSet<String> {
    let names: BTreeSet<String> = (0..count).map(|i| format!("cm-{i:03}")).collect();
    for name in &names {
        let metadata = json!({"namespace": "team-a", "name": name});
        cluster.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
    }
    names
}

/// A set `mon/ksm`, as a controller that is done with it leaves it.
pub(crate) fn set(cluster: &Cluster, generation: i64, replicas: u32, change: impl FnOnce(&mut Value)) {
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"namespace": "mon", "name": "ksm", "generation": generation, "labels": {"app": "ksm"}},
        "spec": {"replicas": replicas, "selector": {}, "serviceName": "ksm", "template": {}},
        "status": {"observedGeneration": generation, "replicas": replicas, "readyReplicas": replicas},
    });
    change(&mut set);
    cluster.apply(set).unwrap();
}

pub(crate) fn pod(cluster: &Cluster, name: &str, owner: Value) {
    let metadata = json!({"namespace": "mon", "name": name, "ownerReferences": [owner]});
    let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    cluster.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status})).unwrap();
}

pub(crate) fn owned_by_set() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ksm", "uid": "u", "controller": true})
}

fn share_of<'a>(names: impl IntoIterator<Item = &'a String>, cluster: &Cluster, shard: Shard) -> BTreeSet<String> {
    let uid = |name: &str| {
        let found = cluster.get("configmaps", "team-a", name).unwrap().unwrap();
        found["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    names.into_iter().filter(|name| shard.owns(&uid(name))).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn a_set_is_followed_by_name_whatever_its_labels() {
    // R24: labels change, then 3 shards, then 1.
    let cluster = Cluster::default();
    let names = fill(&cluster, 60);
    set(&cluster, 1, 2, |_| {});
    (0..3).for_each(|ordinal| pod(&cluster, &format!("ksm-{ordinal}"), owned_by_set()));
    let plane = ControlPlane::new(&cluster, &[true], true);
    let client = plane.client(None);
    let mut members: Vec<_> = (0..2).map(|ordinal| Member::start_pod(&client, ordinal, Scheme::Range, GRACE)).collect();
    until("two shards", || members.iter_mut().map(|m| m.names().len()).sum::<usize>() == 60).await;
    set(&cluster, 1, 2, |set| set["metadata"]["labels"] = json!({"app": "other"}));
    for (generation, total) in [(2, 3), (3, 1)] {
        set(&cluster, generation, total, |set| set["metadata"]["labels"] = json!({"app": "other"}));
        if total == 3 {
            members.push(Member::start_pod(&client, 2, Scheme::Range, GRACE));
        }
        let changed = tokio::time::Instant::now();
        until("the total is known", || {
            members.iter().all(|m| m.shares.status().place.is_some_and(|(_, found)| found == total))
        })
        .await;
        assert!(changed.elapsed() < Duration::from_secs(2), "{:?}", changed.elapsed());
        until("settled", || members.iter().all(|m| !m.shares.status().overlapping && m.shares.is_taken())).await;
        let reshards = u64::try_from(generation).unwrap() - 1;
        until("counted", || members[1].shares.status().reshards == reshards).await;
        for (ordinal, member) in (0..).zip(&mut members) {
            let expected = Shard::new(ordinal, total, Scheme::Range)
                .map_or_else(|_| BTreeSet::new(), |shard| share_of(&names, &cluster, shard));
            assert_eq!(*member.names(), expected, "shard {ordinal} of {total}");
        }
    }
    assert_eq!(members[1].shares.status().reshards, 2);
    assert!(members[1].shares.status().given_away > 0);
}

#[tokio::test(start_paused = true)]
async fn ordinals_count_from_where_the_set_starts() {
    let cluster = Cluster::default();
    let names = fill(&cluster, 40);
    set(&cluster, 1, 2, |set| set["spec"]["ordinals"] = json!({"start": 5}));
    pod(&cluster, "ksm-6", owned_by_set());
    let plane = ControlPlane::new(&cluster, &[false], true);
    let mut member = Member::start_pod(&plane.client(None), 6, Scheme::Md5, GRACE);
    until("synced", || member.progress.is_synced()).await;
    assert_eq!(member.shares.status().place, Some((1, 2)));
    assert_eq!(*member.names(), share_of(&names, &cluster, Shard::new(1, 2, Scheme::Md5).unwrap()));
}

#[tokio::test(start_paused = true)]
async fn without_a_right_nothing_is_served_until_it_is_granted() {
    for (resource, verb) in [("pods", Verb::Get), ("statefulsets", Verb::List), ("statefulsets", Verb::Watch)] {
        let cluster = Cluster::default();
        fill(&cluster, 40);
        set(&cluster, 1, 2, |_| {});
        pod(&cluster, "ksm-0", owned_by_set());
        let plane = ControlPlane::new(&cluster, &[true], true);
        let faults = plane.servers()[0].faults();
        faults.add(Fault::Status { code: 403, retry_after: None }.always_on(resource, verb));
        let mut member = Member::start_pod(&plane.client(None), 0, Scheme::Range, GRACE);
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert!(!member.progress.is_synced() && member.names().is_empty(), "{verb:?} {resource}");
        assert_eq!(member.shares.status().place, None);
        assert_eq!(plane.servers()[0].stats().requests("configmaps", Verb::StreamedList), 0, "nothing is even read");
        faults.clear();
        until("synced", || member.progress.is_synced()).await;
        assert_eq!(member.shares.status().place, Some((0, 2)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_no_set_has_no_shard() {
    for (name, owner) in [
        (
            "ksm-0",
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "ksm", "uid": "u", "controller": true}),
        ),
        ("ksm-0", json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ksm", "uid": "u"})),
        (
            "ksm-0",
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "other", "uid": "u", "controller": true}),
        ),
    ] {
        let cluster = Cluster::default();
        set(&cluster, 1, 2, |_| {});
        pod(&cluster, name, owner);
        let plane = ControlPlane::new(&cluster, &[true], true);
        let mut member = Member::start_pod(&plane.client(None), 0, Scheme::Range, GRACE);
        until("it gives up", || member.has_ended()).await;
        assert_eq!(member.shares.status().place, None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_known_stays_served_when_the_set_cannot_be_read_any_more() {
    let cluster = Cluster::default();
    let names = fill(&cluster, 40);
    set(&cluster, 1, 1, |_| {});
    pod(&cluster, "ksm-0", owned_by_set());
    let plane = ControlPlane::new(&cluster, &[true], true);
    let mut member = Member::start_pod(&plane.client(None), 0, Scheme::Range, GRACE);
    until("synced", || member.progress.is_synced()).await;
    for verb in [Verb::List, Verb::Watch] {
        let refused = Fault::Status { code: 403, retry_after: None };
        plane.servers()[0].faults().add(refused.always_on("statefulsets", verb));
    }
    plane.cut();
    cluster.delete("statefulsets", "mon", "ksm").unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(*member.names(), names);
    plane.servers()[0].faults().clear();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(*member.names(), names, "a set that is gone leaves the last place");
    set(&cluster, 1, 2, |_| {});
    until("the new set is found", || member.shares.status().place == Some((0, 2))).await;
    assert!(!member.has_ended());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_died_unnoticed_costs_seconds() {
    let cluster = Cluster::default();
    fill(&cluster, 10);
    set(&cluster, 1, 1, |_| {});
    pod(&cluster, "ksm-0", owned_by_set());
    let plane = ControlPlane::new(&cluster, &[true], true);
    let stalled = Fault::Watch { after: 0, event: WatchFault::Stall };
    plane.servers()[0].faults().add(stalled.on("statefulsets", Verb::Watch, 1));
    let member = Member::start_pod(&plane.client(None), 0, Scheme::Range, GRACE);
    until("synced", || member.progress.is_synced()).await;
    set(&cluster, 2, 2, |_| {});
    let changed = tokio::time::Instant::now();
    until("the change is seen", || member.shares.status().place == Some((0, 2))).await;
    assert!(changed.elapsed() < Duration::from_secs(15), "{:?}", changed.elapsed());
    set(&cluster, 3, 3, |_| {});
    let changed = tokio::time::Instant::now();
    until("the next is seen by the new watch", || member.shares.status().place == Some((0, 3))).await;
    assert!(changed.elapsed() < Duration::from_secs(2), "{:?}", changed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_process_told_to_stop_serves_on_while_its_set_shrinks() {
    let cluster = Cluster::default();
    let names = fill(&cluster, 40);
    set(&cluster, 1, 2, |_| {});
    (0..2).for_each(|ordinal| pod(&cluster, &format!("ksm-{ordinal}"), owned_by_set()));
    let plane = ControlPlane::new(&cluster, &[true], true);
    let client = plane.client(None);
    let mut members: Vec<_> = (0..2).map(|ordinal| Member::start_pod(&client, ordinal, Scheme::Range, GRACE)).collect();
    until("synced", || members.iter().all(|m| m.progress.is_synced())).await;
    // A restart is not held up.
    let told = tokio::time::Instant::now();
    linger(&members[1].shares).await;
    assert!(told.elapsed() < Duration::from_secs(2));
    // The signal may be here before the news: the set is asked first.
    let told = tokio::time::Instant::now();
    set(&cluster, 2, 1, |_| {});
    let shares = members[1].shares.clone();
    let lingering = tokio::spawn(async move { linger(&shares).await });
    until("shard 0 has it all", || *members[0].names() == names).await;
    assert!(!lingering.is_finished());
    lingering.await.unwrap();
    assert!(told.elapsed() >= GRACE.unwrap(), "{:?}", told.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_set_deleted_soon_after_it_was_scaled_holds_nobody_up() {
    let cluster = Cluster::default();
    fill(&cluster, 40);
    set(&cluster, 1, 2, |_| {});
    pod(&cluster, "ksm-0", owned_by_set());
    let plane = ControlPlane::new(&cluster, &[true], true);
    let member = Member::start_pod(&plane.client(None), 0, Scheme::Range, GRACE);
    until("synced", || member.progress.is_synced()).await;
    set(&cluster, 2, 4, |set| set["status"]["readyReplicas"] = json!(2));
    until("it is known", || member.shares.status().unsettled).await;
    cluster.delete("statefulsets", "mon", "ksm").unwrap();
    let told = tokio::time::Instant::now();
    // Without the set nothing would ever end it.
    let ended = tokio::time::timeout(DEADLINE, linger(&member.shares)).await;
    assert!(ended.is_ok() && told.elapsed() < Duration::from_secs(2), "{:?}", told.elapsed());
}

#[tokio::test(start_paused = true)]
async fn who_leaves_looks_at_the_pods_that_stay() {
    let cluster = Cluster::default();
    fill(&cluster, 40);
    set(&cluster, 1, 4, |set| set["spec"]["ordinals"] = json!({"start": 7}));
    (7..11).for_each(|ordinal| pod(&cluster, &format!("ksm-{ordinal}"), owned_by_set()));
    let plane = ControlPlane::new(&cluster, &[true], true);
    let member = Member::start_pod(&plane.client(None), 10, Scheme::Range, GRACE);
    until("synced", || member.progress.is_synced()).await;
    let condition = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut object = cluster.get("pods", "mon", name).unwrap().unwrap();
        change(&mut object);
        cluster.apply(object).unwrap();
    };
    // Two are ready: one that stays, and one that is to go when this one has gone.
    condition("ksm-8", &|pod| pod["status"]["conditions"][0]["status"] = json!("False"));
    set(&cluster, 2, 2, |set| {
        set["spec"]["ordinals"] = json!({"start": 7});
        set["status"]["replicas"] = json!(4);
    });
    let shares = member.shares.clone();
    let lingering = tokio::spawn(async move { linger(&shares).await });
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(!lingering.is_finished());
    // Ready, but told to stop: it has to be replaced first.
    condition("ksm-8", &|pod| {
        pod["status"]["conditions"][0]["status"] = json!("True");
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(!lingering.is_finished());
    condition("ksm-8", &|pod| drop(pod["metadata"].as_object_mut().unwrap().remove("deletionTimestamp")));
    let ready = tokio::time::Instant::now();
    lingering.await.unwrap();
    assert!(ready.elapsed() >= GRACE.unwrap(), "{:?}", ready.elapsed());
}

#[tokio::test(start_paused = true)]
async fn objects_change_and_go_while_two_shards_serve_them() {
    let cluster = Cluster::default();
    let mut names = fill(&cluster, 60);
    set(&cluster, 1, 1, |_| {});
    (0..2).for_each(|ordinal| pod(&cluster, &format!("ksm-{ordinal}"), owned_by_set()));
    for sharding in [true, false] {
        let plane = ControlPlane::new(&cluster, &[sharding], true);
        let client = plane.client(None);
        let mut old = Member::start_pod(&client, 0, Scheme::Range, GRACE);
        until("synced", || old.progress.is_synced()).await;
        let generation = if sharding { 2 } else { 12 };
        // The new one is not ready yet.
        set(&cluster, generation, 2, |set| set["status"]["readyReplicas"] = json!(1));
        let mut new = Member::start_pod(&client, 1, Scheme::Range, GRACE);
        until("the new one is synced", || new.progress.is_synced()).await;
        let given = new.names().iter().next().unwrap().clone();
        cluster.delete("configmaps", "team-a", &given).unwrap();
        names.remove(&given);
        let name = format!("new-{sharding}");
        let metadata = json!({"namespace": "team-a", "name": name, "uid": "11111111-2222-3333-4444-555555555555"});
        cluster.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
        names.insert(name.clone());
        until("the old one follows all", || *old.names() == names).await;
        assert!(old.shares.status().overlapping);
        set(&cluster, generation, 2, |_| {});
        until("dropped", || !old.shares.status().overlapping && old.shares.is_taken()).await;
        assert_eq!(old.names().len() + new.names().len(), names.len());
        assert_eq!(old.names().union(new.names()).cloned().collect::<BTreeSet<_>>(), names);
        // Giving away needs no list: only the first one was read.
        assert_eq!(old.progress.relists.get(), 0);
        let expected = if sharding { Filtering::ServerSide } else { Filtering::Local };
        assert_eq!(old.progress.filtering(), expected);
        cluster.delete("configmaps", "team-a", &name).unwrap();
        names.remove(&name);
        set(&cluster, generation + 5, 1, |_| {});
    }
}

#[tokio::test(start_paused = true)]
async fn who_filters_is_found_out_again_as_watches_are_opened() {
    // An upgrade: first no API server filters, then one of two, then both, then none again.
    let cluster = Cluster::default();
    let names = fill(&cluster, 60);
    let plane = ControlPlane::new(&cluster, &[false, true], true);
    let client = plane.client(None);
    plane.choose(Choice::Fixed(0));
    let mut members: Vec<_> =
        (0..2).map(|ordinal| Member::start(&client, Shard::new(ordinal, 2, Scheme::Range).unwrap().into())).collect();
    until("synced", || members.iter().all(|m| m.progress.is_synced())).await;
    let mut names = names;
    for (step, (choice, filtering)) in [
        (Choice::Fixed(0), Some(Filtering::Local)),
        (Choice::InTurn, None),
        (Choice::Fixed(1), Some(Filtering::ServerSide)),
        (Choice::InTurn, None),
        (Choice::Fixed(0), Some(Filtering::Local)),
    ]
    .into_iter()
    .enumerate()
    {
        plane.choose(choice);
        for round in 0..6 {
            tokio::time::sleep(Duration::from_secs(61)).await;
            plane.cut();
            let name = format!("new-{step}-{round}");
            let metadata = json!({"namespace": "team-a", "name": name});
            cluster.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
            names.insert(name);
            until("every object is served", || {
                members.iter_mut().map(|m| m.names().len()).sum::<usize>() == names.len()
            })
            .await;
        }
        let union: BTreeSet<String> = members.iter_mut().flat_map(|m| m.names().clone()).collect();
        assert_eq!(union, names);
        if let Some(filtering) = filtering {
            assert!(members.iter().all(|m| m.progress.filtering() == filtering), "{choice:?}");
        }
    }
    assert!(members.iter().all(|m| m.progress.relists.get() == 0), "finding out needs no relist");
}

#[tokio::test(start_paused = true)]
async fn another_grace_in_the_middle_of_an_overlap_ends_it_no_sooner() {
    let cluster = Cluster::default();
    let names = fill(&cluster, 40);
    set(&cluster, 1, 1, |_| {});
    pod(&cluster, "ksm-0", owned_by_set());
    let plane = ControlPlane::new(&cluster, &[true], true);
    let client = plane.client(None);
    let mut member = Member::start_pod(&client, 0, Scheme::Range, GRACE);
    until("synced", || member.progress.is_synced()).await;
    set(&cluster, 2, 2, |set| set["status"]["readyReplicas"] = json!(1));
    until("it is known", || member.shares.status().overlapping).await;
    let grace = Duration::from_secs(90);
    member.means.as_ref().unwrap().send_replace(Means { client, overlap: Some(grace) });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(*member.names(), names);
    set(&cluster, 2, 2, |_| {});
    let ready = tokio::time::Instant::now();
    until("dropped", || !member.shares.status().overlapping).await;
    assert!(ready.elapsed() >= grace, "{:?}", ready.elapsed());
}

//! How a list/watch comes back, in virtual time: at once where the API server is well, at a slowing pace where it is not.

use std::collections::BTreeSet;
use std::time::Duration;

use ksm_core::shard::{Scheme, Shard};
use ksm_testbed::{Cluster, Fault, Verb, WatchFault};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::autoshard::{fill, until};
use crate::control_plane::ControlPlane;
use crate::member::Member;

/// A process that has everything, of a cluster of 40 config maps.
async fn synced(cluster: &Cluster, plane: &ControlPlane) -> Member {
    fill(cluster, 40);
    let member = Member::start(&plane.client(None), Shard::WHOLE.into());
    until("synced", || member.progress.is_synced()).await;
    member
}

fn add(cluster: &Cluster, name: &str) {
    let metadata = json!({"namespace": "team-a", "name": name});
    cluster.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_a_410_is_followed_by_a_list_at_once() {
    for streamed in [true, false] {
        let cluster = Cluster::default();
        let plane = ControlPlane::new(&cluster, &[true], streamed);
        let mut member = synced(&cluster, &plane).await;
        plane.set_down(true);
        // Long enough for pauses to have grown to their limit.
        sleep(Duration::from_secs(600)).await;
        add(&cluster, "while-away");
        cluster.compact();
        let stats = plane.servers()[0].stats().clone();
        let before = stats.requests("configmaps", Verb::Watch);
        plane.set_down(false);
        until("the watch is tried again", || stats.requests("configmaps", Verb::Watch) > before).await;
        let told = Instant::now();
        until("what happened meanwhile is seen", || member.names().len() == 41).await;
        assert!(told.elapsed() < Duration::from_secs(1), "{:?}", told.elapsed());
        // And the outage is forgotten: the next failure is waited for as the first one was.
        plane.cut();
        add(&cluster, "later");
        let cut = Instant::now();
        until("the watch is resumed", || member.names().len() == 42).await;
        assert!(cut.elapsed() < Duration::from_secs(2), "{:?}", cut.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_always_ends_with_410_is_no_endless_series_of_lists() {
    // R27: neither if it ends at once nor if it brings something before.
    for after in [0, 1] {
        let cluster = Cluster::default();
        let plane = ControlPlane::new(&cluster, &[true], false);
        let server = &plane.servers()[0];
        server
            .faults()
            .add(Fault::Watch { after, event: WatchFault::Error { code: 410 } }.always_on("configmaps", Verb::Watch));
        let mut member = synced(&cluster, &plane).await;
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(600) {
            add(&cluster, "changing");
            assert!(member.names().len() >= 40, "what was read before stays served");
            sleep(Duration::from_millis(50)).await;
        }
        let lists = server.stats().requests("configmaps", Verb::List);
        assert!((10..60).contains(&lists), "{lists} lists in ten minutes");
        server.faults().clear();
        add(&cluster, "new");
        until("the new object is seen", || member.names().len() == 42).await;
    }
}

#[tokio::test(start_paused = true)]
async fn objects_are_counted_though_nobody_looks() {
    let cluster = Cluster::default();
    let plane = ControlPlane::new(&cluster, &[true], true);
    fill(&cluster, 40);
    let client = plane.client(None);
    let members: Vec<_> =
        (0..2).map(|ordinal| Member::start(&client, Shard::new(ordinal, 2, Scheme::Range).unwrap().into())).collect();
    let objects = || members.iter().map(|member| member.progress.objects.get()).sum::<u64>();
    until("all are counted", || objects() == 40).await;
    add(&cluster, "new");
    until("the new one is counted", || objects() == 41).await;
    cluster.delete("configmaps", "team-a", "new").unwrap();
    until("the deleted one is not", || objects() == 40).await;
}

#[tokio::test(start_paused = true)]
async fn control_events_and_broken_ones_reach_every_shard() {
    // R23, https://github.com/kubernetes/kube-state-metrics/issues/2993
    for (sharding, scheme) in [(true, Scheme::Range), (false, Scheme::Range), (false, Scheme::Md5)] {
        let cluster = Cluster::default();
        let mut names = fill(&cluster, 80);
        let plane = ControlPlane::new(&cluster, &[sharding], false);
        let (client, faults) = (plane.client(None), plane.servers()[0].faults().clone());
        let shard = |ordinal| Shard::new(ordinal, 4, scheme).unwrap();
        let mut members: Vec<_> = (0..4).map(|ordinal| Member::start(&client, shard(ordinal).into())).collect();
        until("synced", || members.iter().all(|member| member.progress.is_synced())).await;
        for event in [WatchFault::Error { code: 410 }, WatchFault::UnknownType, WatchFault::NoMetadata] {
            let is_error = event != WatchFault::Error { code: 410 };
            let seen = |member: &Member| (member.progress.relists.get(), member.progress.watches_cut.get());
            let before: Vec<_> = members.iter().map(seen).collect();
            faults.add(Fault::Watch { after: 0, event: event.clone() }.always_on("configmaps", Verb::Watch));
            plane.cut();
            // Some strike with the first event only, and each shard has one.
            fill(&cluster, 80);
            until("every shard lists anew", || {
                members.iter().zip(&before).all(|(member, before)| seen(member).0 > before.0)
            })
            .await;
            let errors = u64::from(is_error);
            let failed = members.iter().zip(&before).all(|(member, before)| seen(member).1 >= before.1 + errors);
            assert!(failed, "{event:?}");
            faults.clear();
            plane.cut();
            let name = format!("new-{event:?}").to_lowercase().replace(|c: char| !c.is_alphanumeric(), "-");
            add(&cluster, &name);
            names.insert(name);
            until("the new object is seen", || {
                members.iter_mut().map(|m| m.names().len()).sum::<usize>() == names.len()
            })
            .await;
            let union: BTreeSet<String> = members.iter_mut().flat_map(|member| member.names().clone()).collect();
            assert_eq!(union, names, "{event:?}");
        }
    }
}

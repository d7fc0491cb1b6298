//! How a list/watch takes another share: what it lost goes at once, and nobody is told that it has what it gained before
//! it has.

use std::time::Duration;

use ksm_core::shard::{Scheme, Shard, Share};
use ksm_core::watch::Shares;
use ksm_testbed::{Cluster, Fault, Verb};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::autoshard::{fill, owned_by_set, pod, set, until};
use crate::control_plane::ControlPlane;
use crate::member::Member;

fn share(shards: &[(u32, u32)]) -> Share {
    Share::union(shards.iter().map(|&(ordinal, total)| Shard::new(ordinal, total, Scheme::Range).unwrap()))
}

/// A member that serves that share of 60 config maps.
async fn serving(cluster: &Cluster, plane: &ControlPlane, first: Share) -> Member {
    fill(cluster, 60);
    let shares = Shares::unknown(Scheme::Range);
    shares.assign(first);
    let member = Member::start(&plane.client(None), shares);
    until("synced", || member.progress.is_synced()).await;
    member
}

/// How many of the names belong to a share.
fn owned(cluster: &Cluster, member: &mut Member, share: &Share) -> usize {
    let uid = |name: &String| {
        let object = cluster.get("configmaps", "team-a", name).unwrap().unwrap();
        object["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    member.names().iter().filter(|name| share.owns(&uid(name))).count()
}

/// No list is answered from now on.
fn refuse_lists(plane: &ControlPlane) {
    for verb in [Verb::List, Verb::StreamedList] {
        let overloaded = Fault::Status { code: 503, retry_after: Some(60) };
        plane.servers()[0].faults().add(overloaded.always_on("configmaps", verb));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_is_gone_before_what_was_gained_is_listed() {
    let cluster = Cluster::default();
    let plane = ControlPlane::new(&cluster, &[true], true);
    let mut member = serving(&cluster, &plane, share(&[(0, 2)])).await;
    let before = owned(&cluster, &mut member, &share(&[(0, 4)]));
    refuse_lists(&plane);
    member.shares.assign(share(&[(0, 4), (2, 4)]));
    until("it is known", || member.progress.is_resharding()).await;
    sleep(Duration::from_secs(10)).await;
    assert!(member.progress.is_resharding() && !member.shares.is_taken());
    assert_eq!(owned(&cluster, &mut member, &share(&[(1, 4)])), 0);
    assert_eq!((owned(&cluster, &mut member, &share(&[(0, 4)])), before > 0), (before, true), "the rest is served on");
    assert!(member.shares.status().given_away > 0);
    plane.servers()[0].faults().clear();
    until("taken", || member.shares.is_taken()).await;
    assert!(owned(&cluster, &mut member, &share(&[(2, 4)])) > 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_is_gone_though_the_list_is_read_anew() {
    let cluster = Cluster::default();
    let plane = ControlPlane::new(&cluster, &[true], true);
    let mut member = serving(&cluster, &plane, share(&[(0, 1)])).await;
    refuse_lists(&plane);
    // Its version is lost, so that it has to list, and cannot.
    plane.set_down(true);
    let metadata = json!({"namespace": "team-a", "name": "new"});
    cluster.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
    cluster.compact();
    plane.set_down(false);
    until("a list fails", || member.progress.lists_failed.get() > 0).await;
    member.shares.assign(share(&[(0, 2)]));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(owned(&cluster, &mut member, &share(&[(1, 2)])), 0);
    assert!(!member.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_with_the_first_answer_and_not_with_the_list() {
    for streamed in [true, false] {
        let cluster = Cluster::default();
        fill(&cluster, 60);
        let plane = ControlPlane::new(&cluster, &[false], streamed);
        let faults = plane.servers()[0].faults();
        let verb = if streamed { Verb::StreamedList } else { Verb::List };
        faults.add(Fault::Status { code: 403, retry_after: None }.on("configmaps", verb, 1));
        // The list never ends.
        faults.add(Fault::StallAfterBytes { bytes: 10 }.on("configmaps", verb, 1));
        let member = Member::start(&plane.client(None), Shard::WHOLE.into());
        until("refused", || member.progress.is_refused()).await;
        assert!(member.progress.is_settled() && member.shares.is_taken(), "nobody waits for what may not be read");
        let refused = Instant::now();
        until("answered", || !member.progress.is_refused()).await;
        assert!(refused.elapsed() < Duration::from_secs(3), "{:?}", refused.elapsed());
        assert!(!member.progress.is_settled() && !member.shares.is_taken() && !member.progress.is_synced());
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_credentials_are_waited_for() {
    let cluster = Cluster::default();
    fill(&cluster, 60);
    let plane = ControlPlane::new(&cluster, &[true], true);
    for verb in [Verb::List, Verb::StreamedList] {
        let fault = Fault::Status { code: 401, retry_after: None };
        plane.servers()[0].faults().add(fault.always_on("configmaps", verb));
    }
    let member = Member::start(&plane.client(None), Shard::WHOLE.into());
    until("it pauses", || member.progress.lists_failed.get() > 3).await;
    assert!(!member.progress.is_settled() && !member.shares.is_taken());
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_is_refused_for_a_moment_is_waited_for() {
    // At its first list, and as it gains what shard 1 had.
    for first in [true, false] {
        let cluster = Cluster::default();
        fill(&cluster, 60);
        let plane = ControlPlane::new(&cluster, &[true], true);
        let grace = Duration::from_secs(30);
        set(&cluster, 1, 2, |_| {});
        pod(&cluster, "ksm-0", owned_by_set());
        let refuse = || {
            for verb in [Verb::List, Verb::StreamedList] {
                let fault = Fault::Status { code: 403, retry_after: None };
                plane.servers()[0].faults().add(fault.always_on("configmaps", verb));
            }
        };
        if first {
            refuse();
        }
        let member = Member::start_pod(&plane.client(None), 0, Scheme::Range, Some(grace));
        if !first {
            until("synced", || member.progress.is_synced()).await;
            refuse();
            set(&cluster, 2, 1, |_| {});
        }
        until("refused", || member.progress.is_refused()).await;
        let refused = Instant::now();
        until("excused", || {
            assert_eq!(member.progress.is_settled(), member.shares.is_taken());
            member.progress.is_settled()
        })
        .await;
        assert!(refused.elapsed() > grace - Duration::from_secs(1), "{:?}", refused.elapsed());
        plane.servers()[0].faults().clear();
        until("listed", || member.progress.is_synced() && !member.progress.is_resharding()).await;
    }
}

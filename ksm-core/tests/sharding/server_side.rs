//! Who filters by shard, whatever API servers say about it and however often they fail.

use std::collections::BTreeSet;
use std::time::Duration;

use ksm_core::shard::{Scheme, Shard};
use ksm_core::watch::Filtering;
use ksm_testbed::{Cluster, Fault, Stats, Verb};
use tokio::time::sleep;

use crate::autoshard::{fill, until};
use crate::control_plane::ControlPlane;
use crate::member::Member;

/// The first of two shards.
fn half(plane: &ControlPlane) -> Member {
    Member::start(&plane.client(None), Shard::new(0, 2, Scheme::Range).unwrap().into())
}

/// How many lists and watches were asked for without the selector.
fn unfiltered(stats: &Stats) -> usize {
    stats.records().iter().filter(|record| record.parameter("shardSelector").is_none()).count()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_the_selector_after_all_is_asked_without() {
    for verb in [Verb::List, Verb::StreamedList, Verb::Watch] {
        for code in [400, 422, 500] {
            let cluster = Cluster::default();
            let names = fill(&cluster, 60);
            let plane = ControlPlane::new(&cluster, &[true], verb != Verb::List);
            let server = &plane.servers()[0];
            if verb == Verb::List {
                // The probe is a list too, and is answered.
                server.faults().add(Fault::CutAfterBytes { bytes: u64::MAX }.on("configmaps", verb, 1));
            }
            server.faults().add(Fault::RefuseShardSelector { code }.on("configmaps", verb, 1));
            let mut member = half(&plane);
            until("synced", || member.progress.is_synced()).await;
            if verb == Verb::Watch {
                plane.cut();
                sleep(Duration::from_secs(10)).await;
            }
            assert_eq!(member.progress.filtering(), Filtering::Local, "{verb:?} {code}");
            assert!(unfiltered(server.stats()) > 0, "{verb:?} {code}");
            assert_eq!(member.progress.lists_failed.get(), 0, "{verb:?} {code}");
            assert_eq!(server.faults().pending(), [], "{verb:?} {code}");
            let foreign = member.progress.foreign_objects.get();
            assert_eq!(foreign > 0, verb != Verb::Watch, "{verb:?} {code}: {foreign}");
            assert!(!member.names().is_empty() && member.names().len() < names.len());
            // Lists are streamed still: it is not that which was refused.
            let streamed = server.stats().requests("configmaps", Verb::StreamedList);
            assert_eq!(streamed > 1, verb == Verb::StreamedList, "{verb:?} {code}: {streamed}");
            let paged = server.stats().requests("configmaps", Verb::List);
            assert_eq!(paged > 2, verb == Verb::List, "{verb:?} {code}: {paged}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_is_not_asked_for_the_whole_cluster() {
    for verb in [Verb::List, Verb::StreamedList, Verb::Watch] {
        let cluster = Cluster::default();
        fill(&cluster, 60);
        let plane = ControlPlane::new(&cluster, &[true], true);
        let server = &plane.servers()[0];
        server.faults().add(Fault::Status { code: 500, retry_after: None }.on("configmaps", verb, 2));
        let member = half(&plane);
        until("synced", || member.progress.is_synced()).await;
        plane.cut();
        // Past the time for which it is believed that the API server filters.
        sleep(Duration::from_secs(90)).await;
        plane.cut();
        sleep(Duration::from_secs(90)).await;
        assert_eq!(server.faults().pending(), [], "{verb:?}");
        assert_eq!((unfiltered(server.stats()), member.progress.foreign_objects.get()), (0, 0), "{verb:?}");
        assert_eq!(member.progress.filtering(), Filtering::ServerSide, "{verb:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_echo_of_another_selector_is_none() {
    let cluster = Cluster::default();
    let names = fill(&cluster, 60);
    let plane = ControlPlane::new(&cluster, &[true], true);
    for verb in [Verb::List, Verb::StreamedList, Verb::Watch] {
        plane.servers()[0].faults().add(Fault::HalveShardSelector.always_on("configmaps", verb));
    }
    let client = plane.client(None);
    let mut members: Vec<_> =
        (0..2).map(|ordinal| Member::start(&client, Shard::new(ordinal, 2, Scheme::Range).unwrap().into())).collect();
    until("synced", || members.iter().all(|member| member.progress.is_synced())).await;
    let union: BTreeSet<String> = members.iter_mut().flat_map(|member| member.names().clone()).collect();
    assert_eq!(union, names);
    assert!(members.iter().all(|member| member.progress.filtering() == Filtering::Local));
}

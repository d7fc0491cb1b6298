//! List/watch against the simulated API server: what readers see, whatever goes wrong.
//!
//! Every wait is for a condition, with a deadline; nothing is timed.
#![cfg(feature = "runtime")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ksm_core::family::{FamilyInfo, Plan};
use ksm_core::resource::{AnyResource, Descriptor, Rendered};
use ksm_core::resources;
use ksm_core::shard::{Scheme, Shard};
use ksm_core::store::{Reader, Store, TextReader};
use ksm_core::view::{DecodeError, Encoding, ObjectMeta};
use ksm_core::watch::{Count, Filtering, Phase, Progress, Watch};
use ksm_testbed::{Fault, Testbed, Verb, WatchFault};
use serde_json::json;

/// Longer than any bounded wait of a list/watch, back-off included.
const DEADLINE: Duration = Duration::from_secs(60);

/// One running list/watch.
struct Running {
    reader: Reader,
    progress: Arc<Progress>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    /// Names of the objects that readers see, from the family ending in `_created`.
    fn names(&self, family: &str, label: &str) -> BTreeSet<String> {
        let plan_index = self.family(family);
        let snapshot = self.reader.snapshot();
        let (mut text, mut reader) = (Vec::new(), TextReader::default());
        snapshot.blocks().iter().for_each(|block| block.append(plan_index, &mut reader, &mut text));
        let text = String::from_utf8(text).unwrap();
        let start = format!("{label}=\"");
        text.lines().map(|line| line.split(&start).nth(1).unwrap().split('"').next().unwrap().to_owned()).collect()
    }

    fn family(&self, name: &str) -> usize {
        let table = resources::find(if name.starts_with("kube_pod") { "pods" } else { "configmaps" }).unwrap();
        let families = table.families();
        Plan::by_default(&families).families().iter().position(|&index| families[index].name == name).unwrap()
    }

    fn config_maps(&self) -> BTreeSet<String> {
        self.names("kube_configmap_created", "configmap")
    }

    fn objects(&self) -> usize {
        self.reader.snapshot().objects()
    }
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts a list/watch of one resource.
fn start(testbed: &Testbed, resource: &str, shard: Shard, change: impl FnOnce(&mut Watch)) -> Running {
    let resource: &'static dyn AnyResource = resources::find(resource).unwrap();
    let plan = Plan::by_default(&resource.families());
    let store = Store::new(plan.families().len());
    let (reader, progress) = (store.reader(), Arc::new(Progress::default()));
    let mut watch = Watch {
        resource: Arc::new(resource),
        plan,
        namespace: None,
        field_selector: None,
        shares: shard.into(),
        use_cache: false,
        object_limit: None,
        store,
        progress: Arc::clone(&progress),
        outage: Arc::default(),
    };
    change(&mut watch);
    let mut config = kube::Config::new(testbed.url().parse().unwrap());
    config.default_retry = false;
    let client = kube::Client::try_from(config).unwrap();
    Running { reader, progress, task: tokio::spawn(watch.run(client)) }
}

fn start_config_maps(testbed: &Testbed) -> Running {
    start(testbed, "configmaps", Shard::WHOLE, |_| {})
}

fn config_map(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team-a", "name": name}})
}

fn fill(testbed: &Testbed, count: usize) -> BTreeSet<String> {
    let names: BTreeSet<String> = (0..count).map(|i| format!("cm-{i:04}")).collect();
    for name in &names {
        testbed.cluster().apply(config_map(name)).unwrap();
    }
    names
}

/// Adds one object and waits until readers see exactly what the cluster has.
async fn check_follows(testbed: &Testbed, running: &Running, mut names: BTreeSet<String>, name: &str) {
    testbed.cluster().apply(config_map(name)).unwrap();
    names.insert(name.to_owned());
    until("the new object is seen", || running.config_maps() == names).await;
}

#[tokio::test]
async fn a_streamed_list_is_one_request_that_goes_on_with_the_changes() {
    let testbed = Testbed::builder().start().await.unwrap();
    let mut names = fill(&testbed, 700);
    let running = start_config_maps(&testbed);
    until("synced", || running.progress.is_synced()).await;
    assert_eq!(running.config_maps(), names);
    check_follows(&testbed, &running, names.clone(), "new").await;
    testbed.cluster().delete("configmaps", "team-a", "cm-0003").unwrap();
    names.remove("cm-0003");
    names.insert("new".into());
    until("the deleted object is gone", || running.config_maps() == names).await;
    assert_eq!(testbed.stats().requests("configmaps", Verb::List), 0);
    assert_eq!(testbed.stats().requests("configmaps", Verb::Watch), 0);
    assert_eq!(testbed.stats().requests("configmaps", Verb::StreamedList), 1);
    assert_eq!(running.progress.phase(), Phase::Watching);
}

#[tokio::test]
async fn a_server_without_streamed_lists_is_read_page_by_page() {
    // R28, R29
    let testbed = Testbed::builder().watch_list(false).start().await.unwrap();
    let names = fill(&testbed, 1200);
    testbed.faults().add(Fault::ExpiredContinue { page: 3 }.on("configmaps", Verb::List, 1));
    let running = start_config_maps(&testbed);
    until("synced", || running.progress.is_synced()).await;
    assert_eq!(running.config_maps(), names);
    // Two pages before the expired token, then all three.
    assert_eq!(testbed.stats().requests("configmaps", Verb::List), 6);
    assert_eq!(running.progress.lists_failed.get(), 1);
    check_follows(&testbed, &running, names, "new").await;
}

#[tokio::test]
async fn a_streamed_list_that_never_ends_is_given_up_for_pages() {
    // R29, https://github.com/kubernetes/kubernetes/issues/122805
    let testbed = Testbed::builder().start().await.unwrap();
    let names = fill(&testbed, 20);
    testbed.faults().add(Fault::NoInitialEventsEnd.always_on("configmaps", Verb::StreamedList));
    let running = start_config_maps(&testbed);
    until("synced", || running.progress.is_synced()).await;
    assert_eq!(running.config_maps(), names);
    assert_eq!(testbed.stats().requests("configmaps", Verb::StreamedList), 1);
    assert_eq!(testbed.stats().requests("configmaps", Verb::List), 1);
    check_follows(&testbed, &running, names, "new").await;
}

#[tokio::test]
async fn a_streamed_list_that_never_ends_is_given_up_while_objects_change() {
    // R29: changes on the stream are no sign that the list goes on.
    let testbed = Testbed::builder().start().await.unwrap();
    let names = fill(&testbed, 20);
    testbed.faults().add(Fault::NoInitialEventsEnd.always_on("configmaps", Verb::StreamedList));
    let running = start_config_maps(&testbed);
    let mut changes = 0;
    until("synced", || {
        changes += 1;
        let mut changed = config_map("cm-0000");
        changed["metadata"]["labels"] = json!({"change": changes.to_string()});
        testbed.cluster().apply(changed).unwrap();
        running.progress.is_synced()
    })
    .await;
    assert_eq!(running.config_maps(), names);
    assert_eq!(testbed.stats().requests("configmaps", Verb::List), 1);
}

#[tokio::test]
async fn each_410_is_one_relist_without_a_hole() {
    // R27, R48
    for fault in [
        Fault::Watch { after: 0, event: WatchFault::Error { code: 410 } },
        Fault::Status { code: 410, retry_after: None },
    ] {
        let testbed = Testbed::builder().watch_list(false).start().await.unwrap();
        let names = fill(&testbed, 600);
        testbed.faults().add(fault.on("configmaps", Verb::Watch, 2));
        let running = start_config_maps(&testbed);
        until("synced", || running.progress.is_synced()).await;
        until("two relists", || {
            assert_eq!(running.objects(), names.len(), "a reader saw a hole");
            running.progress.relists.get() == 2
        })
        .await;
        check_follows(&testbed, &running, names, "new").await;
        assert_eq!(running.progress.relists.get(), 2);
    }
}

#[tokio::test]
async fn broken_streams_lead_to_a_relist_and_lose_nothing() {
    // R23; the last one is a connection cut inside a frame, after which the watch is resumed.
    for event in [
        WatchFault::UnknownType,
        WatchFault::NoMetadata,
        WatchFault::Garbage,
        WatchFault::HugeFrame,
        WatchFault::CutFrame,
    ] {
        let testbed = Testbed::builder().watch_list(false).start().await.unwrap();
        let names = fill(&testbed, 30);
        let relists = u64::from(event != WatchFault::CutFrame);
        testbed.faults().add(Fault::Watch { after: 0, event: event.clone() }.on("configmaps", Verb::Watch, 1));
        let running = start_config_maps(&testbed);
        until("synced", || running.progress.is_synced()).await;
        // Some faults strike with the first event only.
        testbed.cluster().apply(config_map("cm-0000")).unwrap();
        until("the failure is seen", || running.progress.watches_cut.get() == 1).await;
        assert_eq!(running.objects(), names.len());
        check_follows(&testbed, &running, names, "new").await;
        assert_eq!(running.progress.relists.get(), relists, "{event:?}");
        // Opened twice, and cut once; none could not be opened. The new object may have come with the list before.
        let Progress { watches_succeeded, watches_failed, watches_cut, .. } = &*running.progress;
        until("it is watched again", || watches_succeeded.get() == 2).await;
        assert_eq!([watches_failed, watches_cut].map(Count::get), [0, 1], "{event:?}");
    }
}

#[tokio::test]
async fn watches_count_when_they_are_opened_or_cannot_be() {
    for streamed in [true, false] {
        let testbed = Testbed::builder().watch_list(streamed).start().await.unwrap();
        let names = fill(&testbed, 3);
        // The server ends the first one at once, does not open the second, and lets the third run.
        testbed.faults().add(Fault::Watch { after: 0, event: WatchFault::End }.on("configmaps", Verb::Watch, 1));
        testbed.faults().add(Fault::Status { code: 503, retry_after: None }.on("configmaps", Verb::Watch, 1));
        let running = start_config_maps(&testbed);
        until("synced", || running.progress.is_synced()).await;
        if streamed {
            // What goes on from a streamed list is a watch as well.
            assert_eq!(running.progress.watches_succeeded.get(), 1);
            testbed.down().await;
            testbed.up().await;
        }
        until("the second one fails", || running.progress.watches_failed.get() == 1).await;
        check_follows(&testbed, &running, names, "new").await;
        let Progress { watches_succeeded, watches_failed, watches_cut, .. } = &*running.progress;
        let cuts = u64::from(streamed);
        let counts = [watches_succeeded, watches_failed, watches_cut].map(Count::get);
        assert_eq!(counts, [2 + cuts, 1, cuts], "streamed: {streamed}");
    }
}

#[tokio::test]
async fn an_object_that_does_not_decode_costs_only_itself() {
    for streamed in [true, false] {
        let testbed = Testbed::builder().watch_list(streamed).start().await.unwrap();
        let names = fill(&testbed, 10);
        let fault = if streamed {
            Fault::Watch { after: 4, event: WatchFault::BadObject }.on("configmaps", Verb::StreamedList, 1)
        } else {
            Fault::BadItem { index: 4 }.on("configmaps", Verb::List, 1)
        };
        testbed.faults().add(fault);
        let running = start_config_maps(&testbed);
        until("synced", || running.progress.is_synced()).await;
        assert_eq!(running.config_maps(), names);
        assert_eq!(running.progress.object_errors.get(), 1);
        check_follows(&testbed, &running, names, "new").await;
    }
}

/// Config maps, of which one cannot be rendered any more from some moment on.
struct Fragile {
    inner: &'static dyn AnyResource,
    name: &'static str,
    broken: AtomicBool,
}

impl AnyResource for Fragile {
    fn descriptor(&self) -> Descriptor<'_> {
        self.inner.descriptor()
    }

    fn families(&self) -> Vec<FamilyInfo<'_>> {
        self.inner.families()
    }

    fn base_labels(&self) -> Vec<&str> {
        self.inner.base_labels()
    }

    fn render(
        &self,
        encoding: Encoding,
        bytes: &[u8],
        plan: &Plan,
        admit: &mut dyn FnMut(&ObjectMeta) -> bool,
        out: &mut Rendered,
    ) -> Result<bool, DecodeError> {
        let mut checked = |meta: &ObjectMeta| {
            assert!(meta.name != self.name || !self.broken.load(Ordering::Relaxed), "as the test wants it");
            admit(meta)
        };
        self.inner.render(encoding, bytes, plan, &mut checked, out)
    }
}

#[tokio::test]
async fn what_was_served_of_an_object_that_fails_stays_through_changes_and_relists() {
    for streamed in [true, false] {
        let testbed = Testbed::builder().watch_list(streamed).start().await.unwrap();
        let mut names = fill(&testbed, 10);
        let inner: &'static dyn AnyResource = resources::find("configmaps").unwrap();
        let fragile = Arc::new(Fragile { inner, name: "cm-0004", broken: AtomicBool::new(false) });
        let resource = Arc::clone(&fragile);
        let running = start(&testbed, "configmaps", Shard::WHOLE, |watch| watch.resource = resource);
        until("synced", || running.progress.is_synced()).await;
        fragile.broken.store(true, Ordering::Relaxed);
        testbed.cluster().apply(config_map("cm-0004")).unwrap();
        check_follows(&testbed, &running, names.clone(), "new").await;
        names.insert("new".to_owned());
        testbed.cluster().expire_watches("configmaps").unwrap();
        until("relisted", || running.progress.relists.get() == 1).await;
        assert!(running.progress.object_errors.get() > 0);
        assert_eq!(running.config_maps(), names);
        // One that is gone is gone, whatever was wrong with it.
        testbed.cluster().delete("configmaps", "team-a", "cm-0004").unwrap();
        names.remove("cm-0004");
        check_follows(&testbed, &running, names, "newer").await;
    }
}

#[tokio::test]
async fn shards_add_up_whatever_the_server_does_with_the_selector() {
    // R21, R22
    for (supported, ignoring, streamed) in
        [(true, false, true), (true, false, false), (true, true, true), (false, false, true), (false, false, false)]
    {
        let testbed = Testbed::builder().watch_list(streamed).sharded_list_watch(supported).start().await.unwrap();
        let mut names = fill(&testbed, 1200);
        if ignoring {
            for verb in [Verb::List, Verb::Watch, Verb::StreamedList] {
                testbed.faults().add(Fault::IgnoreShardSelector.always_on("configmaps", verb));
            }
        }
        for scheme in [Scheme::Range, Scheme::Md5] {
            let shards: Vec<_> = (0..3)
                .map(|ordinal| start(&testbed, "configmaps", Shard::new(ordinal, 3, scheme).unwrap(), |_| {}))
                .collect();
            let union = || -> Vec<String> { shards.iter().flat_map(Running::config_maps).collect() };
            until("synced", || shards.iter().all(|shard| shard.progress.is_synced())).await;
            let new = format!("new-{scheme}");
            testbed.cluster().apply(config_map(&new)).unwrap();
            names.insert(new);
            until("the new object is seen", || union().len() == names.len()).await;
            assert_eq!(union().into_iter().collect::<BTreeSet<_>>(), names);
            let server_side = supported && !ignoring && scheme == Scheme::Range;
            for shard in &shards {
                let expected = if server_side { Filtering::ServerSide } else { Filtering::Local };
                assert_eq!(shard.progress.filtering(), expected);
                assert_eq!(shard.progress.foreign_objects.get() == 0, server_side);
                assert!(shard.objects() > 300, "{}", shard.objects());
            }
        }
    }
}

#[tokio::test]
async fn a_streamed_list_that_says_of_nothing_that_it_is_deleted_is_not_believed() {
    // R23
    let testbed = Testbed::builder().start().await.unwrap();
    let names = fill(&testbed, 30);
    let event = WatchFault::DeletedNoMetadata;
    testbed.faults().add(Fault::Watch { after: 5, event }.on("configmaps", Verb::StreamedList, 1));
    let running = start_config_maps(&testbed);
    until("synced", || running.progress.is_synced()).await;
    assert_eq!(running.config_maps(), names);
    assert_eq!(running.progress.lists_failed.get(), 1);
}

#[tokio::test]
async fn a_relist_from_the_watch_cache_does_not_go_back_in_time() {
    for streamed in [true, false] {
        let testbed = Testbed::builder().watch_list(streamed).start().await.unwrap();
        let mut names = fill(&testbed, 20);
        let running = start(&testbed, "configmaps", Shard::WHOLE, |watch| watch.use_cache = true);
        until("synced", || running.progress.is_synced()).await;
        check_follows(&testbed, &running, names.clone(), "new").await;
        names.insert("new".to_owned());
        let verb = if streamed { Verb::StreamedList } else { Verb::List };
        // A cache that is behind, the second time.
        testbed.faults().add(Fault::Watch { after: 0, event: WatchFault::Error { code: 410 } }.on(
            "configmaps",
            Verb::Watch,
            1,
        ));
        testbed.down().await;
        testbed.up().await;
        until("relisted", || running.progress.relists.get() == 1).await;
        testbed.faults().add(Fault::Status { code: 504, retry_after: None }.on("configmaps", verb, 1));
        testbed.faults().add(Fault::Watch { after: 0, event: WatchFault::Error { code: 410 } }.on(
            "configmaps",
            Verb::Watch,
            1,
        ));
        testbed.down().await;
        testbed.up().await;
        until("relisted again", || running.progress.relists.get() == 2).await;
        assert_eq!(running.config_maps(), names);
        let records = testbed.stats().records();
        let lists = records.iter().filter(|record| match streamed {
            true => record.parameter("sendInitialEvents").is_some(),
            false => record.parameter("watch").is_none(),
        });
        let versions: Vec<_> = lists.map(|record| record.parameter("resourceVersion").map(str::to_owned)).collect();
        assert_eq!((versions.len(), versions[0].as_deref()), (4, Some("0")), "{versions:?}");
        // Not older than what was seen, and as of now where the cache cannot tell.
        let new = testbed.cluster().get("configmaps", "team-a", "new").unwrap().unwrap();
        let seen: u64 = new["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        let version = |i: usize| versions[i].as_ref().unwrap().parse::<u64>().unwrap();
        assert!(version(1) >= seen && version(2) >= version(1), "{versions:?}");
        assert_eq!(versions[3], None, "{versions:?}");
    }
}

#[tokio::test]
async fn an_outage_leaves_the_old_view_served_and_is_recovered_from() {
    let testbed = Testbed::builder().start().await.unwrap();
    let names = fill(&testbed, 50);
    let running = start_config_maps(&testbed);
    until("synced", || running.progress.is_synced()).await;
    testbed.down().await;
    until("it backs off", || running.progress.phase() == Phase::BackingOff).await;
    assert_eq!(running.config_maps(), names);
    testbed.cluster().apply(config_map("while-away")).unwrap();
    testbed.cluster().compact();
    testbed.up().await;
    let mut after = names;
    after.insert("while-away".into());
    until("what happened meanwhile is seen", || running.config_maps() == after).await;
    check_follows(&testbed, &running, after, "new").await;
}

#[tokio::test]
async fn overload_answers_are_waited_out() {
    let testbed = Testbed::builder().start().await.unwrap();
    let names = fill(&testbed, 5);
    testbed.faults().add(Fault::Status { code: 429, retry_after: Some(1) }.on("configmaps", Verb::StreamedList, 1));
    testbed.faults().add(Fault::Status { code: 500, retry_after: None }.on("configmaps", Verb::StreamedList, 1));
    let running = start_config_maps(&testbed);
    until("synced", || running.progress.is_synced()).await;
    assert_eq!(running.config_maps(), names);
    assert_eq!(running.progress.lists_failed.get(), 2);
}

#[tokio::test]
async fn a_refused_resource_is_settled_but_not_synced_and_comes_once_allowed() {
    // R31
    let testbed = Testbed::builder().start().await.unwrap();
    let names = fill(&testbed, 5);
    testbed.faults().add(Fault::Status { code: 403, retry_after: None }.always_on("configmaps", Verb::StreamedList));
    let running = start_config_maps(&testbed);
    until("refused", || running.progress.is_refused()).await;
    assert!(running.progress.is_settled() && !running.progress.is_synced() && !running.progress.is_not_found());
    testbed.faults().clear();
    until("synced", || running.progress.is_synced()).await;
    assert!(!running.progress.is_refused());
    assert_eq!(running.config_maps(), names);
}

#[tokio::test]
async fn a_resource_that_the_api_server_does_not_have_is_told_from_one_that_may_not_be_read() {
    let testbed = Testbed::builder().start().await.unwrap();
    testbed.faults().add(Fault::Status { code: 404, retry_after: None }.always_on("configmaps", Verb::StreamedList));
    let running = start_config_maps(&testbed);
    until("not found", || running.progress.is_not_found()).await;
    assert!(running.progress.is_refused() && running.progress.is_settled());
    testbed.faults().clear();
    testbed.faults().add(Fault::Status { code: 403, retry_after: None }.always_on("configmaps", Verb::StreamedList));
    until("refused", || !running.progress.is_not_found()).await;
    assert!(running.progress.is_refused());
    testbed.faults().clear();
    until("synced", || running.progress.is_synced()).await;
    assert!(!running.progress.is_refused() && !running.progress.is_not_found());
}

#[tokio::test]
async fn pods_move_between_field_selectors_as_they_are_bound() {
    let testbed = Testbed::builder().start().await.unwrap();
    let pod = |node: Option<&str>| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "team-a", "name": "p", "uid": "5f0e2a38-2b6c-4a55-9d53-3a3c2f8d8f10"},
            "spec": {"nodeName": node, "containers": []},
        })
    };
    testbed.cluster().apply(pod(None)).unwrap();
    let on = |selector: &str| {
        let selector = selector.to_owned();
        start(&testbed, "pods", Shard::WHOLE, |watch| watch.field_selector = Some(selector))
    };
    let (node, unscheduled) = (on("spec.nodeName=n1"), on("spec.nodeName="));
    until("synced", || node.progress.is_synced() && unscheduled.progress.is_synced()).await;
    assert_eq!((node.objects(), unscheduled.objects()), (0, 1));
    testbed.cluster().apply(pod(Some("n1"))).unwrap();
    until("handed over", || (node.objects(), unscheduled.objects()) == (1, 0)).await;
}

#[tokio::test]
async fn lists_from_the_watch_cache_and_in_one_namespace_hold_the_same() {
    for streamed in [true, false] {
        let testbed = Testbed::builder().watch_list(streamed).start().await.unwrap();
        let names = fill(&testbed, 700);
        let mut other = config_map("elsewhere");
        other["metadata"]["namespace"] = "team-b".into();
        testbed.cluster().apply(other).unwrap();
        let running = start(&testbed, "configmaps", Shard::WHOLE, |watch| {
            watch.use_cache = true;
            watch.namespace = Some("team-a".into());
        });
        until("synced", || running.progress.is_synced()).await;
        assert_eq!(running.config_maps(), names);
        assert_eq!(testbed.stats().requests("configmaps", Verb::List), u64::from(!streamed));
    }
}

//! Handover: pods are bound to a node on the real API server, and pass from `ksm-unscheduled` to the node's `ksm-node`.
//!
//! Both are scraped all the time, and two watches of the scenario's own note when the events come. What is held against
//! the limits is what is certain: between two scrapes that show a pod it was shown, and between two that do not it was not.
//!
//! Invariant: the node's process shows a pod within a second of the event; a scraper that comes once a second finds it in
//! both at most once; it is in neither for no longer than its two events are apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::e2e::world::World;
use crate::http::Client;
use crate::{interrupt, wait};

const NAMESPACE: &str = "handover";

const NODE: &str = "handover-0";

/// Pods that are bound, and the time between two of them.
const PODS: usize = 50;
const PACE: Duration = Duration::from_millis(60);

/// Time between two scrapes of a process.
const BEAT: Duration = Duration::from_millis(20);

/// A pod is shown this long after its event, at most.
const SHOWN_LIMIT: Duration = Duration::from_secs(1);

/// A scraper that comes this often finds a pod in both at most once.
const SCRAPE_INTERVAL: Duration = Duration::from_secs(1);

/// Events reach the exporters and the scenario over different connections, on a machine that is busy.
const SLACK: Duration = Duration::from_secs(1);

/// Time until all pods are where they belong, and for the watches to end.
const LIMIT: Duration = Duration::from_secs(90);

/// One scrape of a process.
struct Scrape {
    start: Instant,
    end: Instant,
    pods: BTreeSet<String>,
}

impl Scrape {
    fn of(exporter: &Client) -> Result<Self> {
        let start = Instant::now();
        let pods = pods_of(exporter)?;
        Ok(Self { start, end: Instant::now(), pods })
    }
}

/// When each pod's event came.
type Events = BTreeMap<String, Instant>;

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let client = world.api.client()?;
    client.send_json("POST", "/api/v1/namespaces", &json!({"metadata": {"name": NAMESPACE}}))?;
    let names: Vec<String> = (0..PODS).map(|n| format!("handed-{n:02}")).collect();
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let spec = json!({"containers": [{"name": "main", "image": "registry.example.test/main:1"}]});
    for name in &names {
        client.send_json("POST", &pods, &json!({"metadata": {"name": name}, "spec": spec}))?;
    }
    let node = world.start_ours("handover-node", "ksm-node", &[format!("--node={NODE}")])?;
    let unscheduled = world.start_ours("handover-unscheduled", "ksm-unscheduled", &[])?;
    let (node, unscheduled) = (&node.metrics, &unscheduled.metrics);
    let firsts = (Scrape::of(node)?, Scrape::of(unscheduled)?);
    ensure!(firsts.1.pods.len() == PODS, "ksm-unscheduled does not show the {PODS} pods");
    ensure!(firsts.0.pods.is_empty(), "ksm-node shows pods that are bound to no node");
    let version = client.get_json(&format!("{pods}?limit=1"))?;
    let version = version["metadata"]["resourceVersion"].as_str().context("a list has a version")?.to_owned();

    let done = AtomicBool::new(false);
    let (bound, left, node, unscheduled) = thread::scope(|scope| {
        // All four have looked before the first pod is bound: what they miss of it cannot be judged.
        let bound = watch(scope, world, &version, &format!("spec.nodeName%3D{NODE}"), "ADDED")?;
        let left = watch(scope, world, &version, "spec.nodeName%3D", "DELETED")?;
        let scrapes = [scraper(scope, node, firsts.0, &done), scraper(scope, unscheduled, firsts.1, &done)];
        let outcome = bind(&client, &names).and_then(|()| {
            wait::until("every bound pod is shown by its node's process alone", LIMIT, || {
                Ok((pods_of(node)?.len() == PODS && pods_of(unscheduled)?.is_empty()).then_some(()))
            })
        });
        done.store(true, Ordering::Release);
        let [node, unscheduled] = scrapes.map(joined);
        let (bound, left) = (joined(bound), joined(left));
        outcome?;
        Ok::<_, anyhow::Error>((bound?, left?, node?, unscheduled?))
    })?;
    for scrapes in [&node, &unscheduled] {
        ensure!(scrapes.len() > PODS / 2, "{} scrapes are too few to judge by", scrapes.len());
    }
    let figures = judge(&names, &bound, &left, &node, &unscheduled)?;
    client.send_json("DELETE", &pods, &json!({"gracePeriodSeconds": 0}))?;
    Ok(figures)
}

/// What a scheduler does, for one pod after the other.
fn bind(client: &Client, names: &[String]) -> Result<()> {
    for name in names {
        let target = json!({"apiVersion": "v1", "kind": "Node", "name": NODE});
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target});
        client.send_json("POST", &format!("/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding"), &binding)?;
        thread::sleep(PACE);
        interrupt::check()?;
    }
    Ok(())
}

/// Notes when each pod has an event of that kind on a watch with that selector, which is open when this returns.
fn watch<'scope>(
    scope: &'scope Scope<'scope, '_>,
    world: &World,
    version: &str,
    selector: &str,
    kind: &'static str,
) -> Result<ScopedJoinHandle<'scope, Result<Events>>> {
    let path = format!(
        "/api/v1/namespaces/{NAMESPACE}/pods?watch=true&fieldSelector={selector}&resourceVersion={version}\
         &timeoutSeconds={}",
        LIMIT.as_secs()
    );
    let lines = world.api.client()?.lines(&path)?;
    Ok(scope.spawn(move || {
        let mut events = Events::new();
        for line in lines {
            let (line, now) = (line?, Instant::now());
            let event: Value = serde_json::from_str(&line).context("an event is JSON")?;
            if event["type"] == kind {
                let name = event["object"]["metadata"]["name"].as_str().context("a pod has a name")?;
                events.insert(name.to_owned(), now);
            }
            if events.len() == PODS {
                return Ok(events);
            }
        }
        // The caller knows which are missing.
        Ok(events)
    }))
}

/// Scrapes until it is `done`; `first` is what was scraped before.
fn scraper<'scope>(
    scope: &'scope Scope<'scope, '_>,
    exporter: &Client,
    first: Scrape,
    done: &'scope AtomicBool,
) -> ScopedJoinHandle<'scope, Result<Vec<Scrape>>> {
    let exporter = exporter.clone();
    scope.spawn(move || {
        let mut scrapes = vec![first];
        while !done.load(Ordering::Acquire) {
            let scrape = Scrape::of(&exporter)?;
            let pause = BEAT.saturating_sub(scrape.start.elapsed());
            scrapes.push(scrape);
            thread::sleep(pause);
        }
        Ok(scrapes)
    })
}

fn joined<T>(handle: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Names of the pods of the scenario that a scrape shows.
fn pods_of(exporter: &Client) -> Result<BTreeSet<String>> {
    let answer = exporter.get("/metrics", None)?;
    ensure!(answer.status == 200, "{}/metrics answered {}", exporter.base(), answer.status);
    let start = format!("kube_pod_info{{namespace=\"{NAMESPACE}\",pod=\"");
    let names = answer.body.lines().filter_map(|line| line.strip_prefix(&start)?.split('"').next());
    Ok(names.map(str::to_owned).collect())
}

/// Holds what was scraped against the events.
fn judge(names: &[String], bound: &Events, left: &Events, node: &[Scrape], unscheduled: &[Scrape]) -> Result<String> {
    let (mut shown_after, mut doubled, mut missing, mut apart) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut late = Duration::ZERO;
    for name in names {
        let event = *bound.get(name).with_context(|| format!("no event that {name} was bound"))?;
        let other = *left.get(name).with_context(|| format!("no event that {name} left those without a node"))?;
        let has = |scrape: &Scrape| scrape.pods.contains(name);
        let came = node.iter().position(has).with_context(|| format!("no scrape of ksm-node shows {name}"))?;
        let went = unscheduled.iter().position(|scrape| !has(scrape));
        let went = went.with_context(|| format!("every scrape of ksm-unscheduled shows {name}"))?;
        ensure!(came > 0 && went > 0, "{name} was handed over before the first scrape");
        ensure!(node[came..].iter().all(has), "{name} comes and goes in ksm-node");
        ensure!(!unscheduled[went..].iter().any(has), "{name} goes and comes in ksm-unscheduled");
        // Certain is what lies between the end of one scrape and the start of another.
        let between = |from: &Scrape, to: &Scrape| to.start.saturating_duration_since(from.end);
        let distance = if event > other { event - other } else { other - event };
        let hole = between(&unscheduled[went], &node[came - 1]);
        ensure!(hole <= distance + SLACK, "{name} is in neither for {hole:?}, its events are {distance:?} apart");
        late = late.max(node[came - 1].start.saturating_duration_since(event));
        shown_after.push(node[came].end.saturating_duration_since(event));
        doubled.push(between(&node[came], &unscheduled[went - 1]));
        missing.push(hole);
        apart.push(distance);
    }
    let [shown, doubled, missing, apart] = [shown_after, doubled, missing, apart].map(Spread::of);
    ensure!(late <= SHOWN_LIMIT, "a pod is not shown {} after its event", milliseconds(late));
    ensure!(doubled.longest <= SCRAPE_INTERVAL, "a pod is in both for {}", doubled.longest());
    Ok(format!(
        "{} pods bound, each shown by its node's process {} after the event (longest {}), in both for {} (longest {}), \
         in neither for {} (longest {}), with events {} apart (longest {}); {} and {} scrapes",
        names.len(),
        shown.median(),
        shown.longest(),
        doubled.median(),
        doubled.longest(),
        missing.median(),
        missing.longest(),
        apart.median(),
        apart.longest(),
        node.len(),
        unscheduled.len()
    ))
}

/// The middle and the longest of some times.
struct Spread {
    median: Duration,
    longest: Duration,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        Self { median, longest: times.last().copied().unwrap_or_default() }
    }

    fn median(&self) -> String {
        milliseconds(self.median)
    }

    fn longest(&self) -> String {
        milliseconds(self.longest)
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges one pod, bound at 100 ms by both events, from the times at which each process was scraped (each scrape
    /// takes 2 ms) and whether it was shown.
    #[track_caller]
    fn judged(left_ms: u64, node: &[(u64, bool)], unscheduled: &[(u64, bool)]) -> Result<String> {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let scrapes = |times: &[(u64, bool)]| {
            let scrape = |&(ms, shown): &(u64, bool)| Scrape {
                start: at(ms),
                end: at(ms + 2),
                pods: shown.then(|| "p".to_owned()).into_iter().collect(),
            };
            times.iter().map(scrape).collect::<Vec<_>>()
        };
        let events = |ms| Events::from([("p".to_owned(), at(ms))]);
        judge(&["p".to_owned()], &events(100), &events(left_ms), &scrapes(node), &scrapes(unscheduled))
    }

    #[test]
    fn what_is_certain_is_measured() {
        let figures = judged(150, &[(90, false), (110, true)], &[(90, true), (140, true), (160, false)]).unwrap();
        assert!(figures.contains("12 ms after the event"), "{figures}");
        assert!(figures.contains("in both for 28 ms") && figures.contains("in neither for 0 ms"), "{figures}");
        assert!(figures.contains("events 50 ms apart"), "{figures}");
    }

    #[test]
    fn late_doubled_lost_and_flickering_pods_are_faults() {
        let before = &[(0, true), (120, false), (5000, false)];
        for (node, unscheduled, message) in [
            (
                &[(0, false), (1110, false), (1120, true)][..],
                &[(0, true), (1105, true), (1108, false)][..],
                "after its event",
            ),
            (&[(0, false), (105, true)], &[(0, true), (1300, true), (1310, false)], "in both for"),
            (&[(0, false), (1300, false), (1320, true)], before, "in neither for"),
            (&[(0, false), (105, true), (130, false), (160, true)], before, "comes and goes"),
            (&[(0, false), (105, true)], &[(0, true), (105, false), (110, true), (120, false)], "goes and comes"),
            (&[(0, false), (105, false)], before, "no scrape of ksm-node shows"),
        ] {
            let error = judged(100, node, unscheduled).unwrap_err().to_string();
            assert!(error.contains(message), "{message}: {error}");
        }
    }
}

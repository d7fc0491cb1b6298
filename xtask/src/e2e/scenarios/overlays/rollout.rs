//! A Deployment of ours, rolled over by its controller, under a Prometheus with our scrape configuration.
//!
//! Invariant: no series is away for a moment, from before the new pod is made until the old one is long gone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::monitoring::{Watch, shipped};
use super::pod::Instance;
use super::{LIMIT, NAMESPACE, Run, content};

use crate::interrupt;

/// The workload.
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/kube-state-metrics/deployments/ksm-rest";

const NAME: &str = "ksm-rest";

/// How it is scraped.
const FILE: &str = "scrape.yaml";

/// Prometheus writes of a target that is gone that its series have ended, two scrapes later.
const AFTERMATH: Duration = Duration::from_secs(10);

/// So many rollouts may show a gap before it counts: a scrape that this machine holds up for a second is one as well.
const TRIES: u32 = 3;

/// Changes the template of the pods, and looks at every tenth of a second of what Prometheus has of it.
pub fn check(run: &mut Run<'_>, arguments: &[String]) -> Result<String> {
    let reference = run.reference(arguments)?.metrics.base().trim_start_matches("http://").to_owned();
    let watch = Watch::start(run, "rollout", shipped(FILE)?, &reference)?;
    let mut figure = Err(anyhow::anyhow!("nothing was rolled out"));
    for attempt in 1..=TRIES {
        let rolled = roll(run, &watch, &reference, attempt)?;
        figure = judge(&rolled);
        if figure.is_ok() {
            break;
        }
    }
    let figure = figure.with_context(|| format!("each of {TRIES} rollouts"))?;
    watch.prometheus.process.stop()?;
    Ok(figure)
}

/// What Prometheus has of a rollout; times are seconds since 1970.
struct Rolled {
    begun: f64,
    gone: f64,
    end: f64,
    /// How many series there are, each tenth of a second.
    values: Vec<(f64, f64)>,
}

fn roll(run: &mut Run<'_>, watch: &Watch, reference: &str, attempt: u32) -> Result<Rolled> {
    watch.wait_up(&run.kubelet.instances().collect::<Vec<_>>(), 1)?;
    let of_it = |instance: &&Instance| instance.label("app.kubernetes.io/name") == Some(NAME);
    let old = run.kubelet.instances().find(of_it).context("there is a pod")?.name().to_owned();
    let series = format!(
        "count({{job=\"kube-state-metrics\",instance=\"{NAMESPACE}/{NAME}\",namespace=\"{}\"}})",
        content::NAMESPACE
    );

    let begun = now()?;
    let client = run.api.client().clone();
    let annotated = json!({"spec": {"template": {"metadata": {"annotations": {"rolled": attempt.to_string()}}}}});
    client.send_json("PATCH", DEPLOYMENT, &annotated)?;
    let mut told = false;
    run.kubelet.until("the new pod is there and the old one is gone", LIMIT, |kubelet| {
        let new = kubelet.instances().filter(of_it).find(|instance| instance.name() != old);
        if new.is_some() && !told {
            // Where the process of a pod listens is known only once it runs.
            watch.prometheus.reload(&Watch::config(kubelet.instances(), shipped(FILE)?, reference)?)?;
            told = true;
        }
        let ready = new.is_some_and(|instance| instance.said == "ready");
        Ok((ready && kubelet.instances().filter(of_it).count() == 1).then_some(()))
    })?;
    let gone = now()?;
    run.kubelet.until("some time has passed", 2 * AFTERMATH, |_| {
        Ok((now()? - gone > AFTERMATH.as_secs_f64()).then_some(()))
    })?;
    let instances: Vec<&Instance> = run.kubelet.instances().collect();
    watch.wait_up(&instances, 1)?;
    interrupt::check()?;

    let end = now()?;
    let mut answers = watch.prometheus.query_tenths(&series, begun, end)?;
    ensure!(answers.len() == 1, "{series} has {} series", answers.len());
    Ok(Rolled { begun, gone, end, values: answers.remove(0) })
}

fn judge(rolled: &Rolled) -> Result<String> {
    let Rolled { begun, gone, end, values } = rolled;
    let wanted = values.first().map_or(0.0, |(_, count)| *count);
    ensure!(wanted > 50.0, "hardly a series to lose: {wanted}");
    let mut last = *begun;
    for (time, count) in values {
        let after = time - begun;
        ensure!(time - last < 0.15, "no series at all for {:.1} s, up to {after:.1} s after the change", time - last);
        ensure!(*count == wanted, "{count} of {wanted} series {after:.1} s after the change");
        last = *time;
    }
    ensure!(end - last < 0.15, "no series at all from {:.1} s after the change on", last - begun);
    Ok(format!(
        "{wanted} series through a rollout of {:.0} s, not one of them away at any of {} moments",
        gone - begun,
        values.len()
    ))
}

fn now() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is past 1970")?.as_secs_f64())
}

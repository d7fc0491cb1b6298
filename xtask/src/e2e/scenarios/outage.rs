//! Outage: the API server is killed and comes back on the same port and data.
//!
//! Invariant: while it is down every exporter serves what it last knew; afterwards new objects show up by themselves.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::compare::{View, compare};
use crate::e2e::objects::{self, BULK_NODES};
use crate::e2e::world::{World, rest_resources};
use crate::exporter::Exporter;
use crate::exposition::Format;
use crate::flags::Flags;
use crate::progress::elapsed;
use crate::wait;

/// How long the API server stays away: longer than the first few retries.
const DOWN: Duration = Duration::from_secs(5);

/// Time for a new object to show up after the restart: pauses between tries grow up to 30 s.
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let flags = Flags::DEFAULT;
    let node = BULK_NODES[0];
    let mut reference = world.start_reference("reference", &flags)?;
    let exporters = [
        world.start_unsplit("unsplit", &flags)?,
        world.start_ours("node", "ksm-node", &[format!("--node={node}")])?,
        world.start_ours("unscheduled", "ksm-unscheduled", &[])?,
        world.start_ours("rest", "ksm-rest", &flags.arguments(&rest_resources()))?,
    ];
    let before = exporters.iter().map(view).collect::<Result<Vec<View>>>()?;
    for (exporter, before) in exporters.iter().zip(&before) {
        ensure!(before.samples() > 0, "{} has nothing to lose", exporter.name());
    }

    world.api.kill()?;
    let down = Instant::now();
    let mut scrapes = 0;
    while down.elapsed() < DOWN {
        for (exporter, before) in exporters.iter().zip(&before) {
            let report = compare(before, &view(exporter).context("while the API server is down")?);
            if !report.is_empty() {
                bail!("{} changed while the API server was down:\n{report}", exporter.name());
            }
            scrapes += 1;
            // The pages that probes in deploy/ ask: no pod restarts, and none leaves its Service.
            for page in ["/livez", "/readyz"] {
                let status = exporter.telemetry.get(page, None)?.status;
                ensure!(status == 200, "{}: {page} is {status} while the API server is down", exporter.name());
            }
        }
        wait::pause()?;
    }
    ensure!(scrapes >= exporters.len(), "nothing was scraped while the API server was down");
    world.api.run(&world.etcd)?;
    let down = elapsed(down.elapsed());

    let client = world.api.client()?;
    for object in [
        objects::late_pod("late-bound", Some(node)),
        objects::late_pod("late-unbound", None),
        objects::late_config_map("late-config"),
    ] {
        object.create(&client).context("after the restart")?;
    }
    let created = Instant::now();
    let expected = [
        ("kube_pod_info", ("pod", "late-bound")),
        ("kube_pod_info", ("pod", "late-bound")),
        ("kube_pod_info", ("pod", "late-unbound")),
        ("kube_configmap_info", ("configmap", "late-config")),
    ];
    for (exporter, (family, label)) in exporters.iter().zip(expected) {
        let what = format!("{} shows {} after the restart", exporter.name(), label.1);
        wait::until(&what, RECOVERY_LIMIT.saturating_sub(created.elapsed()), || {
            let body = exporter.exposition(Format::Text)?;
            Ok(body.select(family, &[label]).next().map(|_| ()))
        })?;
    }
    let recovered = elapsed(created.elapsed());

    let same = |reference: &Exporter| {
        world.settle("after the restart, against the reference", || {
            Ok((view(reference)?, world.read(&[&exporters[0]], Format::Text)?))
        })
    };
    let mut remark = "";
    if same(&reference).is_err() {
        // The reference may take minutes to come back; that is not what is under test.
        remark = " (reference restarted)";
        drop(reference);
        reference = world.start_reference("reference-again", &flags)?;
        same(&reference)?;
    }
    Ok(format!(
        "{scrapes} scrapes unchanged and probes content while down for {down}; new objects in all four within {recovered}; equal to the reference{remark}"
    ))
}

fn view(exporter: &Exporter) -> Result<View> {
    Ok(View::of([&exporter.exposition(Format::Text)?]))
}

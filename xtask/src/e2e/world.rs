//! What the scenarios share: the cluster, the programs, and how exporters are started, read and compared.
//!
//! Invariant: expositions of ours pass through [`World::read`], where a planted fault gets in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::ScenarioName;
use super::objects::{self, RESOURCES};
use crate::cli::E2eArgs;
use crate::cluster::{ADMIN_TOKEN, ApiServer, Etcd};
use crate::compare::{Report, View, compare};
use crate::exporter::{Exporter, READY_LIMIT};
use crate::exposition::{Exposition, Format};
use crate::flags::Flags;
use crate::plant::Plant;
use crate::process::Scratch;
use crate::{cargo, plant, tools, wait};

/// Time for two exporters to show the same objects.
const SETTLE_LIMIT: Duration = Duration::from_secs(90);

/// The shared state of a run. Fields drop in order: the API server before its store, both before their folder.
pub struct World {
    /// The API server with server-side shards.
    pub api: ApiServer,
    /// Its store.
    pub etcd: Etcd,
    /// For files of a scenario.
    pub scratch: Scratch,
    /// Logs of all processes.
    pub logs: PathBuf,
    reference: PathBuf,
    binaries: BTreeMap<String, PathBuf>,
    plant: Option<Plant>,
}

impl World {
    /// Builds and starts everything that the scenarios share, and fills the cluster.
    pub fn start(arguments: &E2eArgs) -> Result<Self> {
        let plant = plant::from_environment()?;
        // All of them now, so that a missing Go is found before anything starts.
        let mut components = vec![&tools::ETCD, &tools::KUBE_APISERVER];
        if arguments.runs(ScenarioName::Prometheus) {
            components.extend([&tools::PROMETHEUS, &tools::PROMTOOL]);
        }
        if arguments.runs(ScenarioName::Dashboards) {
            components.push(&tools::PROMETHEUS);
        }
        if arguments.runs(ScenarioName::Manifests) {
            components.extend([&tools::KUSTOMIZE, &tools::PROMTOOL]);
        }
        if arguments.runs(ScenarioName::Images) {
            components.push(&tools::REGISTRY);
        }
        if arguments.runs(ScenarioName::Deploy) {
            components.push(&tools::KUBECTL);
        }
        if arguments.runs(ScenarioName::Overlays) {
            components.extend([&tools::KUBE_CONTROLLER_MANAGER, &tools::KUBE_SCHEDULER, &tools::KWOK]);
            components.extend([&tools::KUSTOMIZE, &tools::PROMETHEUS]);
        }
        for component in components {
            tools::ensure(component)?;
        }
        let reference = tools::ensure(&tools::REFERENCE)?;
        let binaries = cargo::binaries(&cargo::SHIPPED, arguments.binaries.as_deref())?;
        let scratch = Scratch::new("ksm-e2e", arguments.keep)?;
        let logs = scratch.folder("logs")?;
        let etcd = Etcd::start(scratch.path(), &logs)?;
        let api = ApiServer::start("kube-apiserver", &etcd, true)?;
        api.wait_for_system_namespaces()?;
        objects::create_all(&api.client()?, arguments.pods)?;
        Ok(Self { api, etcd, scratch, logs, reference, binaries, plant })
    }

    /// The path of one of our binaries.
    pub fn binary(&self, name: &str) -> &Path {
        &self.binaries[name]
    }

    /// Starts one of our binaries against the cluster, with all rights, and waits until it is ready.
    pub fn start_ours(&self, name: &str, binary: &str, arguments: &[String]) -> Result<Exporter> {
        self.start_ours_on(&self.api, name, binary, arguments)
    }

    /// The same against another API server.
    pub fn start_ours_on(&self, api: &ApiServer, name: &str, binary: &str, arguments: &[String]) -> Result<Exporter> {
        let mut exporter = self.launch_ours(&api.kubeconfig(ADMIN_TOKEN)?, name, binary, arguments)?;
        exporter.wait_ready(READY_LIMIT)?;
        Ok(exporter)
    }

    /// The same with a given kubeconfig and without waiting.
    pub fn launch_ours(&self, kubeconfig: &Path, name: &str, binary: &str, arguments: &[String]) -> Result<Exporter> {
        let mut all = vec!["--kubeconfig".to_owned(), kubeconfig.display().to_string()];
        // The other two have no choice of resources.
        match binary {
            "ksm-shard" => all.push(format!("--resources={}", RESOURCES.join(","))),
            "ksm-rest" => all.push(format!("--resources={}", rest_resources().join(","))),
            _ => {}
        }
        all.extend_from_slice(arguments);
        Exporter::start(name, self.binary(binary), &all, &self.logs)
    }

    /// `ksm-shard` as one of one.
    pub fn start_unsplit(&self, name: &str, flags: &Flags) -> Result<Exporter> {
        self.start_ours(name, "ksm-shard", &flags.arguments(&RESOURCES))
    }

    /// All shards of a set.
    pub fn start_shards(&self, api: &ApiServer, scheme: &str, total: usize, flags: &Flags) -> Result<Vec<Exporter>> {
        let start = |shard: usize| {
            let mut arguments = vec![format!("--shard={shard}"), format!("--total-shards={total}")];
            arguments.push(format!("--shard-by={scheme}"));
            arguments.extend(flags.arguments(&RESOURCES));
            self.start_ours_on(api, &format!("{scheme}-{shard}-of-{total}"), "ksm-shard", &arguments)
        };
        (0..total).map(start).collect()
    }

    /// `ksm-shard` and the reference with the same arguments and no others, in that order.
    pub fn start_both(&self, name: &str, arguments: &[String]) -> Result<(Exporter, Exporter)> {
        let kubeconfig = self.api.kubeconfig(ADMIN_TOKEN)?;
        let all = [&["--kubeconfig".to_owned(), kubeconfig.display().to_string()], arguments].concat();
        let mut ours = Exporter::start(&format!("ours-{name}"), self.binary("ksm-shard"), &all, &self.logs)?;
        let reference = format!("reference-{name}");
        let reference = Exporter::start_reference(&reference, &self.reference, &kubeconfig, arguments, &self.logs)?;
        ours.wait_ready(READY_LIMIT)?;
        Ok((ours, reference))
    }

    /// The reference, restricted to the resources of the run.
    pub fn start_reference(&self, name: &str, flags: &Flags) -> Result<Exporter> {
        let mut arguments = vec![format!("--resources={}", RESOURCES.join(","))];
        arguments.extend(flags.arguments(&RESOURCES));
        let kubeconfig = self.api.kubeconfig(ADMIN_TOKEN)?;
        Exporter::start_reference(name, &self.reference, &kubeconfig, &arguments, &self.logs)
    }

    /// The reference on another API server, with these arguments and no others.
    pub fn start_reference_on(&self, api: &ApiServer, name: &str, arguments: &[String]) -> Result<Exporter> {
        Exporter::start_reference(name, &self.reference, &api.kubeconfig(ADMIN_TOKEN)?, arguments, &self.logs)
    }

    /// What our exporters serve, with the planted fault if there is one.
    pub fn read(&self, ours: &[&Exporter], format: Format) -> Result<View> {
        self.read_of(ours, "", format)
    }

    /// The same with a query: nothing, or `?` and parameters.
    pub fn read_of(&self, ours: &[&Exporter], query: &str, format: Format) -> Result<View> {
        let mut parts =
            ours.iter().map(|part| part.exposition_of(query, format)).collect::<Result<Vec<Exposition>>>()?;
        if let (Some(plant), Some(part)) = (self.plant, parts.iter_mut().max_by_key(|part| part.families.len())) {
            plant.apply(part);
        }
        Ok(View::of(&parts))
    }

    /// Compares until the two sides are equal; fails with the last report.
    pub fn settle(&self, what: &str, mut sides: impl FnMut() -> Result<(View, View)>) -> Result<(View, View)> {
        // With a planted fault as well: what then is left over is the fault, and not a list that was not read yet.
        let mut last = Report::default();
        let outcome = wait::until(what, SETTLE_LIMIT, || {
            let (expected, actual) = sides()?;
            last = compare(&expected, &actual);
            Ok(last.is_empty().then_some((expected, actual)))
        });
        if outcome.is_err() && !last.is_empty() {
            bail!("{what}: differences after {} s\n{last}", SETTLE_LIMIT.as_secs());
        }
        let (expected, actual) = outcome.with_context(|| what.to_owned())?;
        if expected.samples() == 0 {
            bail!("{what}: nothing was compared, both sides are empty");
        }
        Ok((expected, actual))
    }
}

/// What `ksm-rest` has: everything but pods.
pub fn rest_resources() -> Vec<&'static str> {
    RESOURCES.into_iter().filter(|resource| *resource != "pods").collect()
}

//! A run: client, stores, list/watches and servers put together, from settings to exit code.
//!
//! An API server that cannot be reached is no reason to end: the list/watches try again and `/readyz` says so. A task
//! that panics is: an orchestrator's restart mends what limping on would hide.

mod client;
mod failure;
mod log;
mod memory;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tracing::{info, warn};

pub use client::ConnectError;
pub use failure::Failure;

use crate::autoshard;
use crate::build::Build;
use crate::catalogue::{Catalogue, ServedResource};
use crate::chain::chain;
use crate::options::{Part, Settings};
use crate::resource::Scope;
use crate::serve::{About, Limits, MetricsPages, Server, TelemetryPages};
use crate::store::Store;
use crate::telemetry::Telemetry;
use crate::watch::{Progress, Shares, Watch};

/// How many threads run a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One: least memory, for small parts of a cluster.
    One,
    /// One for each core.
    Many,
}

/// Makes ring the provider of cryptography for TLS; to be called first.
pub fn install_crypto_provider() {
    // It fails only if there is one already, which then is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Runs until a signal or a failure; says on stderr which failure.
pub fn main(build: Build, settings: Settings, threads: Threads) -> ExitCode {
    memory::tune();
    log::init(settings.verbosity);
    let mut builder = match threads {
        Threads::One => tokio::runtime::Builder::new_current_thread(),
        Threads::Many => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build().map_err(Failure::Runtime);
    let ended = runtime.and_then(|runtime| {
        let ended = runtime.block_on(run(build, settings, threads));
        // What still runs on other threads (a name look-up, say) is not waited for.
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", chain(&failure));
            ExitCode::FAILURE
        }
    }
}

async fn run(build: Build, settings: Settings, threads: Threads) -> Result<(), Failure> {
    let mut signals = Signals::new().map_err(Failure::Signals)?;
    let (client, api_server) = client::connect(&settings.connection, build).await?;
    let metrics = bind("metrics", &settings.metrics).await?;
    let telemetry = bind("telemetry", &settings.telemetry).await?;
    // Whoever started the process learns the ports from this line. That nobody reads it is no failure.
    let line = format!("listening metrics=http://{} telemetry=http://{}\n", metrics.address(), telemetry.address());
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush());
    for warning in &settings.warnings {
        warn!("{warning}");
    }
    let shares = match &settings.autoshard {
        Some(autoshard) => autoshard.shares(),
        None => settings.shard.into(),
    };
    let place = shares.status().place;
    info!(
        version = build.version,
        shard_ordinal = place.map(|(ordinal, _)| ordinal),
        total_shards = place.map(|(_, total)| total),
        resources = settings.resources.len(),
        %api_server,
        "started"
    );

    let about = About { build, part: describe(&settings.part), shares: shares.clone() };
    let (catalogue, watches) = wire(&settings, &shares, threads);
    let catalogue = Arc::new(catalogue);
    let telemetry_state = Arc::new(Telemetry::new(build, shares.clone(), Arc::clone(&catalogue)));
    let mut tasks = Tasks::default();
    for watch in watches {
        let name = format!("list/watch of {}", watch.resource.descriptor().plural);
        tasks.spawn(name, watch.run(client.clone()));
    }
    if let Some(autoshard) = &settings.autoshard {
        tasks.spawn("search for a shard".to_owned(), autoshard.clone().run(client.clone(), shares.clone()));
    }
    let (stop, stopped) = watch::channel(false);
    let mut servers = JoinSet::new();
    let gzip = settings.enable_gzip_encoding;
    let pages = MetricsPages::new(about.clone(), Arc::clone(&catalogue), Arc::clone(&telemetry_state), gzip);
    tasks.spawn("preparation of scrapes".to_owned(), pages.keep_beat());
    servers.spawn(metrics.serve(Arc::new(pages), stopped.clone()));
    let pages = TelemetryPages { about, catalogue, telemetry: telemetry_state };
    servers.spawn(telemetry.serve(Arc::new(pages), stopped));

    tokio::select! {
        () = signals.received() => {}
        name = tasks.ended() => return Err(Failure::Task { name }),
        Some(_) = servers.join_next() => return Err(Failure::Task { name: "HTTP server".to_owned() }),
    }
    if settings.autoshard.as_ref().is_some_and(|autoshard| autoshard.overlap.is_some()) {
        tokio::select! {
            () = autoshard::linger(&shares) => {}
            () = signals.received() => {}
        }
    }
    info!("stopping, responses in progress may finish");
    // Servers hold a receiver each until they are done.
    let _ = stop.send(true);
    let drained = async { while servers.join_next().await.is_some() {} };
    tokio::select! {
        () = drained => {}
        () = signals.received() => return Err(Failure::Aborted),
    }
    info!("stopped");
    Ok(())
}

async fn bind(what: &'static str, address: &crate::options::Address) -> Result<Server, Failure> {
    Server::bind(address, Limits::DEFAULT).await.map_err(|source| Failure::Listen {
        what,
        host: address.host.clone(),
        port: address.port,
        source,
    })
}

/// A store and a list/watch for each resource and namespace, and the catalogue that reads them.
fn wire(settings: &Settings, shares: &Shares, threads: Threads) -> (Catalogue, Vec<Watch>) {
    let (mut watches, mut served) = (Vec::new(), Vec::new());
    let outage = Arc::default();
    let threads = match threads {
        Threads::One => 1,
        Threads::Many => std::thread::available_parallelism().map_or(1, usize::from),
    };
    for enabled in &settings.resources {
        let descriptor = enabled.resource.descriptor();
        let (mut readers, mut all_progress) = (Vec::new(), Vec::new());
        for namespace in namespaces(descriptor.scope, &settings.namespaces) {
            let store = Store::new(enabled.plan.families().len()).with_threads(threads);
            let progress = Arc::new(Progress::default());
            readers.push(store.reader());
            all_progress.push(Arc::clone(&progress));
            watches.push(Watch {
                resource: enabled.resource,
                plan: enabled.plan.clone(),
                namespace,
                field_selector: settings.part.field_selector(descriptor.plural),
                shares: shares.clone(),
                use_cache: settings.use_apiserver_cache,
                store,
                progress,
                outage: Arc::clone(&outage),
            });
        }
        served.push(ServedResource::new(enabled.resource, &enabled.plan, readers, all_progress));
    }
    (Catalogue::new(served), watches)
}

/// The namespaces to watch a resource in, `None` for all at once: resources without namespaces are watched once
/// whatever was asked for (<https://github.com/kubernetes/kube-state-metrics/issues/2998>).
fn namespaces(scope: Scope, asked: &[String]) -> Vec<Option<String>> {
    match scope {
        Scope::Namespaced if !asked.is_empty() => asked.iter().cloned().map(Some).collect(),
        Scope::Namespaced | Scope::Cluster => vec![None],
    }
}

fn describe(part: &Part) -> String {
    match part {
        Part::Everything => "All resources".to_owned(),
        Part::Node(node) => format!("Pods of node {node}"),
        Part::Unscheduled => "Pods bound to no node".to_owned(),
        Part::Rest => "All resources but pods".to_owned(),
    }
}

/// Tasks that are to run as long as the process.
#[derive(Default)]
struct Tasks {
    tasks: JoinSet<()>,
    names: std::collections::HashMap<Id, String>,
}

impl Tasks {
    fn spawn(&mut self, name: String, task: impl Future<Output = ()> + Send + 'static) {
        let handle = self.tasks.spawn(task);
        self.names.insert(handle.id(), name);
    }

    /// The name of the first that ends, which none should.
    async fn ended(&mut self) -> String {
        let Some(ended) = self.tasks.join_next_with_id().await else { return std::future::pending().await };
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.names.remove(&id).unwrap_or_default()
    }
}

/// The signals that ask to stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests;

//! A run: client, stores, list/watches and servers put together, from settings to exit code.
//!
//! An API server that cannot be reached is no reason to end: the list/watches try again and `/readyz` says so. A task
//! that panics is: an orchestrator's restart mends what limping on would hide.

mod client;
mod deploy;
mod explain;
mod failure;
mod log;
mod manifests;
mod memory;
mod pending;
mod profile;
mod proxy;
mod reload;
mod render;
mod sharding;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tracing::{error, info, warn};

pub use client::ConnectError;
pub use failure::Failure;
pub use profile::cpu_profile;

use self::deploy::Deployment;
use self::pending::{Outcome, Pending};
use self::reload::{Reloader, Seen};
use self::sharding::Sharding;
use crate::build::Build;
use crate::catalogue::Live;
use crate::chain::chain;
use crate::options::{Address, Configuration, Job, Settings};
use crate::serve::{Guard, Limits, MetricsPages, Profiler, Profiling, Reviews, Server, TelemetryPages, Web, WebFile};
use crate::telemetry::{Files, Telemetry};

/// How often a new configuration's lists are looked at until they are complete.
const READINESS_PAUSE: Duration = Duration::from_millis(50);

/// How long a thread for work that blocks is kept without any, more than any interval of scrapes. As long as there is one,
/// a system that refuses another only makes work wait; without any, tokio can but panic.
const SPARE_THREAD: Duration = Duration::from_secs(600);

/// How a program runs.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// How many threads run it.
    pub threads: Threads,
    /// What takes profiles of it, [`cpu_profile`] for one. A program that names none does not have that code in it.
    pub profiler: Option<Profiler>,
}

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

/// Does what is asked for; says on stderr what went wrong.
pub fn main(build: Build, job: Job, manner: Manner) -> ExitCode {
    let ended = match job {
        Job::Serve(configuration) => serve(build, configuration, manner),
        Job::Render { settings, files, openmetrics } => render::run(&settings, &files, openmetrics),
        Job::Explain { settings, files, url } => explain::run(&settings, &files, url.as_deref()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", chain(&failure));
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal or a failure.
fn serve(build: Build, configuration: Configuration, manner: Manner) -> Result<(), Failure> {
    memory::tune();
    let verbosity = log::init(configuration.settings.verbosity);
    let mut builder = match manner.threads {
        Threads::One => tokio::runtime::Builder::new_current_thread(),
        Threads::Many => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().thread_keep_alive(SPARE_THREAD).build().map_err(Failure::Runtime)?;
    if manner.threads == Threads::Many {
        // The first one while nothing is at stake.
        runtime.spawn_blocking(|| ());
    }
    let ended = runtime.block_on(run(build, configuration, manner, verbosity));
    // What still runs on other threads (a name look-up, say) is not waited for.
    runtime.shutdown_background();
    ended
}

async fn run(
    build: Build,
    configuration: Configuration,
    manner: Manner,
    verbosity: log::Verbosity,
) -> Result<(), Failure> {
    let (settings, threads) = (&configuration.settings, manner.threads);
    let mut signals = Signals::new().map_err(Failure::Signals)?;
    let seen = Seen::now(settings);
    let (client, api_server) = client::connect(&settings.connection, build).await?;
    let files = Arc::new(Files::default());
    let guard = Arc::new(guard(settings, &client, &files)?);
    let limits = Limits::DEFAULT.with_timeouts(settings.timeouts);
    let metrics = bind("metrics", &settings.metrics, limits).await?.guarded(Arc::clone(&guard));
    let telemetry = bind("telemetry", &settings.telemetry, Limits::DEFAULT).await?.guarded(Arc::clone(&guard));
    // Whoever started the process learns the ports from this line. That nobody reads it is no failure.
    let scheme = if guard.tls().is_some() { "https" } else { "http" };
    let [metrics_address, telemetry_address] = [&metrics, &telemetry].map(Server::address);
    let line = format!("listening metrics={scheme}://{metrics_address} telemetry={scheme}://{telemetry_address}\n");
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush());
    for warning in &settings.warnings {
        warn!("{warning}");
    }
    let sharding = Sharding::start(settings, &client);
    let place = sharding.shares().status().place;
    info!(
        version = build.version,
        shard_ordinal = place.map(|(ordinal, _)| ordinal),
        total_shards = place.map(|(_, total)| total),
        resources = settings.resources.len(),
        %api_server,
        "started"
    );

    let mut shutdown_delay = settings.shutdown_delay;
    let mut current = Deployment::start(build, settings, threads, client, sharding);
    let mut next: Option<Pending> = None;
    let live = Arc::new(Live::new(Arc::clone(&current.served)));
    let telemetry_state = Arc::new(Telemetry::new(Arc::clone(&live), Arc::clone(&files)));
    let mut tasks = Tasks::default();
    let (reloader, mut changes) = Reloader::new(build, configuration, seen, Arc::clone(&files), Arc::clone(&guard));
    tasks.spawn("watch of configuration files".to_owned(), reloader.run());
    let (stop, stopped) = watch::channel(false);
    let mut servers = JoinSet::new();
    let pages = MetricsPages::new(Arc::clone(&live), Arc::clone(&telemetry_state));
    tasks.spawn("preparation of scrapes".to_owned(), pages.keep_beat());
    servers.spawn(metrics.serve(Arc::new(pages), stopped.clone()));
    let pages = TelemetryPages { live: Arc::clone(&live), telemetry: telemetry_state };
    let pages = Profiling::new(pages, manner.profiler);
    servers.spawn(telemetry.serve(Arc::new(pages), stopped));
    tokio::spawn(forget_start(Arc::clone(&live)));

    loop {
        tokio::select! {
            () = signals.received() => {
                info!("told to stop");
                break;
            }
            name = tasks.ended() => return Err(Failure::Task { name }),
            name = current.tasks.ended() => return Err(Failure::Task { name }),
            Some(_) = servers.join_next() => return Err(Failure::Task { name: "HTTP server".to_owned() }),
            Some(change) = changes.recv() => {
                let client = change.client.clone();
                // What was being listed for the configuration before is of no use any more.
                let sharding = current.sharding.carry_on(&change.settings, &client);
                let deployment = Deployment::start(build, &change.settings, threads, client, sharding);
                next = Some(Pending::new(deployment, change));
            }
            outcome = pending::outcome(next.as_mut(), &current.lists, &files) => {
                let Some(Pending { deployment, change, .. }) = next.take() else { continue };
                files.set_waiting(BTreeMap::new());
                match outcome {
                    Outcome::Complete => {
                        live.store(Arc::clone(&deployment.served));
                        guard.set_client(change.client.clone());
                        verbosity.set(change.settings.verbosity);
                        shutdown_delay = change.settings.shutdown_delay;
                        if Arc::ptr_eq(&current.sharding, &deployment.sharding) {
                            deployment.sharding.take_up(&change.settings, &change.client);
                        }
                        deployment.lists.iter().for_each(|list| list.progress.set_aside(false));
                        // Scrapes in progress keep what they read; the list/watches end here.
                        current = deployment;
                        change.applied(&files);
                    }
                    Outcome::Ended(name) => {
                        change.failed(&files);
                        error!("the {name} of the new configuration ended unexpectedly, going on with the one before");
                    }
                }
            }
        }
    }
    tokio::select! {
        () = current.sharding.linger(shutdown_delay) => {}
        () = signals.received() => {}
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

/// Once everything is listed, lets go of what only starting needed.
async fn forget_start(live: Arc<Live>) {
    while !live.load().catalogue.is_ready() {
        tokio::time::sleep(READINESS_PAUSE).await;
    }
    memory::forget_start();
}

/// What stands before the pages.
fn guard(settings: &Settings, client: &kube::Client, files: &Files) -> Result<Guard, Failure> {
    let web = match &settings.web_file {
        None => Web::default(),
        Some(path) => {
            let failed = |source| Failure::Web { path: path.clone(), source };
            let file = WebFile::read(path).map_err(failed)?;
            let text = file.text().to_owned();
            let web = file.load().map_err(failed)?;
            files.succeeded("tls_config", path, text.as_bytes());
            web
        }
    };
    if settings.auth_filter && web.asks_for_passwords() {
        return Err(Failure::TwoGuards);
    }
    Ok(Guard::new(web, settings.auth_filter.then(|| Reviews::new(client.clone()))))
}

async fn bind(what: &'static str, address: &Address, limits: Limits) -> Result<Server, Failure> {
    Server::bind(address, limits).await.map_err(|source| Failure::Listen {
        what,
        host: address.host.clone(),
        port: address.port,
        source,
    })
}

/// Tasks that are to run as long as the process.
#[derive(Default)]
struct Tasks {
    tasks: JoinSet<()>,
    names: HashMap<Id, String>,
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

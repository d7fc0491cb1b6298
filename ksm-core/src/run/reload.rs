//! Files that change while the process runs: the configuration file, the kubeconfig and the web configuration file, the
//! latter two with the certificates and keys that they name.
//!
//! They are read every second and compared by content. That is sure to see what mounted ConfigMaps and Secrets do
//! (links that are exchanged), takes both of two files that change at once, and needs no word from the kernel.
//! Nothing changes until the new content makes sense; what does not is said once and leaves everything as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::{info, warn};

use super::client::{self, Identity};
use crate::build::Build;
use crate::chain::chain;
use crate::options::{Address, Configuration, FileContent, Settings, Source, Timeouts};
use crate::serve::{Guard, WebFile};
use crate::shard::Scheme;
use crate::telemetry::Files;

/// How often files are read.
const PAUSE: Duration = Duration::from_secs(1);

/// How long until a client that could not be set up is tried again though no file has changed: what was amiss may be
/// somewhere else, a credential plugin for one.
const RETRY: Duration = Duration::from_secs(10);

/// The kinds of files, as self-metrics name them.
const CONFIG: &str = "config";
const KUBECONFIG: &str = "kubeconfig";
const WEB: &str = "tls_config";

/// A new configuration, to be taken once its lists are complete.
pub(super) struct Change {
    pub(super) settings: Settings,
    pub(super) client: kube::Client,
    /// The files it comes from, with their content.
    files: Vec<(&'static str, PathBuf, Vec<u8>)>,
}

/// What was in the files that settings name, before anything was made of it: a file that changes while the process
/// starts is then a changed one.
pub(super) struct Seen {
    kubeconfig: Option<Identity>,
    web: Option<[u8; 16]>,
}

impl Seen {
    /// What is in them now.
    pub(super) fn now(settings: &Settings) -> Self {
        let kubeconfig = settings.connection.kubeconfig.as_deref().and_then(Identity::read);
        let web = settings.web_file.as_deref().and_then(|path| Some(WebFile::read(path).ok()?.fingerprint()));
        Self { kubeconfig, web }
    }
}

/// Settings that a process keeps for its life: its ports are bound and its servers run, and a set whose shards change
/// the scheme one after the other is no partition meanwhile.
struct Fixed {
    scheme: Scheme,
    metrics: Address,
    telemetry: Address,
    timeouts: Timeouts,
    web_file: Option<PathBuf>,
    auth_filter: bool,
}

impl Fixed {
    fn of(settings: &Settings) -> Self {
        Self {
            scheme: settings.shard.scheme(),
            metrics: settings.metrics.clone(),
            telemetry: settings.telemetry.clone(),
            timeouts: settings.timeouts,
            web_file: settings.web_file.clone(),
            auth_filter: settings.auth_filter,
        }
    }

    /// Which of them another configuration would have otherwise, by their keys in its file.
    fn differences(&self, new: &Settings) -> Vec<&'static str> {
        let differ = [
            (self.scheme != new.shard.scheme(), "shard_by"),
            (self.metrics.host != new.metrics.host, "host"),
            (self.metrics.port != new.metrics.port, "port"),
            (self.telemetry.host != new.telemetry.host, "telemetry_host"),
            (self.telemetry.port != new.telemetry.port, "telemetry_port"),
            (self.timeouts != new.timeouts, "server_*_timeout"),
            (self.web_file != new.web_file, "tls_config"),
            (self.auth_filter != new.auth_filter, "auth_filter"),
        ];
        differ.into_iter().filter(|(differs, _)| *differs).map(|(_, key)| key).collect()
    }

    /// Puts what stays as it was into other settings, where something reads it from them.
    fn impose(&self, new: &mut Settings) {
        new.shard = new.shard.with_scheme(self.scheme);
        if let Some(autoshard) = &mut new.autoshard {
            autoshard.scheme = self.scheme;
        }
    }
}

/// A new configuration as it was read.
struct Read {
    settings: Settings,
    /// The files it comes from, with their content.
    files: Vec<(&'static str, PathBuf, Vec<u8>)>,
}

impl Change {
    /// Notes that it is in use.
    pub(super) fn applied(&self, files: &Files) {
        for (kind, path, content) in &self.files {
            files.succeeded(kind, path, content);
        }
        info!("new configuration in use");
    }

    /// Notes that it is not in use, and what was before it still is.
    pub(super) fn failed(&self, files: &Files) {
        note_failed(&self.files, files);
    }
}

fn note_failed(changed: &[(&'static str, PathBuf, Vec<u8>)], files: &Files) {
    for (kind, path, _) in changed {
        files.failed(kind, path);
    }
}

/// Watches the files.
pub(super) struct Reloader {
    build: Build,
    source: Arc<Source>,
    /// The settings that are in use, or about to be.
    settings: Settings,
    /// What stays as it was at the start, whatever files say.
    fixed: Fixed,
    config: Option<Vec<u8>>,
    kubeconfig: Option<Identity>,
    /// A new configuration for which there is no client yet, and when to try again.
    unconnected: Option<(Read, Instant)>,
    /// Why there was none at the last try.
    connect_error: String,
    web: Option<[u8; 16]>,
    /// What was wrong with the web file when it was read last.
    web_error: String,
    files: Arc<Files>,
    guard: Arc<Guard>,
    changes: mpsc::Sender<Change>,
}

impl Reloader {
    /// A reloader of the files that the settings were resolved from, and where it tells of new ones.
    pub(super) fn new(
        build: Build,
        configuration: Configuration,
        seen: Seen,
        files: Arc<Files>,
        guard: Arc<Guard>,
    ) -> (Self, mpsc::Receiver<Change>) {
        let (changes, received) = mpsc::channel(1);
        let Configuration { source, settings, file } = configuration;
        let FileContent { bytes: config, taken } = file;
        let Seen { kubeconfig, web } = seen;
        if let Some(path) = source.file() {
            match &config {
                Some(content) if taken => files.succeeded(CONFIG, path, content),
                _ => files.failed(CONFIG, path),
            }
        }
        if let (Some(path), Some(identity)) = (&settings.connection.kubeconfig, &kubeconfig) {
            files.succeeded(KUBECONFIG, path, &identity.content);
        }
        let fixed = Fixed::of(&settings);
        let reloader = Self {
            build,
            source,
            settings,
            fixed,
            config,
            kubeconfig,
            unconnected: None,
            connect_error: String::new(),
            web,
            web_error: String::new(),
            files,
            guard,
            changes,
        };
        (reloader, received)
    }

    /// Watches for ever; ends only by being dropped.
    pub(super) async fn run(mut self) {
        if self.source.file().is_none()
            && self.settings.connection.kubeconfig.is_none()
            && self.fixed.web_file.is_none()
        {
            return std::future::pending().await;
        }
        let mut ticks = interval(PAUSE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let looked = spawn_blocking(move || {
                let read = self.look();
                (self, read)
            });
            let read;
            (self, read) = match looked.await {
                Ok(looked) => looked,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            };
            let again = self.unconnected.take_if(|(_, due)| read.is_some() || *due <= Instant::now());
            if let Some(read) = read.or(again.map(|(read, _)| read)) {
                self.announce(read).await;
            }
        }
    }

    /// Connects as a new configuration says, and tells of it.
    async fn announce(&mut self, read: Read) {
        match client::connect(&read.settings.connection, self.build).await {
            Ok((client, _)) => {
                self.connect_error.clear();
                let Read { settings, files } = read;
                // The receiver is gone only when the process ends.
                drop(self.changes.send(Change { settings, client, files }).await);
            }
            Err(error) => {
                note_failed(&read.files, &self.files);
                let error = chain(&error);
                if error != self.connect_error {
                    warn!(error, "new configuration cannot be used, trying on and going on with the one before");
                    self.connect_error = error;
                }
                self.unconnected = Some((read, Instant::now() + RETRY));
            }
        }
    }

    /// Reads all files; a new configuration if there is one.
    fn look(&mut self) -> Option<Read> {
        self.look_at_web_file();
        let source = Arc::clone(&self.source);
        let mut changed = false;
        let mut settings = None;
        if let Some(path) = source.file()
            && let Some(content) = read_changed(path, self.config.as_ref())
        {
            let resolved = match std::str::from_utf8(&content) {
                Ok(text) => source.resolve(Some(text)).map_err(|error| error.to_string()),
                Err(_) => Err("it is not UTF-8".to_owned()),
            };
            self.config = Some(content);
            match resolved {
                Ok(new) => settings = Some(new),
                Err(error) => {
                    self.files.failed(CONFIG, path);
                    let file = path.display();
                    warn!(%file, error, "new configuration cannot be used, going on with the one before");
                }
            }
        }
        if let Some(mut new) = settings {
            self.tell_of_fixed(&new);
            self.fixed.impose(&mut new);
            for warning in &new.warnings {
                warn!("{warning}");
            }
            self.settings = new;
            changed = true;
        }
        if let Some(path) = self.settings.connection.kubeconfig.clone()
            && let Some(identity) = Identity::read(&path)
            && self.kubeconfig.as_ref().is_none_or(|before| before.fingerprint != identity.fingerprint)
        {
            changed |= self.kubeconfig.replace(identity).is_some();
        }
        changed.then(|| self.read())
    }

    /// Says which of the new settings take effect at the next start only.
    fn tell_of_fixed(&self, new: &Settings) {
        let pending = self.fixed.differences(new);
        if self.files.set_pending(pending.clone()) && !pending.is_empty() {
            warn!("{}: taken at the next start only", pending.join(", "));
        }
    }

    fn read(&self) -> Read {
        let config = self.source.file().map(Path::to_owned).zip(self.config.clone());
        let content = self.kubeconfig.as_ref().map(|identity| identity.content.clone());
        let kubeconfig = self.settings.connection.kubeconfig.clone().zip(content);
        let named = |kind| move |(path, content)| (kind, path, content);
        let files = config.map(named(CONFIG)).into_iter().chain(kubeconfig.map(named(KUBECONFIG))).collect();
        Read { settings: self.settings.clone(), files }
    }

    fn look_at_web_file(&mut self) {
        let Some(path) = self.fixed.web_file.clone() else { return };
        let read = WebFile::read(&path);
        if let Ok(file) = &read
            && self.web_error.is_empty()
            && self.web.replace(file.fingerprint()) == Some(file.fingerprint())
        {
            return;
        }
        let file = path.display();
        let loaded = read.and_then(|file| {
            let text = file.text().to_owned();
            file.load().map(|web| (text, web))
        });
        match loaded {
            Ok((_, web)) if web.asks_for_passwords() && self.fixed.auth_filter => {
                self.files.failed(WEB, &path);
                self.web_error.clear();
                warn!(%file, "basic_auth_users and auth_filter exclude each other, going on as before");
            }
            Ok((text, web)) if web.tls_is_on() == self.guard.tls().is_some() => {
                self.guard.set_web(web);
                self.files.succeeded(WEB, &path, text.as_bytes());
                self.web_error.clear();
                info!(%file, "web configuration read again");
            }
            Ok(_) => {
                self.files.failed(WEB, &path);
                self.web_error.clear();
                warn!(%file, "TLS is switched on or off at the next start only, going on as before");
            }
            Err(error) => {
                let error = chain(&error);
                self.files.failed(WEB, &path);
                if error != self.web_error {
                    warn!(%file, error, "web configuration cannot be used, going on with the one before");
                }
                self.web_error = error;
            }
        }
    }
}

/// The content of a file if it is not what it was. One that cannot be read may be there again in a moment: it has not
/// changed.
fn read_changed(path: &Path, before: Option<&Vec<u8>>) -> Option<Vec<u8>> {
    std::fs::read(path).ok().filter(|content| before != Some(content))
}

//! A real API server on etcd, on 127.0.0.1, with tokens; controllers, scheduler and nodes only for those who ask.
//!
//! Invariant: whatever the run does, all processes end with it, and all their data lies in its scratch folder.

pub mod controllers;
mod keys;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use self::keys::KeyFiles;
use crate::http::Client;
use crate::process::Process;
use crate::progress::Progress;
use crate::{kubeconfig, ports, tools, wait};

/// Time for etcd or the API server to get ready on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(120);

/// The superuser's token.
pub const ADMIN_TOKEN: &str = "admin-token";

/// The token of a user that may read everything but Secrets, once `objects::access` gave it those rights.
pub const LIMITED_TOKEN: &str = "limited-token";

/// The name of that user.
pub const LIMITED_USER: &str = "limited";

/// The token of a user without any rights, to be given some.
pub const SHARD_TOKEN: &str = "shard-token";

/// The name of that user.
pub const SHARD_USER: &str = "shard";

/// etcd and what API servers on it share.
pub struct Etcd {
    _process: Process,
    endpoint: String,
    keys: KeyFiles,
    tokens: PathBuf,
    folder: PathBuf,
    logs: PathBuf,
}

impl Etcd {
    /// Starts etcd in `folder` and waits until it answers.
    pub fn start(folder: &Path, logs: &Path) -> Result<Self> {
        let progress = Progress::start("starting etcd");
        let (client, peer) = (ports::free()?, ports::free()?);
        let endpoint = format!("http://127.0.0.1:{client}");
        let mut command = Command::new(tools::ensure(&tools::ETCD)?);
        command.arg("--data-dir").arg(folder.join("etcd"));
        command.args(["--listen-client-urls", &endpoint, "--advertise-client-urls", &endpoint]);
        command.args(["--listen-peer-urls", &format!("http://127.0.0.1:{peer}")]);
        // The data does not outlive the run.
        command.args(["--unsafe-no-fsync", "--log-level", "warn"]);
        let mut process = Process::start("etcd", command, logs)?;
        let health = Client::plain(&endpoint);
        process.wait_for("answers /health", START_LIMIT, || {
            Ok(health.get("/health", None).ok().filter(|answer| answer.status == 200).map(|_| ()))
        })?;
        let tokens = folder.join("tokens.csv");
        let mut lines = format!("{ADMIN_TOKEN},admin,admin,system:masters\n");
        for (token, user) in [(LIMITED_TOKEN, LIMITED_USER), (SHARD_TOKEN, SHARD_USER)] {
            lines.push_str(&format!("{token},{user},{user}\n"));
        }
        fs::write(&tokens, lines).with_context(|| format!("cannot write {}", tokens.display()))?;
        let keys = keys::generate(folder)?;
        progress.done("");
        let (folder, logs) = (folder.to_owned(), logs.to_owned());
        Ok(Self { _process: process, endpoint, keys, tokens, folder, logs })
    }
}

impl Etcd {
    /// Forgets all history, as API servers have it done every few minutes: who watches from before gets 410.
    pub fn compact(&self) -> Result<()> {
        let client = Client::plain(&self.endpoint);
        // Any read tells the revision; the key is one zero byte, in base64.
        let answer = client.send_json("POST", "/v3/kv/range", &json!({"key": "AA=="}))?;
        let revision = answer["header"]["revision"].as_str().context("etcd tells its revision")?;
        client.send_json("POST", "/v3/kv/compaction", &json!({"revision": revision, "physical": true}))?;
        Ok(())
    }
}

/// An API server on an [`Etcd`]; several may share one, and show the same objects.
pub struct ApiServer {
    name: String,
    process: Option<Process>,
    port: u16,
    server_side_shards: bool,
    controlled: bool,
    certificates: PathBuf,
}

impl ApiServer {
    /// Starts an API server named `name`, with or without the feature gate for server-side shards (KEP-5866).
    pub fn start(name: &str, etcd: &Etcd, server_side_shards: bool) -> Result<Self> {
        Self::start_as(name, etcd, server_side_shards, false)
    }

    /// The same for a cluster with [`controllers`], so with every admission plugin that is on by default.
    pub fn start_controlled(name: &str, etcd: &Etcd) -> Result<Self> {
        Self::start_as(name, etcd, true, true)
    }

    fn start_as(name: &str, etcd: &Etcd, server_side_shards: bool, controlled: bool) -> Result<Self> {
        let certificates = etcd.folder.join(format!("{name}-certificates"));
        let (name, port) = (name.to_owned(), ports::free()?);
        let mut server = Self { name, process: None, port, server_side_shards, controlled, certificates };
        server.run(etcd)?;
        Ok(server)
    }

    /// Its process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Kills it as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.process.take().map_or(Ok(()), Process::kill)
    }

    /// Starts it again on the same port and data.
    pub fn run(&mut self, etcd: &Etcd) -> Result<()> {
        let progress = Progress::start(format!("starting {}", self.name));
        let port = self.port.to_string();
        let gate = format!("ShardedListAndWatch={}", self.server_side_shards);
        let mut command = Command::new(tools::ensure(&tools::KUBE_APISERVER)?);
        command.args(["--etcd-servers", &etcd.endpoint, "--bind-address", "127.0.0.1", "--secure-port", &port]);
        command.arg("--cert-dir").arg(&self.certificates).arg("--token-auth-file").arg(&etcd.tokens);
        command.arg("--service-account-key-file").arg(&etcd.keys.public);
        command.arg("--service-account-signing-key-file").arg(&etcd.keys.private);
        command.args(["--service-account-issuer", "https://kubernetes.default.svc", "--authorization-mode", "RBAC"]);
        command.args(["--service-cluster-ip-range", "10.0.0.0/24", "--feature-gates", &gate]);
        if !self.controlled {
            // Nobody makes service accounts, and nobody removes the taint of new nodes.
            command.args(["--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition"]);
        }
        let mut process = Process::start(&self.name, command, &etcd.logs)?;
        let started = process.wait_for("gets ready (/readyz answers 200)", START_LIMIT, || {
            let Ok(client) = self.client() else { return Ok(None) };
            Ok(client.get("/readyz", None).ok().filter(|answer| answer.status == 200).map(|_| ()))
        });
        self.process = Some(process);
        started?;
        progress.done("");
        Ok(())
    }

    /// Waits until the namespaces that it makes by itself are there.
    pub fn wait_for_system_namespaces(&self) -> Result<()> {
        let client = self.client()?;
        wait::until("system namespaces appear", START_LIMIT, || {
            let names = ["default", "kube-node-lease", "kube-public", "kube-system"];
            let exists = |name: &&str| {
                client.get(&format!("/api/v1/namespaces/{name}"), None).is_ok_and(|answer| answer.status == 200)
            };
            Ok(names.iter().all(exists).then_some(()))
        })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// A client with all rights. Make a new one after a restart: connections do not survive it.
    pub fn client(&self) -> Result<Client> {
        let path = self.authority();
        let roots = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Client::secure(self.address(), &roots, ADMIN_TOKEN)
    }

    /// A kubeconfig for the user with `token`.
    pub fn kubeconfig(&self, token: &str) -> Result<PathBuf> {
        let path = self.certificates.join(format!("{token}.kubeconfig"));
        kubeconfig::write(path, &self.address(), &self.authority(), token)
    }

    /// The certificate that it is to be trusted by.
    pub fn authority(&self) -> PathBuf {
        self.certificates.join("apiserver.crt")
    }
}

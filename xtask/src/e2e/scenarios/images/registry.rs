//! A registry on 127.0.0.1 that wants a password, and skopeo, which pulls from it.
//!
//! Invariant: nothing of it outlives the run, and no login of the user is read or written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::programs::succeed;
use crate::e2e::world::World;
use crate::http::Client;
use crate::process::Process;
use crate::{ports, tools};

/// Time for it to listen.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Who may pull and push, and the same as a line of an htpasswd file.
const USER: &str = "e2e:e2e-password";
const HTPASSWD: &str = "e2e:$2b$04$P.moXRWDnFTcWGO.BRMKve11LRNpAtHPq/V7b/58I4NbDkiNLDivW\n";

/// A running registry.
pub struct Registry {
    _process: Process,
    address: String,
    folder: PathBuf,
}

impl Registry {
    /// Starts it and waits until it asks who is there.
    pub fn start(world: &World) -> Result<Self> {
        let folder = world.scratch.folder("registry")?;
        let address = format!("127.0.0.1:{}", ports::free()?);
        let passwords = folder.join("htpasswd");
        fs::write(&passwords, HTPASSWD).context("cannot write an htpasswd file")?;
        let config = json!({
            "version": "0.1",
            "log": {"level": "error", "accesslog": {"disabled": true}},
            "storage": {"filesystem": {"rootdirectory": folder.join("data")}},
            "http": {"addr": address},
            "auth": {"htpasswd": {"realm": "e2e", "path": passwords}},
        });
        // JSON is YAML.
        fs::write(folder.join("config.yaml"), config.to_string())
            .context("cannot write the registry's configuration")?;
        let mut command = Command::new(tools::ensure(&tools::REGISTRY)?);
        command.arg(folder.join("config.yaml")).env("OTEL_TRACES_EXPORTER", "none");
        let mut process = Process::start("registry", command, &world.logs)?;
        let client = Client::plain(format!("http://{address}"));
        process.wait_for("asks for a password (/v2/ answers 401)", START_LIMIT, || {
            Ok(client.get("/v2/", None).ok().filter(|answer| answer.status == 401).map(|_| ()))
        })?;
        let registry = Self { _process: process, address, folder };
        registry.log_in("login", USER)?;
        registry.log_in("login-wrong", "e2e:wrong")?;
        fs::create_dir_all(registry.folder.join("login-none")).context("cannot create a folder")?;
        Ok(registry)
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Writes what `docker login` writes.
    fn log_in(&self, name: &str, user: &str) -> Result<()> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let config = json!({"auths": {self.address.as_str(): {"auth": STANDARD.encode(user)}}});
        fs::write(folder.join("config.json"), config.to_string()).context("cannot write a login")
    }

    /// A command with the login in that folder, and with no other.
    pub fn with_login(&self, mut command: Command, name: &str) -> Command {
        let folder = self.folder.join(name);
        command.env("DOCKER_CONFIG", &folder).env("XDG_CONFIG_HOME", folder);
        command.env_remove("REGISTRY_AUTH_FILE").env_remove("XDG_RUNTIME_DIR");
        command
    }

    /// A command that is logged in.
    pub fn logged_in(&self, command: Command) -> Command {
        self.with_login(command, "login")
    }

    /// Everything that it has.
    pub fn repositories(&self) -> Result<Vec<Value>> {
        let header = format!("Basic {}", STANDARD.encode(USER));
        let client = Client::plain(format!("http://{}", self.address));
        let answer = client.get_bytes("/v2/_catalog", &[("Authorization", &header)])?;
        let catalog: Value = serde_json::from_slice(&answer.body).context("the catalog is not JSON")?;
        Ok(catalog["repositories"].as_array().context("the catalog lists repositories")?.clone())
    }

    fn skopeo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("skopeo");
        command.args(arguments).arg("--authfile").arg(self.folder.join("login/config.json"));
        command
    }

    /// Pulls an image, for all its platforms, into an OCI layout.
    pub fn pull(&self, image: &str, layout: &Path) -> Result<()> {
        let tag = image.rsplit(':').next().unwrap_or_default();
        let mut command = self.skopeo(&["copy", "--all", "--preserve-digests", "--src-tls-verify=false"]);
        command.arg(format!("docker://{}/{image}", self.address)).arg(format!("oci:{}:{tag}", layout.display()));
        succeed(command, "skopeo copy")?;
        Ok(())
    }

    /// The bill of materials is listed as referring to the image, and is the one beside it.
    pub fn check_bill(&self, repository: &str, image: &str, bill: &[u8]) -> Result<()> {
        let read = |reference: &str| -> Result<Value> {
            let mut command = self.skopeo(&["inspect", "--raw", "--tls-verify=false"]);
            command.arg(format!("docker://{}/{repository}{reference}", self.address));
            serde_json::from_str(&succeed(command, "skopeo inspect")?).context("a manifest is JSON")
        };
        let referrers = read(&format!(":{}", image.replace(':', "-")))?;
        let listed = referrers["manifests"].as_array().context("referrers are an index")?;
        let of_kind = listed.iter().find(|entry| entry["artifactType"] == "application/vnd.cyclonedx+json");
        let digest = of_kind.and_then(|entry| entry["digest"].as_str()).context("no bill of materials is listed")?;
        let manifest = read(&format!("@{digest}"))?;
        ensure!(manifest["subject"]["digest"] == image, "the bill is of {}", manifest["subject"]);
        ensure!(manifest["layers"][0]["size"] == bill.len(), "the bill has another size: {}", manifest["layers"][0]);
        let content: Value = serde_json::from_slice(bill).context("a bill is JSON")?;
        let names: Vec<&str> =
            content["components"].as_array().into_iter().flatten().filter_map(|entry| entry["name"].as_str()).collect();
        for linked in ["ksm-core", "kube-client", "ring", "glibc"] {
            ensure!(names.contains(&linked), "the bill does not name {linked}");
        }
        Ok(())
    }
}

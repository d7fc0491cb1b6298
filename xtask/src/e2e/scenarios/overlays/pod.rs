//! A process in place of a pod's container.
//!
//! Invariant: it has the binary that the image names, the arguments and the environment of the pod, its volumes, and a
//! token of its service account that is bound to it; the API server is found as in any pod. Where it listens is ours:
//! free ports on 127.0.0.1 take the place of the manifest's hosts and default ports. Nothing else differs.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::NAMESPACE;
use super::place::{self, Mount, Root};
use crate::cargo;
use crate::cluster::ApiServer;
use crate::e2e::api::{Api, text};
use crate::e2e::world::World;
use crate::exporter::Exporter;
use crate::http::Client;

/// Arguments that say where to listen.
const LISTENING: [&str; 2] = ["--host=", "--telemetry-host="];

/// Who looks at what processes serve over TLS.
pub struct Reader {
    /// The Secret with the certificate.
    pub secret: String,
    /// The authority that it trusts, in PEM.
    pub authority: Vec<u8>,
    /// Its token.
    pub token: String,
}

/// A process in place of a pod.
pub struct Instance {
    /// The process.
    pub exporter: Exporter,
    /// The pod as it was when the process started.
    pub pod: Value,
    /// Whether the pod is being deleted.
    pub told_to_stop: bool,
    /// What was last said about the process to kwok.
    pub said: &'static str,
}

impl Instance {
    /// Starts the process. `number` tells it from others of the same name.
    pub fn start(
        world: &World,
        api: &mut Api,
        server: &ApiServer,
        pod: &Value,
        reader: &Reader,
        number: u32,
    ) -> Result<Self> {
        let name = text(pod, "/metadata/name")?;
        let container = container(pod)?;
        let folder = world.scratch.folder(&format!("pods/{name}-{number}"))?;
        let mounts = mounts(api, pod, container, &folder)?;
        let environment = environment(pod, container, server)?;
        let read_only = container.pointer("/securityContext/readOnlyRootFilesystem") == Some(&json!(true));
        let root = if read_only { Root::ReadOnly } else { Root::Writable };
        let command = place::command(world.binary(binary(container)?), mounts, &environment, root);
        let arguments: Vec<String> = arguments(pod)?
            .into_iter()
            .filter(|argument| !LISTENING.iter().any(|name| argument.starts_with(name)))
            .collect();
        let exporter = Exporter::start_by(&format!("{name}-{number}"), command, &arguments, &world.logs, |address| {
            if address.starts_with("https:") {
                Client::secure(address, &reader.authority, &reader.token)
            } else {
                Ok(Client::plain(address))
            }
        })?;
        Ok(Self { exporter, pod: pod.clone(), told_to_stop: false, said: "" })
    }

    /// The name of its pod.
    pub fn name(&self) -> &str {
        self.pod["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The node of its pod.
    pub fn node(&self) -> &str {
        self.pod["spec"]["nodeName"].as_str().unwrap_or_default()
    }

    /// A label of its pod.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.pod["metadata"]["labels"][name].as_str()
    }

    /// The kind of what its pod belongs to.
    pub fn controller(&self) -> &str {
        self.pod.pointer("/metadata/ownerReferences/0/kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether a probe of the manifest, such as `readinessProbe`, succeeds.
    pub fn probe(&self, which: &str) -> Result<bool> {
        let probe = &container(&self.pod)?[which]["httpGet"];
        let client = match text(probe, "/port").with_context(|| which.to_owned())? {
            "metrics" => &self.exporter.metrics,
            "telemetry" => &self.exporter.telemetry,
            other => bail!("{which}: no port is called {other}"),
        };
        let scheme = probe["scheme"].as_str().unwrap_or("HTTP").to_lowercase();
        let address = format!("{scheme}://");
        ensure!(client.base().starts_with(&address), "{which} asks by {scheme}, served is {}", client.base());
        // The kubelet has no token for it.
        let answer = client.without_token().get(text(probe, "/path")?, None);
        Ok(answer.is_ok_and(|answer| (200..400).contains(&answer.status)))
    }

    /// Fails if the API server refuses it anything, or if it serves nothing.
    pub fn check_rights(&self) -> Result<()> {
        let metrics = self.exporter.self_metrics()?;
        let refused: Vec<&str> = metrics
            .select("kube_state_metrics_sharded_refused", &[])
            .filter(|sample| sample.value != 0.0)
            .filter_map(|sample| sample.label("resource"))
            .collect();
        ensure!(refused.is_empty(), "{} may not list {}", self.name(), refused.join(", "));
        ensure!(
            metrics.select("kube_state_metrics_sharded_synced", &[]).any(|sample| sample.value == 1.0),
            "{} serves nothing",
            self.name()
        );
        Ok(())
    }
}

/// The arguments of a pod's container, as the kubelet makes them.
pub fn arguments(pod: &Value) -> Result<Vec<String>> {
    let container = container(pod)?;
    let environment = variables(pod, container)?;
    let arguments = container["args"].as_array().context("a container has arguments")?;
    arguments
        .iter()
        .map(|argument| Ok(expand(argument.as_str().context("an argument is a string")?, &environment)))
        .collect()
}

fn container(pod: &Value) -> Result<&Value> {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let Some([container]) = containers.map(Vec::as_slice) else { bail!("a pod of ours has one container") };
    ensure!(container.get("command").is_none(), "an image of ours is started by its entry point");
    Ok(container)
}

fn binary(container: &Value) -> Result<&str> {
    let image = text(container, "/image")?;
    let binary = image.rsplit('/').next().and_then(|name| name.split(':').next()).unwrap_or_default();
    ensure!(cargo::SHIPPED.contains(&binary), "the image {image} is none of ours");
    Ok(binary)
}

/// The variables that the manifest names.
fn variables(pod: &Value, container: &Value) -> Result<Vec<(String, String)>> {
    ensure!(container.get("envFrom").is_none(), "envFrom is not known here");
    let mut variables = Vec::new();
    for variable in container["env"].as_array().into_iter().flatten() {
        let value = match variable.get("valueFrom") {
            None => text(variable, "/value")?,
            Some(source) => field(pod, text(source, "/fieldRef/fieldPath")?)?,
        };
        variables.push((text(variable, "/name")?.to_owned(), value.to_owned()));
    }
    Ok(variables)
}

/// These, and those by which a process finds the API server.
fn environment(pod: &Value, container: &Value, server: &ApiServer) -> Result<Vec<(String, String)>> {
    let mut environment = variables(pod, container)?;
    for (name, value) in [("HOST", "127.0.0.1".to_owned()), ("PORT", server.port().to_string())] {
        environment.push((format!("KUBERNETES_SERVICE_{name}"), value));
    }
    Ok(environment)
}

/// A field of a pod, as its manifest asks for it.
fn field<'a>(pod: &'a Value, path: &str) -> Result<&'a str> {
    match path {
        "metadata.name" | "metadata.namespace" | "spec.nodeName" | "status.podIP" => {
            text(pod, &format!("/{}", path.replace('.', "/")))
        }
        other => bail!("the field {other} is not known here"),
    }
}

/// Writes the files of every volume of a container, below `folder`.
fn mounts(api: &mut Api, pod: &Value, container: &Value, folder: &Path) -> Result<Vec<Mount>> {
    let mut mounts = Vec::new();
    for mount in container["volumeMounts"].as_array().into_iter().flatten() {
        ensure!(mount.get("subPath").is_none(), "subPath is not known here");
        let name = text(mount, "/name")?;
        let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        let volume = volumes.into_iter().find(|volume| volume["name"] == name);
        let volume = volume.with_context(|| format!("no volume {name}"))?;
        let from = folder.join(name);
        fs::create_dir_all(&from).with_context(|| format!("cannot create {}", from.display()))?;
        let sources = volume.pointer("/projected/sources").and_then(Value::as_array).cloned();
        for source in sources.unwrap_or_else(|| vec![volume.clone()]) {
            for (file, data) in files(api, pod, &source).with_context(|| format!("volume {name}"))? {
                let path = from.join(file);
                fs::write(&path, data).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        mounts.push(Mount { from, to: text(mount, "/mountPath")?.to_owned() });
    }
    Ok(mounts)
}

/// The files of one source of a volume.
fn files(api: &mut Api, pod: &Value, source: &Value) -> Result<Vec<(String, Vec<u8>)>> {
    if let Some(token) = source.get("serviceAccountToken") {
        let account = text(pod, "/spec/serviceAccountName")?;
        let data = api.token(NAMESPACE, account, Some(pod))?.into_bytes();
        return Ok(vec![(text(token, "/path")?.to_owned(), data)]);
    }
    if let Some(fields) = source.get("downwardAPI") {
        let items = fields["items"].as_array().context("items")?;
        return items
            .iter()
            .map(|item| {
                let data = field(pod, text(item, "/fieldRef/fieldPath")?)?.as_bytes().to_vec();
                Ok((text(item, "/path")?.to_owned(), data))
            })
            .collect();
    }
    for (key, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let Some(source) = source.get(key) else { continue };
        let name = source.get("name").or_else(|| source.get("secretName")).context("a source has a name")?;
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}});
        let data = api.get(&object)?["data"].clone();
        let decode = |text: &str| -> Result<Vec<u8>> {
            if kind == "Secret" { Ok(STANDARD.decode(text)?) } else { Ok(text.as_bytes().to_vec()) }
        };
        let Some(items) = source["items"].as_array() else {
            let all = data.as_object().context("an object has data")?;
            let all = all.iter().map(|(key, value)| Ok((key.clone(), decode(value.as_str().unwrap_or_default())?)));
            return all.collect();
        };
        return items
            .iter()
            .map(|item| {
                let key = text(item, "/key")?;
                let value = data[key].as_str().with_context(|| format!("{kind} {name} has no {key}"))?;
                Ok((text(item, "/path")?.to_owned(), decode(value)?))
            })
            .collect();
    }
    bail!("this kind of volume is not known here: {source}")
}

/// `$(NAME)` as the kubelet replaces it.
fn expand(argument: &str, environment: &[(String, String)]) -> String {
    environment
        .iter()
        .fold(argument.to_owned(), |argument, (name, value)| argument.replace(&format!("$({name})"), value))
}

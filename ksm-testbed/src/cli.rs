//! The command line: `ksm-testbed serve` starts a test bed and keeps it until a signal ends it.

use std::{
    fs,
    io::IsTerminal,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use serde::Deserialize;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::{SampleOptions, Testbed, Token};

/// A simulated Kubernetes API server.
#[derive(Debug, Parser)]
#[command(name = "ksm-testbed", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a simulated cluster over plain HTTP until SIGTERM or SIGINT.
    Serve(Serve),
}

#[derive(Debug, Args)]
struct Serve {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Pods of the sample cluster; without this the cluster starts empty.
    #[arg(long, value_name = "COUNT")]
    pods: Option<usize>,
    /// Nodes of the sample cluster; one for every 40 pods by default, at least 3.
    #[arg(long, requires = "pods", value_name = "COUNT")]
    nodes: Option<usize>,
    /// Namespaces of the sample cluster; one for every 200 pods by default, at least 4 and at most 200.
    #[arg(long, requires = "pods", value_name = "COUNT")]
    namespaces: Option<usize>,
    /// Seed of the sample cluster; the same seed makes the same objects.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Changes a second that the sample cluster makes by itself.
    #[arg(long, requires = "pods", default_value_t = 0.0, value_name = "PER_SECOND")]
    churn: f64,
    /// Honour shard selectors, as kube-apiserver does with its feature gate ShardedListAndWatch.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_name = "BOOL")]
    sharded_list_watch: bool,
    /// Write a kubeconfig for this server.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Apply the objects of a YAML or JSON file; may be given several times.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Require this bearer token.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

impl Cli {
    /// Does what the arguments say, until the server is told to stop.
    pub async fn run(self) -> Result<()> {
        let Command::Serve(serve) = self.command;
        serve.run().await
    }
}

impl Serve {
    async fn run(self) -> Result<()> {
        let filter = EnvFilter::builder().with_default_directive(tracing::Level::INFO.into()).from_env_lossy();
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr)
            .init();
        if !self.churn.is_finite() || self.churn < 0.0 {
            bail!("--churn: {} is not a number of changes a second", self.churn);
        }
        // Before anything slow: a typo in a file should not wait for a hundred thousand pods.
        let mut objects = Vec::new();
        for file in &self.files {
            objects.extend(read_objects(file)?);
        }
        // Signals count from here on, also while the cluster is being built.
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        tokio::select! {
            result = self.serve(objects) => result,
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
        }
    }

    async fn serve(&self, objects: Vec<Value>) -> Result<()> {
        let mut builder =
            Testbed::builder().listen(self.listen).churn(self.churn).sharded_list_watch(self.sharded_list_watch);
        if let Some(pods) = self.pods {
            let mut sample = SampleOptions::new(pods, self.seed);
            sample.nodes = self.nodes.unwrap_or(sample.nodes);
            sample.namespaces = self.namespaces.unwrap_or(sample.namespaces);
            builder = builder.sample(sample);
        }
        if let Some(token) = &self.token {
            builder = builder.token(Token::new(token));
        }
        let testbed = builder.start().await?;
        for object in objects {
            testbed.cluster().apply(object)?;
        }
        if let Some(path) = &self.write_kubeconfig {
            let config = kubeconfig(&testbed.url(), self.token.as_deref());
            fs::write(path, config).with_context(|| format!("cannot write {}", path.display()))?;
        }
        tracing::info!(objects = ?testbed.cluster().counts(), "serving");
        println!("listening on {}", testbed.url());
        std::future::pending().await
    }
}

/// The objects of a file; lists are taken apart.
fn read_objects(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut objects = Vec::new();
    for document in serde_norway::Deserializer::from_str(&text) {
        let mut value = Value::deserialize(document).with_context(|| format!("cannot parse {}", path.display()))?;
        match value["items"].take() {
            Value::Array(items) => objects.extend(items),
            _ if value.is_null() => {}
            _ => {
                if let Some(object) = value.as_object_mut() {
                    object.remove("items");
                }
                objects.push(value);
            }
        }
    }
    Ok(objects)
}

/// A kubeconfig with one context.
pub fn kubeconfig(url: &str, token: Option<&str>) -> String {
    // JSON is YAML, and quotes whatever needs quoting.
    let user = token.map_or_else(|| serde_json::json!({}), |token| serde_json::json!({"token": token}));
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": {"server": url}}],
        "users": [{"name": "testbed", "user": user}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "testbed"}}],
        "current-context": "testbed",
    });
    format!("{config:#}\n")
}

//! The client: where the API server is and who we are to it.
//!
//! Order as in kube-state-metrics: the kubeconfig that was named, its URL replaced by `--apiserver`; that URL alone,
//! without credentials; else the service account of the pod. A kubeconfig that was not named is never used, so that a
//! process does not end up on a cluster that nobody meant.

use std::path::PathBuf;

use http::HeaderValue;
use http::header::USER_AGENT;
use http::uri::InvalidUri;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::build::Build;
use crate::options::Connection;

/// Why there is no client. That the API server cannot be reached is no reason: this is about configuration only.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read or makes no sense.
    #[error("cannot use kubeconfig {}", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<KubeconfigError>,
    },
    /// There is a certificate authority to trust, but no certificate in it.
    #[error("cannot use kubeconfig {}: its certificate authority holds no certificate in PEM form", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The URL does not parse.
    #[error("cannot use API server {url}")]
    Url {
        /// The URL.
        url: String,
        /// The reason.
        source: InvalidUri,
    },
    /// Not in a pod, and nothing else was said.
    #[error("which API server? give --kubeconfig or --apiserver, or run in a pod with a service account")]
    InCluster(#[source] Box<InClusterError>),
    /// The configuration names certificates or credentials that cannot be used.
    #[error("cannot set up the client")]
    Client(#[source] Box<kube::Error>),
}

/// A client as the options say, and the URL it talks to. Credentials from files are read again as they change.
///
/// # Errors
/// The configuration is missing or makes no sense.
pub(super) async fn connect(connection: &Connection, build: Build) -> Result<(Client, http::Uri), ConnectError> {
    let mut config = config(connection).await?;
    // Watches last; the list/watches have limits and back-off of their own, which retries in the client would hide.
    config.read_timeout = None;
    config.default_retry = false;
    let agent = format!("{}/{} ({}/{})", build.name, build.version, std::env::consts::OS, std::env::consts::ARCH);
    config.headers.push((USER_AGENT, HeaderValue::from_str(&agent).expect("names and versions are plain ASCII")));
    let url = config.cluster_url.clone();
    let client = Client::try_from(config).map_err(|error| ConnectError::Client(Box::new(error)))?;
    Ok((client, url))
}

async fn config(connection: &Connection) -> Result<Config, ConnectError> {
    let url = connection.apiserver.as_deref().map(parse_url).transpose()?;
    let Some(path) = &connection.kubeconfig else {
        return match url {
            Some(url) => Ok(Config::new(url)),
            None => Config::incluster().map_err(|error| ConnectError::InCluster(Box::new(error))),
        };
    };
    let failed = |source| ConnectError::Kubeconfig { path: path.clone(), source: Box::new(source) };
    let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(failed)?;
    // Left alone, every connection would fail with a certificate error that does not say why.
    if config.root_cert.as_ref().is_some_and(Vec::is_empty) {
        return Err(ConnectError::NoCertificate { path: path.clone() });
    }
    if let Some(url) = url {
        config.cluster_url = url;
    }
    Ok(config)
}

fn parse_url(url: &str) -> Result<http::Uri, ConnectError> {
    url.parse().map_err(|source| ConnectError::Url { url: url.to_owned(), source })
}

//! The client: where the API server is and who we are to it.
//!
//! Order as in kube-state-metrics: the kubeconfig that was named, its URL replaced by `--apiserver`; that URL alone,
//! without credentials; else the service account of the pod. A kubeconfig that was not named is never used, so that a
//! process does not end up on a cluster that nobody meant.

use std::path::{Path, PathBuf};

use http::HeaderValue;
use http::header::USER_AGENT;
use http::uri::InvalidUri;
use hyper_timeout::TimeoutConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt;
use kube::config::{Cluster, Context, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use md5::{Digest, Md5};
use tower::util::option_layer;
use tower::{BoxError, Layer, ServiceExt};

use super::proxy::Connector;
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
    /// There is to be a proxy that cannot be used.
    #[error("cannot use {0} (see proxy-url in the kubeconfig, HTTPS_PROXY, HTTP_PROXY and NO_PROXY)")]
    Proxy(String),
    /// The configuration names certificates or credentials that cannot be used.
    #[error("cannot set up the client")]
    Client(#[source] Box<kube::Error>),
}

/// A client as the options say, and the URL it talks to. Tokens from files are read again as they change; so is the
/// certificate authority of a pod.
///
/// # Errors
/// The configuration is missing or makes no sense.
pub(super) async fn connect(connection: &Connection, build: Build) -> Result<(Client, http::Uri), ConnectError> {
    let (mut config, proxy) = config(connection).await?;
    let agent = format!("{}/{} ({}/{})", build.name, build.version, std::env::consts::OS, std::env::consts::ARCH);
    config.headers.push((USER_AGENT, HeaderValue::from_str(&agent).expect("names and versions are plain ASCII")));
    let url = config.cluster_url.clone();
    Ok((client(config, proxy.as_deref())?, url))
}

/// A client for that configuration, through the proxy that was named or the one of the environment.
///
/// It is `kube`'s own but for three things: it does not retry, since the list/watches have limits and back-off of their
/// own; it waits for answers as long as watches last; and it finds its proxy as Go does.
///
/// # Errors
/// Certificates, credentials or the proxy cannot be used.
pub(super) fn client(config: Config, proxy: Option<&str>) -> Result<Client, ConnectError> {
    let failed = |error| ConnectError::Client(Box::new(error));
    let variable = |name: &str| std::env::var(name).ok();
    let connector = Connector::to(&config.cluster_url, proxy, variable).map_err(ConnectError::Proxy)?;
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector).map_err(failed)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_write_timeout(config.write_timeout);
    let http = hyper_util::client::legacy::Builder::new(TokioExecutor::new()).build(connector);
    let service = config.extra_headers_layer().map_err(failed)?.layer(http.map_err(BoxError::from));
    let service = option_layer(config.auth_layer().map_err(failed)?).layer(service);
    Ok(Client::new(config.base_uri_layer().layer(service), config.default_namespace))
}

/// What to connect to, and the proxy that the kubeconfig names for it.
async fn config(connection: &Connection) -> Result<(Config, Option<String>), ConnectError> {
    let url = connection.apiserver.as_deref().map(parse_url).transpose()?;
    let Some(path) = &connection.kubeconfig else {
        return match url {
            Some(url) => Ok((Config::new(url), None)),
            None => {
                let config = Config::incluster().map_err(|error| ConnectError::InCluster(Box::new(error)))?;
                Ok((config, None))
            }
        };
    };
    let failed = |source| ConnectError::Kubeconfig { path: path.clone(), source: Box::new(source) };
    let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    let proxy = cluster(&kubeconfig).and_then(|cluster| cluster.proxy_url.clone());
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(failed)?;
    // Left alone, every connection would fail with a certificate error that does not say why.
    if config.root_cert.as_ref().is_some_and(Vec::is_empty) {
        return Err(ConnectError::NoCertificate { path: path.clone() });
    }
    if let Some(url) = url {
        config.cluster_url = url;
    }
    Ok((config, proxy))
}

/// The cluster of the current context.
fn cluster(kubeconfig: &Kubeconfig) -> Option<&Cluster> {
    let context = context(kubeconfig)?;
    let named = kubeconfig.clusters.iter().find(|named| named.name == context.cluster)?;
    named.cluster.as_ref()
}

fn context(kubeconfig: &Kubeconfig) -> Option<&Context> {
    let current = kubeconfig.current_context.as_deref()?;
    let named = kubeconfig.contexts.iter().find(|named| named.name == current)?;
    named.context.as_ref()
}

/// A kubeconfig with the certificates and keys that it names, as they are at one moment.
pub(super) struct Identity {
    /// The content of the kubeconfig alone.
    pub(super) content: Vec<u8>,
    /// Changes when it or one of these files does.
    pub(super) fingerprint: [u8; 16],
}

impl Identity {
    /// Reads them; `None` if the kubeconfig cannot be read. A file that it names and that cannot be read is as good as an
    /// empty one. Token files are left out: the client reads them again by itself.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let content = std::fs::read(path).ok()?;
        let mut sum = Md5::new();
        let mut add = |part: &[u8]| {
            sum.update(part.len().to_le_bytes());
            sum.update(part);
        };
        add(&content);
        if let Ok(kubeconfig) = Kubeconfig::read_from(path) {
            let user = context(&kubeconfig).and_then(|context| context.user.as_deref());
            let user = user.and_then(|user| kubeconfig.auth_infos.iter().find(|named| named.name == user));
            let user = user.and_then(|named| named.auth_info.as_ref());
            let authority = cluster(&kubeconfig).and_then(|cluster| cluster.certificate_authority.as_deref());
            let certificate = user.and_then(|user| user.client_certificate.as_deref());
            let key = user.and_then(|user| user.client_key.as_deref());
            for file in [authority, certificate, key].into_iter().flatten() {
                add(&std::fs::read(file).unwrap_or_default());
            }
        }
        Some(Self { content, fingerprint: sum.finalize().into() })
    }
}

fn parse_url(url: &str) -> Result<http::Uri, ConnectError> {
    url.parse().map_err(|source| ConnectError::Url { url: url.to_owned(), source })
}

//! Why a run ended, on one line.

use std::io;
use std::path::PathBuf;

use super::ConnectError;
use crate::serve::WebError;

/// Why a run ended.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The runtime did not start.
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    /// Signals cannot be received.
    #[error("cannot receive signals")]
    Signals(#[source] io::Error),
    /// There is no way to the API server in the configuration.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A port cannot be bound.
    #[error("cannot listen on {host} port {port} for {what} (see --host, --port, --telemetry-host, --telemetry-port)")]
    Listen {
        /// What the port is for.
        what: &'static str,
        /// Address or name.
        host: String,
        /// Port.
        port: u16,
        /// The reason.
        source: io::Error,
    },
    /// The web configuration file cannot be used.
    #[error("cannot use web configuration file {}", path.display())]
    Web {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: WebError,
    },
    /// One `Authorization` header cannot hold both.
    #[error("basic_auth_users in the file of --tls-config and --auth-filter exclude each other")]
    TwoGuards,
    /// A file of manifests or of an exposition cannot be read.
    #[error("cannot read {name}")]
    Input {
        /// The file, or stdin.
        name: String,
        /// The reason.
        source: io::Error,
    },
    /// What was read is neither.
    #[error("{name}: {reason}")]
    Content {
        /// The file, stdin or the URL.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// The result cannot be written.
    #[error("cannot write the result")]
    Output(#[source] io::Error),
    /// A task ended that must not.
    #[error("the {name} ended unexpectedly, the log says why")]
    Task {
        /// Which.
        name: String,
    },
    /// A second signal came while responses were finishing.
    #[error("stopped by a second signal before responses in progress were sent")]
    Aborted,
}

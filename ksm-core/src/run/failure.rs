//! Why a run ended, on one line.

use std::io;

use super::ConnectError;

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

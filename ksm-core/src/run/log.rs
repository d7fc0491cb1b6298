//! The log: one compact line an event on stderr, and every panic as one of them.
//!
//! How much is logged may be changed at any time.

use std::io::IsTerminal;

use tracing::error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, reload};

/// How much is logged.
#[derive(Clone, Debug)]
pub(super) struct Verbosity(reload::Handle<Targets, Registry>);

impl Verbosity {
    /// Logs so much from now on.
    pub(super) fn set(&self, verbosity: u8) {
        // It fails only if there is no log of ours.
        let _ = self.0.reload(targets(verbosity));
    }
}

/// Starts logging; a second call changes nothing.
pub(super) fn init(verbosity: u8) -> Verbosity {
    let (targets, handle) = reload::Layer::new(targets(verbosity));
    let format = tracing_subscriber::fmt::layer()
        .compact()
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    if tracing_subscriber::registry().with(targets).with(format).try_init().is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let message = panic.payload_as_str().unwrap_or("no message");
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            error!(place, message, "panic");
        }));
    }
    Verbosity(handle)
}

fn targets(verbosity: u8) -> Targets {
    let (own, others) = levels(verbosity);
    // The client logs every failed attempt as an error; list/watches tell of them once per change of state.
    let client = if others >= LevelFilter::DEBUG { others } else { LevelFilter::OFF };
    Targets::new().with_default(others).with_target("ksm_core", own).with_target("kube_client", client)
}

/// What is logged of this program and of the libraries under it, by klog's levels as Kubernetes uses them
/// (<https://github.com/kubernetes/community/blob/master/contributors/devel/sig-instrumentation/logging.md>).
fn levels(verbosity: u8) -> (LevelFilter, LevelFilter) {
    match verbosity {
        0..4 => (LevelFilter::INFO, LevelFilter::WARN),
        4..6 => (LevelFilter::DEBUG, LevelFilter::WARN),
        6..8 => (LevelFilter::TRACE, LevelFilter::INFO),
        8..10 => (LevelFilter::TRACE, LevelFilter::DEBUG),
        _ => (LevelFilter::TRACE, LevelFilter::TRACE),
    }
}

//! The log: one compact line an event on stderr, and every panic as one of them.

use std::io::IsTerminal;

use tracing::error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging; a second call changes nothing.
pub(super) fn init(verbosity: u8) {
    let (own, others) = levels(verbosity);
    let format = tracing_subscriber::fmt::layer()
        .compact()
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // The client logs every failed attempt as an error; list/watches tell of them once per change of state.
    let client = if others >= LevelFilter::DEBUG { others } else { LevelFilter::OFF };
    let targets = Targets::new().with_default(others).with_target("ksm_core", own).with_target("kube_client", client);
    if tracing_subscriber::registry().with(format).with(targets).try_init().is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let message = panic.payload_as_str().unwrap_or("no message");
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            error!(place, message, "panic");
        }));
    }
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

//! One module a scenario: `run` returns the figures to report, or why it failed.
//!
//! Invariant: a scenario starts its own exporters and leaves none behind.

pub mod bad_input;
pub mod compressed;
pub mod dashboards;
pub mod deploy;
pub mod handover;
pub mod images;
pub mod manifests;
pub mod options;
pub mod outage;
pub mod overlays;
pub mod parity;
pub mod partition;
pub mod prometheus;
pub mod reshard;
pub mod server_side;

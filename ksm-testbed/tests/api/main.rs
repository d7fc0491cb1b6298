//! The HTTP interface as clients see it, over real connections.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod access;
mod client;
mod discovery;
mod faults;
mod kube_client;
mod list;
mod watch;
mod write;

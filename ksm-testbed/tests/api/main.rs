//! The HTTP interface as clients see it, over real connections.

mod access;
mod client;
mod discovery;
mod faults;
mod kube_client;
mod list;
mod watch;
mod write;

//! Core of kube-state-metrics, sharded: everything but command lines.
//!
//! Data flows `watch → view → resources → store → serve`; imports follow the same order and never turn back.
//! The crate without its `runtime` feature is pure: no async, IO, clock or environment.

#[cfg(feature = "runtime")]
pub mod autoshard;
#[cfg(feature = "runtime")]
pub mod build;
#[cfg(feature = "runtime")]
pub mod catalogue;
#[cfg(feature = "runtime")]
mod chain;
pub mod exposition;
pub mod family;
#[cfg(feature = "runtime")]
pub mod options;
pub mod resource;
pub mod resources;
#[cfg(feature = "runtime")]
pub mod run;
pub mod self_metrics;
#[cfg(feature = "runtime")]
pub mod serve;
pub mod shard;
pub mod store;
#[cfg(feature = "runtime")]
pub mod telemetry;
pub mod view;
#[cfg(feature = "runtime")]
pub mod watch;

//! Core of kube-state-metrics, sharded: everything but command lines.
//!
//! Data flows `watch → view → resources → store → serve`; imports follow the same order and never turn back.
//! The crate without its `runtime` feature is pure: no async, IO, clock or environment.

pub mod exposition;
pub mod family;
pub mod resource;
pub mod resources;
pub mod shard;
pub mod store;
pub mod view;
#[cfg(feature = "runtime")]
pub mod watch;

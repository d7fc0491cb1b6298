//! The simulated API server without a network: requests are function calls.
//!
//! Everything runs on the caller's runtime and with its clock, so that with paused time a run repeats itself exactly.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};

use crate::{api::Api, faults::Faults, stats::Stats};

/// An API server to call. Several may share one cluster, as the members of a control plane do.
#[derive(Clone)]
pub struct Local {
    api: Arc<Api>,
}

impl Local {
    pub(crate) fn new(api: Api) -> Self {
        Self { api: Arc::new(api) }
    }

    /// Answers a request. The answer may go on for as long as its body is read.
    pub async fn call<B>(
        &self,
        request: Request<B>,
    ) -> Response<impl http_body::Body<Data = Bytes, Error: std::error::Error + Send + Sync> + use<B>>
    where
        B: http_body::Body<Data = Bytes, Error: std::fmt::Display> + Send,
    {
        Arc::clone(&self.api).serve(request).await
    }

    /// What is to go wrong.
    pub fn faults(&self) -> &Faults {
        &self.api.faults
    }

    /// What clients did.
    pub fn stats(&self) -> &Stats {
        &self.api.stats
    }
}

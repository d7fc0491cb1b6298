//! What can go wrong between a request and the end of its answer, by what to do next.

use std::time::Duration;

use thiserror::Error as ThisError;

use super::wire::{Status, WireError};
use crate::chain::answered;

/// Why a list or watch ended before its time.
#[derive(Debug, ThisError)]
pub(super) enum WatchError {
    /// No answer at all: no connection, no credentials, a broken TLS handshake.
    #[error("the request failed")]
    Request(#[source] kube::Error),
    /// The API server answered, but not with what was asked for.
    #[error("the API server answered {}", answered(*code, reason, message))]
    Status { code: u16, reason: String, message: String, retry_after: Option<Duration> },
    /// The connection broke while the answer was streaming in.
    #[error("the connection broke")]
    Body(#[source] kube::Error),
    /// The answer is not what it should be.
    #[error("the answer is broken")]
    Wire(#[from] WireError),
    /// An object event that does not say which object it is about.
    #[error("the answer is broken: an object without metadata")]
    NoMetadata,
    /// An encoding that was not asked for.
    #[error("the answer is broken: it has the content type {0:?}")]
    ContentType(String),
    /// Nothing came for too long.
    #[error("nothing came for {} s", .0.as_secs())]
    Idle(Duration),
    /// A watch that ended right away, without an event.
    #[error("the API server ended the watch at once")]
    EndedAtOnce,
    /// A streamed list that never said that it is complete.
    #[error("the streamed list did not say that it is complete")]
    Unfinished,
}

impl WatchError {
    /// An error event of a watch.
    pub(super) fn from_event(status: Status) -> Self {
        let code = u16::try_from(status.code).unwrap_or(0);
        Self::Status { code, reason: status.reason, message: status.message, retry_after: None }
    }

    /// The resource version or continue token is too old: the list must be read anew. A normal thing.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Status { code: 410, .. })
    }

    /// The resource may not be read, or does not exist. Not so 401: these are credentials that are wrong or have run out,
    /// which says nothing about the resource.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Status { code: 403 | 404, .. })
    }

    /// The API server cannot answer from its cache as of the version asked for: it is lost, or the cache is behind.
    pub(super) fn is_about_version(&self) -> bool {
        matches!(self, Self::Status { code: 410 | 504, .. })
    }

    /// The API server does not have the resource, or not in this version.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Status { code: 404, .. })
    }

    /// The API server does not do streamed lists, or not right; a paged list may still work.
    pub(super) fn means_no_streaming(&self) -> bool {
        matches!(self, Self::Status { code: 400 | 405 | 406 | 415 | 422, .. } | Self::Unfinished)
            && !self.names_shard_selector()
    }

    /// The API server does not take the shard selector; without it the request may still work. 500 is what 1.37 says of
    /// one it cannot parse, and what any server says of any mishap, so there the message counts.
    pub(super) fn means_no_shard_selector(&self) -> bool {
        matches!(self, Self::Status { code: 400 | 405 | 422, .. })
            || matches!(self, Self::Status { code: 500, .. }) && self.names_shard_selector()
    }

    fn names_shard_selector(&self) -> bool {
        let Self::Status { message, .. } = self else { return false };
        message.contains("shard selector") || message.contains("shardSelector")
    }

    /// The stream cannot be trusted any more, so what it said before may be wrong as well: read the list anew.
    pub(super) fn is_broken_stream(&self) -> bool {
        // A stream that ends inside a frame is a cut connection like any other.
        !matches!(self, Self::Wire(WireError::Cut(_)))
            && matches!(self, Self::Wire(_) | Self::NoMetadata | Self::ContentType(_))
    }

    /// The connection is at fault, which all resources share, and not what was asked for.
    pub(super) fn is_about_connection(&self) -> bool {
        matches!(self, Self::Request(_) | Self::Body(_) | Self::Idle(_))
    }

    /// How long the API server asked to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, message: &str) -> WatchError {
        WatchError::Status { code, reason: String::new(), message: message.to_owned(), retry_after: None }
    }

    #[test]
    fn only_a_server_error_that_names_the_selector_is_about_it() {
        assert!(status(500, "invalid shard selector: bound must have '0x' prefix").means_no_shard_selector());
        assert!(!status(500, "etcdserver: leader changed").means_no_shard_selector());
        for code in [400, 422] {
            assert!(status(code, "").means_no_shard_selector() && status(code, "").means_no_streaming());
            let named = status(code, "shardSelector: Forbidden");
            assert!(named.means_no_shard_selector() && !named.means_no_streaming(), "{code}");
        }
    }

    #[test]
    fn wrong_credentials_are_no_refusal_of_a_resource() {
        assert!([403, 404].iter().all(|&code| status(code, "").is_refusal()));
        assert!([401, 429, 500].iter().all(|&code| !status(code, "").is_refusal()));
    }
}

//! What can go wrong between a request and the end of its answer, by what to do next.

use std::time::Duration;

use thiserror::Error as ThisError;

use super::wire::{Status, WireError};

/// Why a list or watch ended before its time.
#[derive(Debug, ThisError)]
pub(super) enum WatchError {
    /// No answer at all: no connection, no credentials, a broken TLS handshake.
    #[error("the request failed")]
    Request(#[source] kube::Error),
    /// The API server answered, but not with what was asked for.
    #[error("the API server answered {code} {reason}: {message}")]
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

    /// The resource may not be read, or does not exist.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Status { code: 401 | 403 | 404, .. })
    }

    /// The API server does not do streamed lists, or not right; a paged list may still work.
    pub(super) fn means_no_streaming(&self) -> bool {
        matches!(self, Self::Status { code: 400 | 405 | 406 | 415 | 422, .. } | Self::Unfinished)
    }

    /// The API server does not take the shard selector; without it the request may still work.
    pub(super) fn means_no_shard_selector(&self) -> bool {
        matches!(self, Self::Status { code: 400 | 405 | 422 | 500, .. })
    }

    /// The stream cannot be trusted any more, so what it said before may be wrong as well: read the list anew.
    pub(super) fn is_broken_stream(&self) -> bool {
        // A stream that ends inside a frame is a cut connection like any other.
        !matches!(self, Self::Wire(WireError::Cut(_)))
            && matches!(self, Self::Wire(_) | Self::NoMetadata | Self::ContentType(_))
    }

    /// How long the API server asked to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

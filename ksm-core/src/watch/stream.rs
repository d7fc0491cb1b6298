//! One open answer of the API server: its status checked, its encoding known, its bytes counted.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use tokio::time::timeout;

use super::error::WatchError;
use super::progress::Progress;
use super::wire::{Event, Frames, decode_status};
use crate::view::Encoding;

/// The API server cuts requests of its own at 60 s; one that says nothing for longer is not there any more.
pub(super) const LIST_IDLE: Duration = Duration::from_secs(90);

/// API servers send a bookmark about every minute to watches of built-in resources. Quieter ones (aggregated APIs) are
/// asked again from where they were, which costs one request.
pub(super) const WATCH_IDLE: Duration = Duration::from_secs(240);

/// Error bodies are one `Status`.
const MAX_STATUS: usize = 64 << 10;

/// The body of an answer with status 200.
pub(super) struct Answer {
    body: Body,
    /// How objects in it are encoded.
    pub(super) encoding: Encoding,
    idle: Duration,
}

impl Answer {
    /// Sends a request; waits for the head of the answer, and later for each chunk, at most `idle`.
    pub(super) async fn open(
        client: &kube::Client,
        request: Request<Body>,
        idle: Duration,
    ) -> Result<Self, WatchError> {
        let response = timeout(idle.min(LIST_IDLE), client.send(request))
            .await
            .map_err(|_| WatchError::Idle(idle.min(LIST_IDLE)))?
            .map_err(WatchError::Request)?;
        if response.status() != StatusCode::OK {
            return Err(status_error(response).await);
        }
        let content_type = response.headers().get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
        let encoding = encoding(content_type)
            .ok_or_else(|| WatchError::ContentType(String::from_utf8_lossy(content_type).into_owned()))?;
        Ok(Self { body: response.into_body(), encoding, idle })
    }

    /// The next bytes, or `None` at the end.
    pub(super) async fn chunk(&mut self, progress: &Progress) -> Result<Option<Bytes>, WatchError> {
        loop {
            let frame = timeout(self.idle, self.body.frame()).await.map_err(|_| WatchError::Idle(self.idle))?;
            let Some(frame) = frame else { return Ok(None) };
            if let Ok(bytes) = frame.map_err(WatchError::Body)?.into_data() {
                progress.read_bytes.add(bytes.len() as u64);
                return Ok(Some(bytes));
            }
        }
    }
}

/// Next thing on a watch.
pub(super) enum Item {
    /// An event.
    Event(Event),
    /// Every event that has arrived was handed out: a good moment to show readers what they did.
    Drained,
    /// The API server ended the watch.
    End,
}

/// An open watch.
pub(super) struct WatchStream {
    answer: Answer,
    frames: Option<Frames>,
    undrained: bool,
}

impl WatchStream {
    pub(super) fn new(answer: Answer) -> Self {
        let frames = Frames::new(answer.encoding);
        Self { answer, frames: Some(frames), undrained: false }
    }

    /// How objects on it are encoded.
    pub(super) fn encoding(&self) -> Encoding {
        self.answer.encoding
    }

    /// The next thing. Cancel-safe: nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self, progress: &Progress) -> Result<Item, WatchError> {
        loop {
            let Some(frames) = &mut self.frames else { return Ok(Item::End) };
            if let Some(event) = frames.next()? {
                self.undrained = true;
                return Ok(Item::Event(event));
            }
            if std::mem::take(&mut self.undrained) {
                return Ok(Item::Drained);
            }
            match self.answer.chunk(progress).await? {
                Some(bytes) => frames.push(&bytes),
                None => {
                    if let Some(frames) = self.frames.take() {
                        frames.finish()?;
                    }
                }
            }
        }
    }
}

fn encoding(content_type: &[u8]) -> Option<Encoding> {
    let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    match essence {
        b"application/vnd.kubernetes.protobuf" => Some(Encoding::Protobuf),
        b"application/json" => Some(Encoding::Json),
        _ => None,
    }
}

async fn status_error(response: Response<Body>) -> WatchError {
    let code = response.status();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    // A body that cannot be read in time or is no Status only costs the message.
    let body = timeout(LIST_IDLE, Limited::new(response.into_body(), MAX_STATUS).collect()).await;
    let status = body.ok().and_then(Result::ok).and_then(|body| decode_status(&body.to_bytes())).unwrap_or_default();
    let reason = match status.reason.as_str() {
        "" => code.canonical_reason().unwrap_or("unknown").to_owned(),
        _ => status.reason,
    };
    WatchError::Status { code: code.as_u16(), reason, message: status.message, retry_after }
}

//! Response bodies: short texts, and expositions that are put together while they are sent.
//!
//! The length of either is known before the first byte. An exposition reads the snapshots taken when it was made, so
//! it is one consistent view however slowly it is read. It holds two chunks of text at most, one being sent and one
//! made meanwhile.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use super::exposition::Exposition;

/// What to do when a body was sent or given up.
pub(super) type OnEnd = Box<dyn FnOnce() + Send>;

/// The body of a response.
pub struct Body {
    content: Content,
    on_end: Option<OnEnd>,
}

enum Content {
    Whole(Bytes),
    /// Chunks are copies, made when they are wanted.
    Exposition(Box<Exposition>),
    /// Chunks take work, done on another thread while the last one is sent.
    Ahead(Ahead),
}

/// An exposition on another thread.
struct Ahead {
    remaining: u64,
    exposition: Option<Box<Exposition>>,
    running: Option<JoinHandle<(Box<Exposition>, Bytes)>>,
}

impl Ahead {
    fn new(exposition: Box<Exposition>) -> Self {
        Self { remaining: exposition.remaining(), exposition: Some(exposition), running: None }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        if let Some(exposition) = self.exposition.take() {
            self.run(exposition);
        }
        let Some(running) = &mut self.running else { return Poll::Ready(Ok(Bytes::new())) };
        let (exposition, chunk) = ready!(Pin::new(running).poll(cx)).map_err(io::Error::other)?;
        self.running = None;
        self.remaining -= chunk.len() as u64;
        if self.remaining > 0 {
            self.run(exposition);
        }
        Poll::Ready(Ok(chunk))
    }

    fn run(&mut self, mut exposition: Box<Exposition>) {
        self.running = Some(spawn_blocking(move || {
            let chunk = exposition.next_chunk();
            (exposition, chunk)
        }));
    }
}

impl Body {
    /// A body that is there already.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { content: Content::Whole(bytes.into()), on_end: None }
    }

    /// An exposition.
    pub(super) fn exposition(exposition: Exposition) -> Self {
        let exposition = Box::new(exposition);
        let content = if exposition.takes_work() {
            Content::Ahead(Ahead::new(exposition))
        } else {
            Content::Exposition(exposition)
        };
        Self { content, on_end: None }
    }

    /// How many bytes are left.
    pub(super) fn remaining(&self) -> u64 {
        match &self.content {
            Content::Whole(bytes) => bytes.len() as u64,
            Content::Exposition(exposition) => exposition.remaining(),
            Content::Ahead(ahead) => ahead.remaining,
        }
    }

    /// Runs `on_end` when the body is dropped, after what was to run already.
    pub(super) fn on_end(mut self, on_end: OnEnd) -> Self {
        let before = self.on_end.take();
        self.on_end = Some(Box::new(move || {
            if let Some(before) = before {
                before();
            }
            on_end();
        }));
        self
    }

    /// The same without content, as an answer to HEAD.
    pub(super) fn without_content(mut self) -> Self {
        self.content = Content::Whole(Bytes::new());
        self
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(on_end) = self.on_end.take() {
            on_end();
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let data = match &mut self.content {
            Content::Whole(bytes) => std::mem::take(bytes),
            Content::Exposition(exposition) => exposition.next_chunk(),
            Content::Ahead(ahead) => match ready!(ahead.poll_chunk(cx)) {
                Ok(chunk) => chunk,
                Err(error) => return Poll::Ready(Some(Err(error))),
            },
        };
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining())
    }
}

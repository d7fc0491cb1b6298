//! Response bodies: short texts, and expositions that are put together while they are sent.
//!
//! The length of either is known before the first byte. An exposition reads the snapshots taken when it was made, so
//! it is one consistent view however slowly it is read. It holds few chunks of text: those being sent, and those made
//! meanwhile.

use std::collections::VecDeque;
use std::io;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use super::exposition::Exposition;

/// Chunks of one exposition that are made at the same time, at most: few enough for their memory not to count.
const MOST_AHEAD: usize = 8;

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
    /// Chunks take work, done on other threads while those before are sent.
    Ahead(Box<Ahead>),
}

/// An exposition whose chunks are made on other threads.
struct Ahead {
    remaining: u64,
    exposition: Exposition,
    /// Chunks in the making, the next one first.
    running: VecDeque<JoinHandle<Bytes>>,
    /// How many may be, from 1 to one for each processor: more for a client that waits for them, fewer for one that
    /// does not.
    ahead: usize,
}

impl Ahead {
    fn new(exposition: Exposition) -> Self {
        Self { remaining: exposition.remaining(), exposition, running: VecDeque::new(), ahead: 2.min(most_ahead()) }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        while self.running.len() < self.ahead
            && let Some(span) = self.exposition.next_span()
        {
            self.running.push_back(spawn_blocking(|| span.into_chunk()));
        }
        let Some(next) = self.running.front_mut() else { return Poll::Ready(Ok(Bytes::new())) };
        let polled = Pin::new(next).poll(cx);
        self.ahead = match polled {
            Poll::Pending => self.ahead + 1,
            Poll::Ready(_) => self.ahead - 1,
        }
        .clamp(1, most_ahead());
        let chunk = ready!(polled).map_err(io::Error::other)?;
        self.running.pop_front();
        self.remaining -= chunk.len() as u64;
        Poll::Ready(Ok(chunk))
    }
}

fn most_ahead() -> usize {
    static AHEAD: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get).clamp(1, MOST_AHEAD));
    *AHEAD
}

impl Body {
    /// A body that is there already.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { content: Content::Whole(bytes.into()), on_end: None }
    }

    /// An exposition.
    pub(super) fn exposition(exposition: Exposition) -> Self {
        let content = if exposition.takes_work() {
            Content::Ahead(Box::new(Ahead::new(exposition)))
        } else {
            Content::Exposition(Box::new(exposition))
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

//! Time limits of one connection: the header, the response, and the rest between them.
//!
//! A slow or silent client costs one task and one chunk of text until its limit cuts it off; it delays nobody.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::options::Timeouts;

/// Longer than any connection lasts.
const ANY_TIME: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// What a listener allows its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the first byte of a request to the end of its header.
    pub header: Duration,
    /// From the end of the header until the last byte of the response has left.
    pub response: Duration,
    /// Between one response and the first byte of the next request.
    pub idle: Duration,
    /// Connections at a time; beyond that idle ones are closed for new ones, which wait until there is room.
    pub connections: usize,
    /// How long responses in progress may take to finish when the process is told to stop.
    pub grace: Duration,
}

impl Limits {
    /// The limits of kube-state-metrics where it has them: a scrape has a minute, and Prometheus drops idle connections
    /// after five. The grace stays below the 30 s after which the kubelet kills.
    pub const DEFAULT: Self = Self {
        header: Duration::from_secs(5),
        response: Duration::from_secs(60),
        idle: Duration::from_secs(300),
        connections: 512,
        grace: Duration::from_secs(25),
    };

    /// The same with other timeouts.
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        let Timeouts { header, response, idle } = timeouts;
        let [header, response, idle] = [header, response, idle].map(|limit| limit.unwrap_or(ANY_TIME).min(ANY_TIME));
        Self { header, response, idle, ..self }
    }
}

/// What a connection is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Header,
    Response,
    /// The body has been handed over and may still wait to be sent.
    Flush,
    Idle,
}

/// Notes where a connection stands, and when it is overdue.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    limits: Limits,
    state: Arc<Mutex<(Stage, Instant)>>,
}

impl Pace {
    /// The pace of a new connection, whose first header is due.
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, state: Arc::new(Mutex::new((Stage::Header, Instant::now() + limits.header))) }
    }

    /// A request's header is complete.
    pub(super) fn start_response(&self) {
        self.set(Stage::Response, Some(self.limits.response));
    }

    /// The response's body is at its end; what is buffered still has to leave.
    pub(super) fn end_response(&self) {
        self.set(Stage::Flush, None);
    }

    /// Whether the connection is between two requests.
    pub(super) fn is_idle(&self) -> bool {
        self.stage() == Stage::Idle
    }

    fn received(&self) {
        if self.stage() == Stage::Idle {
            self.set(Stage::Header, Some(self.limits.header));
        }
    }

    fn flushed(&self) {
        if self.stage() == Stage::Flush {
            self.set(Stage::Idle, Some(self.limits.idle));
        }
    }

    fn stage(&self) -> Stage {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn set(&self, stage: Stage, limit: Option<Duration>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = stage;
        if let Some(limit) = limit {
            state.1 = Instant::now() + limit;
        }
    }

    fn deadline(&self) -> Instant {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Ready once the connection is overdue. To be polled after the connection: a poll of the connection moves the
    /// deadline without waking anyone.
    pub(super) fn poll_overdue(&self, sleep: &mut Pin<Box<Sleep>>, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline();
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(cx)
    }

    /// A timer for [`Pace::poll_overdue`].
    pub(super) fn sleep(&self) -> Pin<Box<Sleep>> {
        Box::pin(tokio::time::sleep_until(self.deadline()))
    }
}

/// An IO that tells its pace what passes.
pub(super) struct Paced<T> {
    pub(super) io: T,
    pub(super) pace: Pace,
}

impl<T: AsyncRead + Unpin> AsyncRead for Paced<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.pace.received();
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Paced<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        if flushed.is_ready() {
            self.pace.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

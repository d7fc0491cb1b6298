//! Response bodies: whole or streamed, counted, and cut or stalled where a fault says so.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::stats::Record;

/// The connection is to break now. hyper closes it on any error of a body.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("connection cut on purpose")]
pub(crate) struct Cut;

/// What a streaming task sends.
pub(crate) type Chunk = Result<Bytes, Cut>;

enum Source {
    Whole(Option<Bytes>),
    /// Length if known, and the chunks.
    Stream(Option<u64>, mpsc::Receiver<Chunk>),
}

enum End {
    Open,
    /// The bytes before the cut are with the connection; it gets one turn for writing them.
    Cutting,
    Stalled,
}

/// A response body.
pub(crate) struct Body {
    source: Source,
    record: Option<Arc<Record>>,
    /// Bytes that may still go out, and whether the connection breaks (or stalls) then.
    budget: Option<(u64, bool)>,
    end: End,
}

impl Body {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::new(Source::Whole(Some(bytes.into())))
    }

    /// A body that another task sends, of a length known beforehand or not.
    pub(crate) fn stream(length: Option<u64>) -> (mpsc::Sender<Chunk>, Self) {
        let (sender, receiver) = mpsc::channel(8);
        (sender, Self::new(Source::Stream(length, receiver)))
    }

    fn new(source: Source) -> Self {
        Self { source, record: None, budget: None, end: End::Open }
    }

    /// Counts what is sent in a request's record and ends it after a number of bytes.
    pub(crate) fn observed(mut self, record: Arc<Record>, budget: Option<(u64, bool)>) -> Self {
        self.record = Some(record);
        self.budget = budget;
        self
    }

    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<Option<Chunk>> {
        match &mut self.source {
            Source::Whole(bytes) => Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty()).map(Ok)),
            Source::Stream(_, receiver) => receiver.poll_recv(context),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match (&self.end, self.budget) {
            (End::Cutting, _) => return Poll::Ready(Some(Err(Cut))),
            (End::Stalled, _) => return Poll::Pending,
            (End::Open, Some((0, true))) => {
                self.end = End::Cutting;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            (End::Open, Some((0, false))) => {
                self.end = End::Stalled;
                return Poll::Pending;
            }
            (End::Open, _) => {}
        }
        let mut bytes = match ready!(self.poll_source(context)) {
            Some(Ok(bytes)) => bytes,
            Some(Err(Cut)) => {
                self.end = End::Cutting;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            None => return Poll::Ready(None),
        };
        if let Some((left, _)) = &mut self.budget {
            bytes.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= bytes.len() as u64;
        }
        if let Some(record) = &self.record {
            record.sent(bytes.len() as u64);
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Source::Stream(Some(length), _) => SizeHint::with_exact(*length),
            Source::Stream(None, _) => SizeHint::default(),
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(record) = &self.record {
            record.ended();
        }
    }
}

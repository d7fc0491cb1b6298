//! One listening port: accepts, serves HTTP/1, and drains when told to stop.
//!
//! Every connection is a task of its own; what goes wrong in one, a panic included, ends that one only.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tracing::{debug, error, warn};

use super::crowd::Cut;
use super::pace::{Limits, Pace, Paced};
use super::{Body, Guard};
use crate::options::Address;

/// Request headers longer than this are answered with 431.
const HEADER_BYTES: usize = 16 * 1024;

/// How long to wait before accepting again when the process has run out of something, usually file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// The response to a request, whose body is not read; it carries the [`Client`] in its extensions.
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;
}

/// Who sent a request.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Where the connection comes from.
    pub address: SocketAddr,
    /// Whether pages are guarded at all, so that open ones are to say little.
    pub guarded: bool,
    /// Whether it has a certificate that was verified.
    pub certified: bool,
}

/// The first byte of a TLS connection: a record of the handshake.
const TLS_HANDSHAKE: u8 = 22;

/// What a client is told that speaks plain HTTP where TLS is served.
const NO_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 44\r\n\
    Connection: close\r\n\r\nthis port serves TLS: ask with https, please";

/// What a connection is read from and written to.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A port that is bound and not yet served.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
    guard: Arc<Guard>,
}

impl Server {
    /// Binds the address.
    ///
    /// # Errors
    /// The name does not resolve, the address is not this machine's, or the port is taken.
    pub async fn bind(address: &Address, limits: Limits) -> io::Result<Self> {
        let listener = match TcpListener::bind((address.host.as_str(), address.port)).await {
            // A machine without IPv6 has no `::`; the default is to mean every address there is.
            Err(error) if address.host == "::" && no_ipv6(&error) => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port)).await?
            }
            bound => bound?,
        };
        let address = listener.local_addr()?;
        Ok(Self { listener, address, limits, guard: Arc::new(Guard::open()) })
    }

    /// The same, behind a guard.
    pub fn guarded(self, guard: Arc<Guard>) -> Self {
        Self { guard, ..self }
    }

    /// The address with the port that was bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` turns true, then refuses new connections and gives responses in progress their grace.
    pub async fn serve(self, handler: Arc<impl Handler>, mut stop: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(self.limits.connections));
        let (full, is_full) = watch::channel(false);
        let mut connections = JoinSet::new();
        loop {
            // A sender that is gone stops as well.
            let stopped = async { drop(stop.wait_for(|stop| *stop).await) };
            let accept = async {
                let free = Arc::clone(&permits).try_acquire_owned();
                full.send_if_modified(|full| std::mem::replace(full, free.is_err()) != free.is_err());
                let permit = match free {
                    Ok(permit) => permit,
                    Err(_) => permits.clone().acquire_owned().await.expect("the semaphore is never closed"),
                };
                self.listener.accept().await.map(|(stream, client)| (stream, client, permit))
            };
            tokio::select! {
                () = stopped => break,
                Some(ended) = connections.join_next() => report(ended),
                accepted = accept => match accepted {
                    Ok((stream, client, permit)) => {
                        let (handler, guard) = (Arc::clone(&handler), Arc::clone(&self.guard));
                        let (limits, stop, is_full) = (self.limits, stop.clone(), is_full.clone());
                        connections.spawn(async move {
                            if let Some((stream, client)) = open(stream, client, &guard, limits).await {
                                connection(stream, client, handler, guard, limits, stop, is_full).await;
                            }
                            drop(permit);
                        });
                    }
                    Err(error) => {
                        warn!(%error, address = %self.address, "cannot accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(self.listener);
        let drained = async {
            while let Some(ended) = connections.join_next().await {
                report(ended);
            }
        };
        if timeout(self.limits.grace, drained).await.is_err() {
            warn!(connections = connections.len(), address = %self.address, "responses cut, their grace is over");
        }
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        error!("a request ended in a panic; its connection is closed");
    }
}

fn no_ipv6(error: &io::Error) -> bool {
    // EAFNOSUPPORT has a kind of its own on no platform, and with IPv6 switched off `::` cannot be assigned.
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == io::ErrorKind::AddrNotAvailable
}

/// Speaks TLS with who connects, if TLS is served; `None` if that does not work out.
async fn open(
    mut stream: TcpStream,
    address: SocketAddr,
    guard: &Guard,
    limits: Limits,
) -> Option<(Box<dyn Stream>, Client)> {
    // The last chunk of a response is not to wait for the client's acknowledgement. A socket that refuses is gone.
    let _ = stream.set_nodelay(true);
    let client = Client { address, guarded: guard.is_closed(), certified: false };
    let Some(config) = guard.tls() else { return Some((Box::new(stream), client)) };
    let handshake = async move {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first[0] != TLS_HANDSHAKE {
            stream.write_all(NO_TLS).await?;
            stream.shutdown().await?;
            return Ok(None);
        }
        TlsAcceptor::from(config).accept(stream).await.map(Some)
    };
    match timeout(limits.header, handshake).await {
        Ok(Ok(Some(stream))) => {
            let certified = stream.get_ref().1.peer_certificates().is_some_and(|chain| !chain.is_empty());
            Some((Box::new(stream), Client { certified, ..client }))
        }
        Ok(Ok(None)) => {
            debug!("plain HTTP on a port that serves TLS");
            None
        }
        Ok(Err::<_, io::Error>(error)) => {
            debug!(%error, "no TLS connection");
            None
        }
        Err(_) => {
            debug!("no TLS connection within the time for a header");
            None
        }
    }
}

/// Serves one connection until the client or a limit ends it, its response is one too many, or, once `stop` is true, until its response is sent.
/// While `full` is true, a connection between two requests makes room for others.
async fn connection(
    stream: Box<dyn Stream>,
    client: Client,
    handler: Arc<impl Handler>,
    guard: Arc<Guard>,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
    full: watch::Receiver<bool>,
) {
    let (pace, cut) = (Pace::new(limits), Cut::default());
    let io = TokioIo::new(Paced { io: stream, pace: pace.clone() });
    let service = service_fn(|mut request: Request<Incoming>| {
        pace.start_response();
        let (handler, guard, ended) = (Arc::clone(&handler), Arc::clone(&guard), pace.clone());
        request.extensions_mut().insert(client);
        request.extensions_mut().insert(cut.clone());
        async move {
            let refusal = guard.refusal(request.uri().path(), request.headers(), client.certified).await;
            let mut response = match refusal {
                Some(refusal) if request.method() == Method::HEAD => refusal.map(Body::without_content),
                Some(refusal) => refusal,
                None => handler.respond(request).await,
            };
            guard.decorate(response.headers_mut());
            Ok::<_, Infallible>(response.map(|body| body.on_end(Box::new(move || ended.end_response()))))
        }
    });
    let mut builder = http1::Builder::new();
    // Our own limits tell a header that trickles in from a connection that rests.
    let builder = builder.header_read_timeout(None).max_header_size(HEADER_BYTES).max_buf_size(4 * HEADER_BYTES);
    // A client may have nothing more to say and still wait for its answer.
    let builder = builder.half_close(true);
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut sleep = pace.sleep();
    let mut stopped = pin!(async move { drop(stop.wait_for(|stop| *stop).await) });
    let mut cut_off = pin!(cut.wanted());
    let mut makes_room = pin!(idle_while_full(pace.clone(), full));
    let mut stopping = false;
    poll_fn(|cx| {
        if !stopping && stopped.as_mut().poll(cx).is_ready() {
            stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
            if let Err(error) = ended {
                debug!(%error, "connection ended early");
            }
            return Poll::Ready(());
        }
        if makes_room.as_mut().poll(cx).is_ready() {
            debug!("connection closed, it was idle and others wait");
            return Poll::Ready(());
        }
        if cut_off.as_mut().poll(cx).is_ready() {
            debug!("connection cut, its response was the oldest of too many");
            return Poll::Ready(());
        }
        let overdue = pace.poll_overdue(&mut sleep, cx);
        if overdue.is_ready() {
            debug!("connection cut, it is over its time limit");
        }
        overdue
    })
    .await;
}

/// Ends when the connection is between two requests and all places are taken.
async fn idle_while_full(pace: Pace, mut full: watch::Receiver<bool>) {
    loop {
        if full.wait_for(|full| *full).await.is_err() {
            // The listener is gone; stopping is none of this function's business.
            return std::future::pending().await;
        }
        if pace.is_idle() {
            return;
        }
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

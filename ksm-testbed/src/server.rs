//! Listens, serves connections, and can be made unreachable and reachable again under the same address.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use crate::api::Api;

/// Time between attempts to listen on the old port again.
const REBIND: Duration = Duration::from_millis(10);
/// How long such attempts go on; nobody is to wait for ever for who was given the port.
const REBIND_AT_MOST: Duration = Duration::from_secs(30);
/// Time that the answer to the request for an outage gets for leaving.
const FAREWELL: Duration = Duration::from_millis(20);

enum Command {
    /// Close all connections and refuse new ones; answer when done.
    Down(oneshot::Sender<()>),
    /// Accept connections again; answer when done.
    Up(oneshot::Sender<()>),
}

/// A handle for making a server unreachable.
#[derive(Debug, Clone)]
pub(crate) struct Outages(mpsc::UnboundedSender<Command>);

/// What the serving task listens to.
pub(crate) struct OutageCommands(mpsc::UnboundedReceiver<Command>);

pub(crate) fn outages() -> (Outages, OutageCommands) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Outages(sender), OutageCommands(receiver))
}

impl Outages {
    /// Closes all connections and refuses new ones from when this returns.
    pub(crate) async fn down(&self) {
        self.command(Command::Down).await;
    }

    /// Accepts connections again from when this returns.
    pub(crate) async fn up(&self) {
        self.command(Command::Up).await;
    }

    /// Starts an outage of this length in the background.
    pub(crate) fn begin(&self, duration: Duration) {
        let outages = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(FAREWELL).await;
            outages.down().await;
            tokio::time::sleep(duration).await;
            outages.up().await;
        });
    }

    async fn command(&self, command: impl FnOnce(oneshot::Sender<()>) -> Command) {
        let (done, wait) = oneshot::channel();
        if self.0.send(command(done)).is_ok() {
            // An error means that the server has stopped for good, which is as down as it gets.
            let _ = wait.await;
        }
    }
}

/// Serves until the handle for outages and all its clones are gone.
pub(crate) async fn serve(mut listener: TcpListener, api: Arc<Api>, mut commands: OutageCommands) -> io::Result<()> {
    let address = listener.local_addr()?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&api)));
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(REBIND).await;
                }
            },
            Some(_) = connections.join_next() => {}
            command = commands.0.recv() => match command {
                None => return Ok(()),
                Some(Command::Up(done)) => {
                    // It is up. Nobody may be left waiting for the answer.
                    let _ = done.send(());
                }
                Some(Command::Down(done)) => {
                    drop(listener);
                    let reserved = reserve(address);
                    connections.shutdown().await;
                    tracing::info!(%address, "refusing connections");
                    let _ = done.send(());
                    match wait_for_up(&mut commands).await {
                        None => return Ok(()),
                        Some(done) => {
                            listener = rebind(address).await;
                            drop(reserved);
                            tracing::info!(%address, "accepting connections again");
                            let _ = done.send(());
                        }
                    }
                }
            },
        }
    }
}

async fn wait_for_up(commands: &mut OutageCommands) -> Option<oneshot::Sender<()>> {
    loop {
        match commands.0.recv().await? {
            Command::Up(done) => return Some(done),
            Command::Down(done) => {
                let _ = done.send(());
            }
        }
    }
}

/// Holds an address on which nobody listens: the kernel gives its port to nobody else then, be it for listening or, as
/// happens to clients that try this very address again and again, for connecting.
fn reserve(address: SocketAddr) -> Option<TcpSocket> {
    let bind = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Who asks for this very address and sets this too may still have it.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    };
    bind().inspect_err(|error: &io::Error| tracing::warn!(%address, %error, "the address is not reserved")).ok()
}

/// Listens again.
///
/// # Panics
/// Somebody else does so for long.
async fn rebind(address: SocketAddr) -> TcpListener {
    let started = Instant::now();
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) => {
                tracing::warn!(%address, %error, "listening again failed");
                assert!(started.elapsed() < REBIND_AT_MOST, "cannot listen on {address} again: {error}");
                tokio::time::sleep(REBIND).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, api: Arc<Api>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "setting TCP_NODELAY failed");
    }
    let service = service_fn(move |request| {
        let api = Arc::clone(&api);
        async move { Ok::<_, Infallible>(api.serve(request).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        // Clients may keep idle connections for as long as they like.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = serving.await {
        tracing::debug!(%error, "connection ended early");
    }
}

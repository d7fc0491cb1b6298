//! A TCP proxy on 127.0.0.1 whose connections can be cut.
//!
//! Invariant: it hands bytes on and looks at none, so TLS goes through; dropping it ends all connections.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};

/// A running proxy.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    /// Both ends of every connection, those that have ended included.
    connections: Mutex<Vec<TcpStream>>,
}

impl Shared {
    fn cut(&self) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in connections.drain(..) {
            // One that has ended already is as cut as can be.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn keep(&self, connection: &TcpStream) -> io::Result<()> {
        let connection = connection.try_clone()?;
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(())
    }
}

impl Proxy {
    /// Starts one to a port of 127.0.0.1.
    pub fn start(to: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen for the proxy")?;
        let port = listener.local_addr().context("the proxy has no address")?.port();
        let shared = Arc::<Shared>::default();
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for inbound in listener.incoming().map_while(Result::ok) {
                if accepting.stopped.load(Ordering::Acquire) {
                    return;
                }
                // Who is not connected sees that at once.
                let _ = connect(&accepting, inbound, to);
            }
        });
        Ok(Self { port, shared })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.shared.cut();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        self.shared.cut();
    }
}

fn connect(shared: &Shared, inbound: TcpStream, to: u16) -> io::Result<()> {
    let outbound = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    for stream in [&inbound, &outbound] {
        stream.set_nodelay(true)?;
        shared.keep(stream)?;
    }
    for (mut from, mut into) in [(inbound.try_clone()?, outbound.try_clone()?), (outbound, inbound)] {
        thread::spawn(move || {
            // However it ends, the other side is to know.
            let _ = io::copy(&mut from, &mut into);
            let _ = into.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn bytes_go_through_until_it_is_cut() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap().port()).unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"ping").unwrap();
        let mut four = [0; 4];
        server.read_exact(&mut four).unwrap();
        assert_eq!(&four, b"ping");
        server.write_all(b"pong").unwrap();
        client.read_exact(&mut four).unwrap();
        assert_eq!(&four, b"pong");
        proxy.cut();
        assert!(matches!(client.read(&mut four), Ok(0) | Err(_)));
        assert!(matches!(server.read(&mut four), Ok(0) | Err(_)));
    }
}

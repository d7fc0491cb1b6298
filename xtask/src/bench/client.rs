//! A raw HTTP/1.1 client that reads bodies and throws them away: it must cost little beside the server it times.
//!
//! Invariant: an answer is complete to the byte, by its `Content-Length` or its last chunk, or it is an error; unless
//! whoever gets the body asks to stop.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::exposition::Format;
use crate::interrupt;

/// The largest piece of a body that is read at once.
const BUFFER: usize = 256 * 1024;

/// Between two looks at whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(250);

/// The longest time for one answer; the reference itself gives up writing after a minute.
const LIMIT: Duration = Duration::from_secs(120);

/// What is done with pieces of a body.
pub type Sink<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + 'a;

/// A connection that is kept alive between requests, as Prometheus does.
pub struct Connection {
    stream: TcpStream,
    buffer: Box<[u8]>,
    /// What of the buffer was received and not used yet.
    start: usize,
    end: usize,
    asked: Instant,
}

/// What is known of an answer with status 200.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// From the request to the first byte of the answer.
    pub first_byte: Duration,
    /// From the request to the last byte of the body, or to where the sink stopped.
    pub whole: Duration,
    /// Bytes of the body, as sent.
    pub bytes: u64,
    /// Whether the body is a gzip member.
    pub gzip: bool,
    /// Whether its length was known beforehand.
    pub has_length: bool,
}

/// How the end of a body is found.
#[derive(Debug, PartialEq)]
enum Framing {
    Length(u64),
    Chunked,
}

#[derive(Debug, PartialEq)]
struct Head {
    status: u16,
    framing: Framing,
    gzip: bool,
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(LOOK)))
            .context("cannot set up a socket")?;
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Ok(Self { stream, buffer, start: 0, end: 0, asked: Instant::now() })
    }

    /// `GET` of `path`; pieces of the body go to `sink` as they come. After a stop the connection is of no more use.
    pub fn get(&mut self, path: &str, gzip: bool, sink: &mut Sink<'_>) -> Result<Answer> {
        let encoding = if gzip { "Accept-Encoding: gzip\r\n" } else { "" };
        let accept = Format::Text.accept();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n{encoding}\r\n");
        self.asked = Instant::now();
        self.stream.write_all(request.as_bytes()).context("cannot send a request")?;
        self.fill()?;
        let first_byte = self.asked.elapsed();
        let head = self.head()?;
        let mut bytes = 0;
        let mut counted = |piece: &[u8]| {
            bytes += piece.len() as u64;
            sink(piece)
        };
        let has_length = match head.framing {
            Framing::Length(length) => {
                let _ = self.pass(length, &mut counted)?;
                true
            }
            Framing::Chunked => {
                self.chunks(&mut counted)?;
                false
            }
        };
        let whole = self.asked.elapsed();
        ensure!(head.status == 200, "GET {path} was answered with status {}", head.status);
        Ok(Answer { first_byte, whole, bytes, gzip: head.gzip, has_length })
    }

    fn head(&mut self) -> Result<Head> {
        let mut text = String::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return parse_head(&text);
            }
            text += &line;
            text.push('\n');
        }
    }

    fn chunks(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length =
                u64::from_str_radix(digits, 16).with_context(|| format!("`{line}` is no length of a chunk"))?;
            if length == 0 {
                while !self.line()?.is_empty() {}
                return Ok(());
            }
            if self.pass(length, sink)?.is_break() {
                return Ok(());
            }
            ensure!(self.line()?.is_empty(), "a chunk is longer than it said");
        }
    }

    /// Hands on so many bytes.
    fn pass(&mut self, length: u64, sink: &mut Sink<'_>) -> Result<ControlFlow<()>> {
        let mut left = length;
        while left > 0 {
            if self.start == self.end {
                self.fill()?;
            }
            let take = (self.end - self.start).min(usize::try_from(left).unwrap_or(usize::MAX));
            let piece = self.start..self.start + take;
            self.start = piece.end;
            left -= take as u64;
            if sink(&self.buffer[piece]).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<String> {
        let mut line = Vec::new();
        loop {
            if self.start == self.end {
                self.fill()?;
            }
            let rest = &self.buffer[self.start..self.end];
            let found = rest.iter().position(|byte| *byte == b'\n');
            let taken = found.map_or(rest.len(), |at| at + 1);
            line.extend_from_slice(&rest[..taken]);
            self.start += taken;
            if found.is_some() {
                let text = String::from_utf8(line).context("a line of a head is not UTF-8")?;
                return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
            }
            ensure!(line.len() < BUFFER, "a line of a head has no end");
        }
    }

    /// Receives more; to be called when everything received is used.
    fn fill(&mut self) -> Result<()> {
        loop {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => bail!("the connection was closed before the answer was complete"),
                Ok(length) => {
                    (self.start, self.end) = (0, length);
                    return Ok(());
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    interrupt::check()?;
                    ensure!(self.asked.elapsed() < LIMIT, "no complete answer within {} s", LIMIT.as_secs());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => interrupt::check()?,
                Err(error) => return Err(error).context("the connection broke"),
            }
        }
    }
}

/// Reads status line and headers, one a line.
fn parse_head(text: &str) -> Result<Head> {
    let status = text.lines().next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    let status = status.with_context(|| format!("`{}` is no status line", text.lines().next().unwrap_or_default()))?;
    let headers = || text.lines().skip(1).filter_map(|line| line.split_once(':'));
    let header = |wanted: &str| headers().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, v)| v.trim());
    let framing = match (header("transfer-encoding"), header("content-length")) {
        (Some(encoding), _) if encoding.eq_ignore_ascii_case("chunked") => Framing::Chunked,
        (_, Some(length)) => Framing::Length(length.parse().with_context(|| format!("`{length}` is no length"))?),
        _ => bail!("an answer has neither Content-Length nor chunks"),
    };
    Ok(Head { status, framing, gzip: header("content-encoding") == Some("gzip") })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that sends `pieces` as the answers to the first requests of one connection, each piece on its own.
    fn serve(pieces: &'static [&'static str]) -> (Connection, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            for piece in pieces {
                // The client may be gone already.
                let _ = stream.write_all(piece.as_bytes());
                std::thread::sleep(Duration::from_millis(5));
            }
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        (Connection::open(address).unwrap(), server)
    }

    fn body(connection: &mut Connection) -> Result<(Answer, String)> {
        let mut text = Vec::new();
        let answer = connection.get("/metrics", true, &mut |piece| {
            text.extend_from_slice(piece);
            ControlFlow::Continue(())
        })?;
        Ok((answer, String::from_utf8(text)?))
    }

    #[test]
    fn a_body_of_known_length_is_read_to_its_end_and_no_further() {
        let (mut connection, server) = serve(&[
            "HTTP/1.1 200 OK\r\nContent-Le",
            "ngth: 5\r\ncontent-encoding: gzip\r\n\r\nab",
            "cde",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ]);
        let (answer, text) = body(&mut connection).unwrap();
        assert_eq!((text.as_str(), answer.bytes, answer.gzip, answer.has_length), ("abcde", 5, true, true));
        assert!(answer.first_byte <= answer.whole);
        let request = server.join().unwrap();
        assert!(request.starts_with("GET /metrics HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("Accept-Encoding: gzip\r\n"), "{request}");
        let (answer, _) = body(&mut connection).unwrap();
        assert_eq!((answer.bytes, answer.gzip), (0, false));
    }

    #[test]
    fn chunks_are_put_together_wherever_they_are_cut() {
        let (mut connection, _server) = serve(&[
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5",
            "\r\nabc",
            "de\r",
            "\n1;x=y\r\nf\r\n0\r\n",
            "\r\n",
        ]);
        let (answer, text) = body(&mut connection).unwrap();
        assert_eq!((text.as_str(), answer.bytes, answer.has_length), ("abcdef", 6, false));
    }

    #[test]
    fn a_sink_may_stop_early() {
        let (mut connection, _server) = serve(&["HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"]);
        let answer = connection.get("/metrics", false, &mut |_| ControlFlow::Break(())).unwrap();
        assert_eq!(answer.bytes, 3);
    }

    #[test]
    fn what_is_not_a_complete_answer_is_an_error() {
        for (pieces, wanted) in [
            (&["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"][..], "closed before the answer was complete"),
            (&["HTTP/1.1 503 Not Yet\r\nContent-Length: 3\r\n\r\nabc"], "answered with status 503"),
            (&["HTTP/1.1 200 OK\r\n\r\n"], "neither Content-Length nor chunks"),
            (&["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n"], "longer than it said"),
            (&["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"], "no length of a chunk"),
            (&["SSH-2.0\r\n\r\n"], "no status line"),
        ] {
            let (mut connection, _server) = serve(pieces);
            let error = format!("{:#}", body(&mut connection).unwrap_err());
            assert!(error.contains(wanted), "{error}");
        }
    }
}

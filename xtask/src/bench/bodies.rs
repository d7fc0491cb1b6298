//! What is in a body, counted while it streams past.
//!
//! Invariant: nothing here is timed; whoever times a scrape throws its body away unread.

use std::io::Write;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use flate2::write::GzDecoder;

use super::client::{Answer, Connection};

/// Where metrics are.
pub const PATH: &str = "/metrics";

/// The second family about pods, so that little of a body needs to be read to see all its samples: one a container.
const EARLY: &str = "kube_pod_container_info";

/// Counts over one body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Sample lines.
    pub samples: u64,
    /// Samples of the one family that has one for each pod.
    pub pods: u64,
    /// Samples of an early family that has one for each container.
    pub containers: u64,
    /// Bytes of the plain text.
    pub bytes: u64,
}

impl Counts {
    fn line(&mut self, line: &[u8]) {
        self.bytes += line.len() as u64 + 1;
        if !line.starts_with(b"#") {
            self.samples += 1;
            self.pods += u64::from(line.starts_with(b"kube_pod_info{"));
            self.containers += u64::from(is_early_sample(line));
        }
    }
}

fn is_early_sample(line: &[u8]) -> bool {
    line.strip_prefix(EARLY.as_bytes()).is_some_and(|rest| rest.starts_with(b"{"))
}

/// Reads a whole body, unpacked if it is packed, and counts what is in it.
pub fn count(address: SocketAddr, gzip: bool) -> Result<(Answer, Counts)> {
    let mut connection = Connection::open(address)?;
    let (mut counts, mut lines) = (Counts::default(), Lines::default());
    let mut plain = |text: &[u8]| {
        let _ = lines.push(text, |line| {
            counts.line(line);
            ControlFlow::Continue(())
        });
    };
    let answer = if gzip {
        let mut decoder = GzDecoder::new(Plain(&mut plain));
        let mut fault = None;
        let answer = connection.get(PATH, true, &mut |piece| match decoder.write_all(piece) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                fault = Some(error);
                ControlFlow::Break(())
            }
        })?;
        ensure!(answer.gzip, "the body is not packed though that was asked for");
        fault.map_or(Ok(()), Err).context("the body is no gzip")?;
        // Checks length and checksum.
        decoder.finish().context("the body is no complete gzip member")?;
        answer
    } else {
        connection.get(PATH, false, &mut |piece| {
            plain(piece);
            ControlFlow::Continue(())
        })?
    };
    Ok((answer, counts))
}

/// Hands on what is written to it.
struct Plain<'a, F>(&'a mut F);

impl<F: FnMut(&[u8])> Write for Plain<'_, F> {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        (self.0)(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads a body up to the end of the early family and hangs up: how many containers it has.
pub fn containers(address: SocketAddr) -> Result<u64> {
    let mut containers = 0;
    early_samples(address, |_| {
        containers += 1;
        ControlFlow::Continue(())
    })?;
    Ok(containers)
}

/// Reads a body until a sample of the early family holds `text`, and hangs up: whether one did.
pub fn shows(address: SocketAddr, text: &str) -> Result<bool> {
    let mut found = false;
    early_samples(address, |line| {
        found = line.windows(text.len()).any(|window| window == text.as_bytes());
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

fn early_samples(address: SocketAddr, mut sample: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
    let (mut lines, mut within) = (Lines::default(), false);
    Connection::open(address)?.get(PATH, false, &mut |piece| {
        lines.push(piece, |line| {
            if is_early_sample(line) {
                within = true;
                return sample(line);
            }
            if within { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    })?;
    Ok(())
}

/// Cuts pieces into lines.
#[derive(Default)]
struct Lines {
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
}

impl Lines {
    /// Calls `line` for each line that is complete now, without its end.
    fn push(&mut self, mut piece: &[u8], mut line: impl FnMut(&[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            if self.begun.is_empty() {
                line(&piece[..end])?;
            } else {
                self.begun.extend_from_slice(&piece[..end]);
                let whole = std::mem::take(&mut self.begun);
                line(&whole)?;
            }
            piece = &piece[end + 1..];
        }
        self.begun.extend_from_slice(piece);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const BODY: &str = "# HELP kube_pod_completion_time x
# TYPE kube_pod_completion_time gauge
kube_pod_completion_time{pod=\"a\"} 1
# HELP kube_pod_container_info x
# TYPE kube_pod_container_info gauge
kube_pod_container_info{pod=\"a\",image_id=\"one\"} 1
kube_pod_container_info{pod=\"b\",image_id=\"two\"} 1
# HELP kube_pod_info x
# TYPE kube_pod_info gauge
kube_pod_info{pod=\"a\"} 1
kube_pod_info{pod=\"b\"} 1
";

    fn pack(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    /// Answers one request with `body`.
    fn serve(body: Vec<u8>, header: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\n{header}Content-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).unwrap();
            // The client may hang up before the end.
            let _ = stream.write_all(&body);
        });
        address
    }

    const GZIP: &str = "Content-Encoding: gzip\r\n";

    #[test]
    fn a_packed_body_counts_like_the_plain_one() {
        let expected = Counts { samples: 5, pods: 2, containers: 2, bytes: BODY.len() as u64 };
        let (answer, counts) = count(serve(BODY.into(), ""), false).unwrap();
        assert_eq!((counts, answer.bytes), (expected, BODY.len() as u64));
        let (answer, counts) = count(serve(pack(BODY), GZIP), true).unwrap();
        assert_eq!((counts, answer.bytes < BODY.len() as u64), (expected, true));
    }

    #[test]
    fn a_broken_gzip_body_is_an_error() {
        let mut cut = pack(BODY);
        cut.truncate(cut.len() - 4);
        let mut wrong = pack(BODY);
        let at = wrong.len() - 6;
        wrong[at] ^= 1;
        for body in [cut, wrong, BODY.into()] {
            assert!(count(serve(body, GZIP), true).is_err());
        }
        assert!(count(serve(BODY.into(), ""), true).is_err(), "plain though gzip was asked for");
    }

    #[test]
    fn only_the_beginning_is_read_for_the_early_family() {
        assert_eq!(containers(serve(BODY.into(), "")).unwrap(), 2);
        assert_eq!(containers(serve(Vec::new(), "")).unwrap(), 0);
        assert!(shows(serve(BODY.into(), ""), "\"two\"").unwrap());
        assert!(!shows(serve(BODY.into(), ""), "\"three\"").unwrap());
    }

    #[test]
    fn lines_are_whole_wherever_they_are_cut() {
        for size in 1..20 {
            let (mut lines, mut seen) = (Lines::default(), Vec::new());
            for piece in b"ab\n\ncde\nrest".chunks(size) {
                let _ = lines.push(piece, |line| {
                    seen.push(String::from_utf8_lossy(line).into_owned());
                    ControlFlow::Continue(())
                });
            }
            assert_eq!(seen, ["ab", "", "cde"], "pieces of {size}");
        }
    }
}

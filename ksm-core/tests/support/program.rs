//! Runs a binary of the workspace, with nothing in its environment and a deadline on all it does.

#![allow(dead_code, reason = "each binary's tests use a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long anything may take before a test fails; a loaded machine is slow.
const DEADLINE: Duration = Duration::from_secs(60);

/// How a program that ended by itself ended.
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program to its end.
pub fn run(program: &str, arguments: &[&str]) -> Outcome {
    Running::start(program, arguments).ended()
}

/// Checks that the arguments are refused with exit code 2 and just this line.
#[track_caller]
pub fn refused(program: &str, arguments: &[&str], message: &str) {
    failed(program, arguments, 2, message);
}

/// Checks that a program ends with that exit code, nothing on stdout, and on stderr one line that holds the message.
#[track_caller]
pub fn failed(program: &str, arguments: &[&str], code: i32, message: &str) {
    let outcome = run(program, arguments);
    assert_eq!(outcome.code, Some(code), "{arguments:?}: {}", outcome.stderr);
    assert_eq!(outcome.stdout, "", "{arguments:?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{arguments:?}: {}", outcome.stderr);
    assert!(outcome.stderr.starts_with("error: "), "{arguments:?}: {}", outcome.stderr);
    assert!(outcome.stderr.contains(message), "{arguments:?}: no {message:?} in {}", outcome.stderr);
}

/// A program that runs; killed when dropped.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    said: Arc<Mutex<String>>,
    /// Told when stderr is at its end.
    silent: Receiver<()>,
}

impl Running {
    /// Starts a program.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).env_clear();
        Self::spawn(command)
    }

    /// Starts a command.
    pub fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let (send_line, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send_line.send(line).is_err() {
                    break;
                }
            }
        });
        let (said, (end, silent)) = (Arc::new(Mutex::new(String::new())), channel());
        let noted = Arc::clone(&said);
        thread::spawn(move || {
            let (mut stderr, mut line) = (BufReader::new(stderr), Vec::new());
            while stderr.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                noted.lock().unwrap_or_else(PoisonError::into_inner).push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
            let _ = end.send(());
        });
        Self { child, lines, said, silent }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line on stdout.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("a line on stdout")
    }

    /// What it has said on stderr so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks it to stop as an orchestrator does.
    pub fn terminate(&self) {
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "SIGTERM is sent");
    }

    /// Waits for its end.
    pub fn ended(mut self) -> Outcome {
        self.silent.recv_timeout(DEADLINE).expect("the program ends");
        let status: ExitStatus = self.child.wait().expect("the program has ended");
        let stdout = self.lines.iter().map(|line| line + "\n").collect();
        Outcome { code: status.code(), stdout, stderr: self.said() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Arguments to serve on free ports of the loopback, with an API server that is not there.
pub const ALONE: [&str; 9] = [
    "--apiserver=http://127.0.0.1:1",
    "--host=127.0.0.1",
    "--port=0",
    "--telemetry-host=127.0.0.1",
    "--telemetry-port",
    "0",
    "-v=4",
    "--use-apiserver-cache=true",
    "--namespaces=a,b",
];

/// The two addresses of a line `listening metrics=http://HOST:PORT telemetry=http://HOST:PORT`.
pub fn addresses(line: &str) -> [String; 2] {
    let rest = line.strip_prefix("listening metrics=").expect("the line says where metrics are");
    let (metrics, telemetry) = rest.split_once(" telemetry=").expect("the line says where telemetry is");
    [metrics, telemetry].map(|url| url.split_once("://").expect("a URL").1.to_owned())
}

/// Status and body of a GET.
pub fn get(address: &str, path: &str) -> (u16, String) {
    ask(address, path, "")
}

/// The same with more headers, each with its line break.
pub fn ask(address: &str, path: &str, headers: &str) -> (u16, String) {
    ask_over(connect(address), path, headers)
}

/// A connection on which nothing takes for ever.
pub fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the port is open");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time limit can be set");
    stream
}

/// Status and body of a GET over a connection, encrypted or not.
pub fn ask_over(mut stream: impl Read + Write, path: &str, headers: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("the reply arrives");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, body.to_owned())
}

/// Waits until a condition holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + DEADLINE;
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A folder for the files of one test, removed at its end.
pub struct Folder(std::path::PathBuf);

impl Folder {
    /// A new folder, whoever else has one of that name.
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("ksm-{process}-{number}-{name}"));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file in one step, as mounted volumes change, and returns its path.
    pub fn write(&self, name: &str, content: &str) -> String {
        let aside = self.0.join(format!(".{name}"));
        std::fs::write(&aside, content).expect("a file can be written");
        std::fs::rename(&aside, self.0.join(name)).expect("a file can be renamed");
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Checks that a program serves although there is no API server, says so, and stops when asked to.
#[track_caller]
pub fn serves_without_an_api_server(program: &str, more: &[&str]) {
    let arguments: Vec<&str> = ALONE.iter().chain(more).copied().collect();
    let running = Running::start(program, &arguments);
    let [metrics, telemetry] = addresses(&running.line());
    assert_eq!(get(&metrics, "/metrics"), (200, String::new()));
    for address in [&metrics, &telemetry] {
        assert_eq!(get(address, "/livez"), (200, "ok\n".to_owned()));
        let (status, body) = get(address, "/readyz");
        assert_eq!(status, 503);
        assert!(body.starts_with("waiting for the first list of "), "{body}");
    }
    assert!(get(&telemetry, "/metrics").1.contains("\nkube_state_metrics_total_shards "));
    running.terminate();
    let outcome = running.ended();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "", "nothing but the first line on stdout");
    assert!(outcome.stderr.contains("127.0.0.1:1"), "the log says where the API server was sought: {}", outcome.stderr);
}

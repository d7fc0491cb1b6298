//! The program as a user runs it.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

/// Ends the program whatever happens to the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ksm-testbed"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn file(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn serve(arguments: &[&str]) -> (Running, String) {
    let mut child = command(&[&["serve"], arguments].concat()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url =
        line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("unexpected line {line:?}")).to_owned();
    (Running(child), url)
}

fn get(url: &str, path: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_serves_samples_and_files_and_stops_on_a_signal() {
    let objects = file(
        "objects.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  \
         kind: Pod\n  metadata: {name: extra, namespace: extra}\n",
    );
    let kubeconfig = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kubeconfig");
    let arguments = ["--pods", "10", "--churn", "50", "--sharded-list-watch", "--token", "secret"];
    let files = ["-f", objects.to_str().unwrap(), "--write-kubeconfig", kubeconfig.to_str().unwrap()];
    let (mut child, url) = serve(&[&arguments[..], &files[..]].concat());
    assert!(get(&url, "/api/v1/namespaces/extra/pods/extra", "secret").starts_with("HTTP/1.1 200"));
    assert!(get(&url, "/api/v1/nodes", "secret").contains("node-00002"));
    assert!(get(&url, "/api/v1/nodes", "wrong").starts_with("HTTP/1.1 401"));
    let config = std::fs::read_to_string(kubeconfig).unwrap();
    assert!(config.contains(&url) && config.contains("secret"), "{config}");
    assert!(Command::new("kill").arg(child.0.id().to_string()).status().unwrap().success());
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
}

#[test]
fn mistakes_are_one_line_and_a_code() {
    let typo = file("typo.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodename: n}\n");
    let broken = file("broken.yaml", "a: [");
    let occupied = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupied.local_addr().unwrap().to_string();
    for (arguments, expected) in [
        (&["-f", "/no/such/file"][..], "cannot read /no/such/file"),
        (&["-f", broken.to_str().unwrap()], "cannot parse"),
        (&["-f", typo.to_str().unwrap()], "Pod `p`: spec.nodename: unknown field"),
        (&["--listen", &address], "cannot listen on"),
        (&["--pods", "1", "--churn", "NaN"], "--churn"),
        (&["--write-kubeconfig", "/no/such/folder/file"], "cannot write /no/such/folder/file"),
    ] {
        let output = run(&[&["serve"], arguments].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.starts_with("error: ") && message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(output.stdout.is_empty());
    }
    for arguments in
        [&["serve", "--pods", "many"][..], &["serve", "--nodes", "3"], &["serve", "--listen", "x"], &[], &["sing"]]
    {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

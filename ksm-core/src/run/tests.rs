//! How a run says why it ended.

use std::io;

use super::*;

#[test]
fn causes_follow_on_one_line_without_repetition() {
    let failure = Failure::Listen {
        what: "metrics",
        host: "::".to_owned(),
        port: 80,
        source: io::Error::new(io::ErrorKind::AddrInUse, "in use\nsecret"),
    };
    assert_eq!(
        chain(&failure),
        "cannot listen on :: port 80 for metrics (see --host, --port, --telemetry-host, --telemetry-port): in use"
    );
    let transparent =
        Failure::from(ConnectError::Url { url: "::".to_owned(), source: "http://".parse::<http::Uri>().unwrap_err() });
    assert_eq!(chain(&transparent), "cannot use API server ::: empty string");
}

#[tokio::test]
async fn a_task_that_ends_or_panics_is_named() {
    let mut tasks = Tasks::default();
    tasks.spawn("good".to_owned(), std::future::pending());
    tasks.spawn("bad".to_owned(), async { panic!("on purpose") });
    assert_eq!(tasks.ended().await, "bad");
    tasks.spawn("done".to_owned(), async {});
    assert_eq!(tasks.ended().await, "done");
}

#[test]
fn versions_are_written_out() {
    let build = Build { name: "ksm-x", version: "1.2.3", revision: "abc", date: "2026-01-02T03:04:05Z" };
    assert_eq!(build.to_string(), "ksm-x 1.2.3 (revision abc, date 2026-01-02T03:04:05Z)");
    assert_eq!(crate::build!().name, "ksm-core");
}

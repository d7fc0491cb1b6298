//! The command line of `ksm-unscheduled`: what it takes, refuses and says.

#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use program::{ALONE, Folder, Running, failed, refused, run, serves_without_an_api_server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-unscheduled");

#[test]
fn help_and_version_are_printed() {
    let help = run(PROGRAM, &["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Usage: ksm-unscheduled "), "{}", help.stdout);
    for arguments in [["version"], ["--version"]] {
        let version = run(PROGRAM, &arguments);
        assert_eq!((version.code, version.stderr.as_str()), (Some(0), ""));
        assert!(
            version.stdout.starts_with(concat!("ksm-unscheduled ", env!("CARGO_PKG_VERSION"))),
            "{}",
            version.stdout
        );
    }
}

#[test]
fn mistakes_are_refused_in_one_line() {
    refused(PROGRAM, &["--no-such-flag"], "unexpected argument '--no-such-flag' found (see ksm-unscheduled --help)");
    refused(PROGRAM, &["--node=n1"], "unexpected argument '--node' found");
    refused(PROGRAM, &["--resources=daemonsets"], "\"daemonsets\": only pods can be selected by node");
}

#[test]
fn it_serves_without_an_api_server() {
    failed(PROGRAM, &[], 1, "which API server? give --kubeconfig or --apiserver");
    serves_without_an_api_server(PROGRAM, &[]);
}

#[test]
fn what_shards_are_told_is_refused() {
    for option in [
        "--shard=0",
        "--total-shards=1",
        "--shard-by=md5",
        "--pod=a",
        "--pod-namespace=a",
        "--reshard-grace=1s",
        "--reshard-overlap=on",
        "--track-unscheduled-pods",
        "--node=a",
    ] {
        let name = option.split('=').next().unwrap_or_default();
        refused(PROGRAM, &[option], &format!("unexpected argument '{name}' found"));
    }
    let folder = Folder::new("unscheduled-file");
    let file = folder.write("ksm.yaml", "total_shards: 2\nnamespaces: [b]\n");
    let running = Running::start(PROGRAM, &[&ALONE[..], &["--config", &file]].concat());
    running.line();
    running.terminate();
    let log = running.ended().stderr;
    assert!(log.contains("configuration file: ksm-unscheduled has no --total-shards"), "{log}");
}

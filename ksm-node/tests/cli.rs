//! The command line of `ksm-node`: what it takes, refuses and says.

#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use program::{failed, refused, run, serves_without_an_api_server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ksm-node");

#[test]
fn help_and_version_are_printed() {
    let help = run(PROGRAM, &["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Usage: ksm-node "), "{}", help.stdout);
    for arguments in [["version"], ["--version"]] {
        let version = run(PROGRAM, &arguments);
        assert_eq!((version.code, version.stderr.as_str()), (Some(0), ""));
        assert!(version.stdout.starts_with(concat!("ksm-node ", env!("CARGO_PKG_VERSION"))), "{}", version.stdout);
    }
}

#[test]
fn mistakes_are_refused_in_one_line() {
    refused(PROGRAM, &["--no-such-flag"], "unexpected argument '--no-such-flag' found (see ksm-node --help)");
    refused(PROGRAM, &["--shard=1"], "unexpected argument '--shard' found");
    refused(PROGRAM, &[], "which node? give --node or set NODE_NAME");
    refused(PROGRAM, &["--node="], "which node? give --node or set NODE_NAME");
    refused(PROGRAM, &["--node=a,b"], "--node: \"a,b\" is no node name");
    refused(PROGRAM, &["--node=n1", "--resources=daemonsets"], "\"daemonsets\": only pods can be selected by node");
}

#[test]
fn label_lists_name_what_there_is() {
    let message = "--metric-labels-allowlist: unknown resource \"pod\", expected * or one of pods (see";
    refused(PROGRAM, &["--node=n1", "--metric-labels-allowlist=pod=[app]"], message);
}

#[test]
fn a_target_is_explained_without_a_node() {
    let mut command = std::process::Command::new(PROGRAM);
    command.env_clear().env("NODE_NAME", "n1").args(program::ALONE);
    let running = program::Running::spawn(command);
    let [metrics, _] = program::addresses(&running.line());
    let explained = run(PROGRAM, &["explain", "--url", &format!("http://{metrics}/metrics")]);
    assert_eq!(explained.code, Some(0), "{}", explained.stderr);
    refused(PROGRAM, &["explain", "-f", "/dev/null"], "which node? give --node or set NODE_NAME");
    refused(PROGRAM, &["render", "-f", "/dev/null"], "which node? give --node or set NODE_NAME");
}

#[test]
fn the_node_may_come_from_the_environment() {
    let mut command = std::process::Command::new(PROGRAM);
    command.env_clear().env("NODE_NAME", "n1").args(program::ALONE);
    let running = program::Running::spawn(command);
    let [metrics, telemetry] = program::addresses(&running.line());
    assert!(program::get(&metrics, "/").1.contains("Pods of node n1"));
    // Small as it is to be, it takes no profiles.
    assert_eq!(program::get(&telemetry, "/debug/pprof/profile").0, 404);
    running.terminate();
    assert_eq!(running.ended().code, Some(0));
}

#[test]
fn it_serves_without_an_api_server() {
    failed(PROGRAM, &["--node=n1"], 1, "which API server? give --kubeconfig or --apiserver");
    serves_without_an_api_server(PROGRAM, &["--node=n1"]);
}

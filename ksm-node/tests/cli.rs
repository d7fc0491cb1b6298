//! The command line of `ksm-node`: what it takes, refuses and says.

#[path = "../../ksm-core/tests/support/program.rs"]
mod program;

use program::{ALONE, Folder, Running, failed, refused, run, serves_without_an_api_server};

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
    command.env_clear().env("NODE_NAME", "n1").args(ALONE);
    let running = Running::spawn(command);
    let [metrics, _] = program::addresses(&running.line());
    let explained = run(PROGRAM, &["explain", "--url", &format!("http://{metrics}/metrics")]);
    assert_eq!(explained.code, Some(0), "{}", explained.stderr);
    refused(PROGRAM, &["explain", "-f", "/dev/null"], "which node? give --node or set NODE_NAME");
    refused(PROGRAM, &["render", "-f", "/dev/null"], "which node? give --node or set NODE_NAME");
}

#[test]
fn the_node_comes_from_wherever_options_come_from() {
    let folder = Folder::new("node-file");
    let file = folder.write("ksm.yaml", "node: from-file\n");
    let served = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = std::process::Command::new(PROGRAM);
        command.env_clear().envs(variables.iter().copied()).args(ALONE).args(arguments);
        let running = Running::spawn(command);
        let [metrics, _] = program::addresses(&running.line());
        let page = program::get(&metrics, "/").1;
        let node = page.split("Pods of node ").nth(1).expect("the page says which").split([':', '<']).next();
        node.unwrap_or_default().to_owned()
    };
    // Each overrides the ones before it.
    let (own, usual) = (("KSM_NODE", "from-own"), ("NODE_NAME", "from-usual"));
    assert_eq!(served(&[usual], &[]), "from-usual");
    assert_eq!(served(&[own], &[]), "from-own");
    assert_eq!(served(&[own, usual], &["--node=from-flag"]), "from-flag");
    assert_eq!(served(&[own, usual], &["--node=from-flag", "--config", &file]), "from-file");
}

#[test]
fn the_node_may_come_from_the_environment() {
    let mut command = std::process::Command::new(PROGRAM);
    command.env_clear().env("NODE_NAME", "n1").args(ALONE);
    let running = Running::spawn(command);
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
    ] {
        let name = option.split('=').next().unwrap_or_default();
        refused(PROGRAM, &[option], &format!("unexpected argument '{name}' found"));
    }
    let folder = Folder::new("node-file");
    let file = folder.write("ksm.yaml", "total_shards: 2\nnamespaces: [b]\n");
    let running = Running::start(PROGRAM, &[&ALONE[..], &["--config", &file, "--node=n1"]].concat());
    running.line();
    running.terminate();
    let log = running.ended().stderr;
    assert!(log.contains("configuration file: ksm-node has no --total-shards"), "{log}");
}

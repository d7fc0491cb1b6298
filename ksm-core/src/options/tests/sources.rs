//! Options that take part in more than one list, subcommands, and the configuration file over flags.

use std::path::PathBuf;
use std::time::Duration;

use super::*;

/// A file with that content, in the folder for temporary files.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ksm-options-{}-{name}.yaml", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn flag(&self) -> String {
        format!("--config={}", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[track_caller]
fn configured(content: &str, arguments: &[&str]) -> Settings {
    let name = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let file = File::new(&name, content);
    let flag = file.flag();
    settings(&[&[flag.as_str()], arguments].concat())
}

#[test]
fn namespaces_are_those_asked_for_without_the_denied() {
    // R26
    let denied = settings(&["--namespaces-denylist=x, y", "--namespaces-denylist=x"]);
    assert_eq!((denied.namespaces.len(), denied.excluded_namespaces), (0, vec!["x".to_owned(), "y".to_owned()]));
    let both = settings(&["--namespaces=a,b,c", "--namespaces-denylist=b,x"]);
    assert_eq!(both.namespaces, ["a", "c"]);
    assert_eq!(
        refused(Part::Everything, &["--namespaces=a", "--namespaces-denylist=a"]),
        "--namespaces-denylist: it leaves none of --namespaces"
    );
    assert_eq!(
        refused(Part::Everything, &["--namespaces-denylist=a,spec.x=y"]),
        "--namespaces-denylist: \"spec.x=y\" is no namespace (lower-case letters, digits and -)"
    );
}

#[test]
fn unscheduled_pods_override_a_node() {
    let part = |arguments: &[&str]| {
        let job = job(arguments, |args| args.shard.settings(&args.shared));
        let Ok(Job::Serve(configuration)) = job else { panic!("{arguments:?}: refused") };
        configuration.settings.part
    };
    assert_eq!(part(&["--node=n1"]), Part::Node("n1".to_owned()));
    assert_eq!(part(&["--track-unscheduled-pods"]), Part::Unscheduled);
    assert_eq!(part(&["--track-unscheduled-pods", "--node=n1"]), Part::Unscheduled);
    assert_eq!(part(&["--track-unscheduled-pods=false"]), Part::Everything);
}

#[test]
fn timeouts_are_combined_as_go_servers_do() {
    let seconds = |arguments: &[&str]| {
        let Timeouts { header, response, idle } = settings(arguments).timeouts;
        [header, response, idle].map(|limit| limit.map(|limit| limit.as_secs()))
    };
    assert_eq!(settings(&[]).timeouts, Timeouts::DEFAULT);
    assert_eq!(seconds(&["--server-read-timeout=2s"]), [Some(2), Some(60), Some(300)]);
    assert_eq!(
        seconds(&["--server-read-header-timeout=0", "--server-idle-timeout=0s"]),
        [Some(60), Some(60), Some(60)]
    );
    assert_eq!(seconds(&["--server-write-timeout=0", "--server-read-timeout=0"]), [Some(5), None, Some(300)]);
    assert_eq!(settings(&["--server-write-timeout", "1m30s"]).timeouts.response, Some(Duration::from_secs(90)));
}

#[test]
fn flags_about_go_and_log_files_are_taken_with_a_warning() {
    let warnings = |arguments: &[&str]| settings(arguments).warnings;
    for harmless in
        ["--logtostderr", "--logtostderr=true", "--log_file=", "--auto-gomemlimit=false", "--skip_headers=false"]
    {
        assert_eq!(warnings(&[harmless]), [""; 0], "{harmless}");
    }
    let log = "has no effect: the log goes to stderr, one line an event (see -v)";
    for flag in ["log_file", "log_dir", "vmodule", "stderrthreshold", "log_backtrace_at"] {
        assert_eq!(warnings(&[&format!("--{flag}=x")]), [format!("--{flag} {log}")]);
    }
    for flag in ["alsologtostderr", "one_output", "skip_headers", "skip_log_headers", "add_dir_header"] {
        assert_eq!(warnings(&[&format!("--{flag}")]), [format!("--{flag} {log}")]);
    }
    let memory = warnings(&["--auto-gomemlimit", "--auto-gomemlimit-ratio=0.8"]);
    assert_eq!(memory[0], "--auto-gomemlimit has no effect: memory is not garbage-collected here");
    assert_eq!(memory.len(), 2);
}

#[test]
fn custom_resources_are_refused_not_left_out() {
    for argument in [
        "--custom-resource-state-config=spec:",
        "--custom-resource-state-config-file=f",
        "--custom-resource-state-only",
    ] {
        let error = refused(Part::Everything, &[argument]);
        assert!(error.contains("custom resources are not served yet"), "{argument}: {error}");
    }
    let harmless = ["--custom-resource-state-only=false", "--continue-without-custom-resource-state-config-file"];
    assert_eq!(settings(&harmless).warnings, [""; 0]);
}

#[test]
fn an_object_limit_is_announced() {
    let limited = settings(&["--object-limit=100"]);
    assert_eq!(limited.object_limit, Some(100));
    assert_eq!(limited.warnings, ["--object-limit=100: what is served may be partial"]);
    assert_eq!(settings(&["--object-limit=0"]).object_limit, None);
}

#[test]
fn the_file_overrides_flags_lists_included() {
    // R37, https://github.com/kubernetes/kube-state-metrics/issues/2705
    let file = configured(
        "resources: {nodes: {}}\nport: 9000\nenable_gzip_encoding: false\nmetric_opt_in_list: {kube_node_extra: {}}\n\
         labels_allow_list: {nodes: [team]}\nserver_write_timeout: 90s\nnamespaces_denylist: [x]\n",
        &[
            "--resources=pods",
            "--resources=roles",
            "--port=1",
            "--telemetry-port=2",
            "--enable-gzip-encoding",
            "--metric-labels-allowlist=pods=[app]",
        ],
    );
    assert_eq!(names(&file), ["nodes"]);
    assert_eq!((file.metrics.port, file.telemetry.port), (9000, 2));
    assert!(!file.enable_gzip_encoding);
    assert_eq!(file.resources[0].plan.families().len(), 2);
    assert_eq!(file.resources[0].plan.labels, keys(&["team"]));
    assert_eq!(file.timeouts.response, Some(Duration::from_secs(90)));
    assert_eq!(file.excluded_namespaces, ["x"]);
    assert_eq!(file.warnings, [""; 0]);
}

#[test]
fn what_the_file_does_not_say_is_left_to_the_flags() {
    let file = configured("host: 127.0.0.1\n", &["--resources=pods", "--resources=roles", "-v=4", "--shard-by=md5"]);
    assert_eq!(names(&file), ["pods", "roles"]);
    assert_eq!((file.metrics.host.as_str(), file.verbosity), ("127.0.0.1", 4));
    assert_eq!(file.shard.scheme(), Scheme::Md5);
}

#[test]
fn keys_without_a_meaning_are_warned_of() {
    let file = configured("prt: 1\npod: p\n", &[]);
    assert_eq!(file.warnings[0], "configuration file: no such key: prt");
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_the_reason() {
    let stopped = |content: &str, more: &[&str]| {
        let name = format!("bad-{}", content.len());
        let file = File::new(&name, content);
        let flag = file.flag();
        match parsed(Part::Everything, &[&[flag.as_str()], more].concat()) {
            Err(Stop::File(error)) => error.to_string().replace(&file.0.display().to_string(), "F"),
            Err(stop) => panic!("{content}: {stop:?}"),
            Ok(settings) => settings.warnings.join("\n").replace(&file.0.display().to_string(), "F"),
        }
    };
    let start = "cannot use configuration file F: ";
    assert_eq!(
        stopped("port: 70000", &[]),
        format!("{start}invalid value '70000' for '--port <PORT>': 70000 is not in 0..=65535")
    );
    assert_eq!(
        stopped("resources: [podz]", &[]),
        format!("{start}--resources: \"podz\": no such resource; there is nodes, pods, roles")
    );
    let broken = stopped("port: [", &[]);
    assert!(broken.starts_with(start) && !broken.contains('\n'), "{broken}");
    // R37: the allow-missing flag is about files that are not there, and one that is wrong is said to be.
    let tolerated = stopped("port: 99999", &["--continue-without-config"]);
    assert!(tolerated.ends_with("; going on without it until it changes"), "{tolerated}");
    assert_eq!(configured("port: 9", &["--continue-without-config"]).metrics.port, 9);
    let absent = "--config=/nonexistent/ksm.yaml";
    match parsed(Part::Everything, &[absent]) {
        Err(Stop::File(error)) => {
            assert!(error.to_string().starts_with("cannot use configuration file /nonexistent/ksm.yaml: No such file"));
        }
        _ => panic!("an absent file is an error"),
    }
    assert!(parsed(Part::Everything, &[absent, "--continue-without-config"]).is_ok());
}

#[test]
fn subcommands_take_the_options_of_serving() {
    let Ok(Job::Render { settings, files, openmetrics }) =
        job(&["render", "-f", "a.yaml", "-f=-", "--resources=pods", "--openmetrics"], |args| {
            resolve(&args, Part::Everything)
        })
    else {
        panic!("no job to render")
    };
    assert_eq!((names(&settings), files, openmetrics), (vec!["pods"], vec!["a.yaml".into(), "-".into()], true));
    let Ok(Job::Explain { url, .. }) =
        job(&["explain", "--url=http://x/metrics"], |args| resolve(&args, Part::Everything))
    else {
        panic!("no job to explain")
    };
    assert_eq!(url.as_deref(), Some("http://x/metrics"));
}

#[test]
fn completion_scripts_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        match parsed(Part::Everything, &["completion", shell]) {
            Err(Stop::Print(script)) => assert!(script.contains("metric-allowlist"), "{shell}"),
            _ => panic!("{shell}: no script"),
        }
    }
    assert!(refused(Part::Everything, &["completion", "dos"]).starts_with("invalid value 'dos' for '<SHELL>'"));
}

#[test]
fn every_option_is_in_the_table_and_every_key_has_an_option() {
    let Err(Stop::Print(table)) = parsed(Part::Everything, &["options"]) else { panic!("no table") };
    assert!(table.starts_with("### API server\n\n| option | environment | file | meaning |\n|---|---|---|---|\n"));
    for row in [
        "| `--metric-denylist=LIST` | `KSM_METRIC_DENYLIST` | `metric_denylist` | ",
        "| `-v`, `--v=LEVEL` | `KSM_V` | `v` | ",
        "| `--use-apiserver-cache[=BOOL]` | `KSM_USE_APISERVER_CACHE` | `use_api_server_cache` | ",
        "| `--log_file=FILE` | `KSM_LOG_FILE` | `log_file` | ",
        "| `--config=FILE` | `KSM_CONFIG` |  | ",
        "| `--reshard-overlap=on\\|off` | `KSM_RESHARD_OVERLAP` | `reshard_overlap` | ",
        "| `completion SHELL` | ",
        "| `render` `--openmetrics` | ",
        "| `render` `-f`, `--filename=FILE` | ",
        "| `explain` `--url=URL` | ",
    ] {
        assert!(table.contains(&format!("\n{row}")), "{row} in\n{table}");
    }
    assert_eq!(table.matches("### Logging").count(), 1);
    // What a command shares with the whole program stands there once, and no cell is cut in two by a bar.
    assert_eq!(table.matches("`--metric-denylist=LIST`").count(), 1);
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        let cells = row.replace("\\|", "").matches('|').count() - 1;
        assert!([2, 4].contains(&cells), "{cells} cells in {row}");
    }
}

#[test]
fn the_command_line_is_consistent() {
    command::<Args>(BUILD).debug_assert();
}

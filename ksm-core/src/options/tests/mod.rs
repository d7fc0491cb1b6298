//! From arguments to settings.

use clap::Parser;

use super::*;
use crate::build::Build;
use crate::exposition::Kind;
use crate::family::{FamilyInfo, KeyFilter, Plan, Stability};
use crate::resource::{AnyResource, Descriptor, Fetch, Rendered, Scope, shared};
use crate::shard::{Scheme, Shard};
use crate::view::{DecodeError, Encoding, ObjectMeta};

/// A resource with two families, the second on request only.
struct Fake {
    plural: &'static str,
    families: [&'static str; 2],
    enabled_by_default: bool,
}

static REGISTRY: &[&dyn AnyResource] = &[
    &Fake { plural: "nodes", families: ["kube_node_info", "kube_node_extra"], enabled_by_default: true },
    &Fake { plural: "pods", families: ["kube_pod_info", "kube_pod_extra"], enabled_by_default: true },
    &Fake { plural: "roles", families: ["kube_role_info", "kube_role_extra"], enabled_by_default: false },
];

impl AnyResource for Fake {
    fn descriptor(&self) -> Descriptor<'_> {
        Descriptor {
            plural: self.plural,
            group: "",
            version: "v1",
            kind: "Fake",
            scope: Scope::Namespaced,
            fetch: Fetch::Whole,
            enabled_by_default: self.enabled_by_default,
        }
    }

    fn families(&self) -> Vec<FamilyInfo<'_>> {
        let family = |name, opt_in| FamilyInfo {
            name,
            kind: Kind::Gauge,
            stability: Stability::Stable,
            opt_in,
            labels: &[],
            help: "",
        };
        vec![family(self.families[0], false), family(self.families[1], true)]
    }

    fn base_labels(&self) -> Vec<&str> {
        Vec::new()
    }

    fn render(
        &self,
        _: Encoding,
        _: &[u8],
        _: &Plan,
        _: &mut dyn FnMut(&ObjectMeta) -> bool,
        _: &mut Rendered,
    ) -> Result<bool, DecodeError> {
        Ok(false)
    }
}

/// Every argument group at once, on the fake registry.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    shard: ShardArgs,
}

const BUILD: Build = Build { name: "ksm-test", version: "1.2.3", revision: "abc", date: "2026-01-02T03:04:05Z" };

fn resolve(args: &Args, part: Part) -> Result<Settings, UsageError> {
    Settings::resolve(&args.shared, part, args.shard.shard()?, &shared(REGISTRY))
}

fn job(arguments: &[&str], to_settings: fn(Args) -> Result<Settings, UsageError>) -> Result<Job, Stop> {
    parse_from(BUILD, std::iter::once("ksm-test").chain(arguments.iter().copied()), to_settings)
}

/// Settings for a part; those of [`Part::Node`] are for the node `n1`.
fn parsed(part: Part, arguments: &[&str]) -> Result<Settings, Stop> {
    let job = job(
        arguments,
        match part {
            Part::Everything => |args| resolve(&args, Part::Everything),
            Part::Node(_) => |args| resolve(&args, Part::Node("n1".to_owned())),
            Part::Unscheduled => |args| resolve(&args, Part::Unscheduled),
            Part::Rest => |args| resolve(&args, Part::Rest),
        },
    )?;
    match job {
        Job::Serve(Configuration { settings, .. }) | Job::Render { settings, .. } | Job::Explain { settings, .. } => {
            Ok(settings)
        }
    }
}

#[track_caller]
fn settings(arguments: &[&str]) -> Settings {
    match parsed(Part::Everything, arguments) {
        Ok(settings) => settings,
        Err(stop) => panic!("{arguments:?}: {stop:?}"),
    }
}

#[track_caller]
fn refused(part: Part, arguments: &[&str]) -> String {
    match parsed(part, arguments) {
        Err(Stop::Usage(error)) => error.to_string(),
        Err(stop) => panic!("{arguments:?}: {stop:?}"),
        Ok(_) => panic!("{arguments:?}: accepted"),
    }
}

fn names(settings: &Settings) -> Vec<&str> {
    settings.resources.iter().map(|enabled| enabled.resource.descriptor().plural).collect()
}

/// Names of the families served, over all resources.
fn families(arguments: &[&str]) -> Vec<String> {
    let settings = settings(arguments);
    let of = |enabled: &Enabled| {
        let table = enabled.resource.families();
        enabled.plan.families().iter().map(|&index| table[index].name.to_owned()).collect::<Vec<_>>()
    };
    settings.resources.iter().flat_map(of).collect()
}

fn keys(keys: &[&str]) -> KeyFilter {
    KeyFilter::Keys(keys.iter().map(|&key| key.to_owned()).collect())
}

#[test]
fn defaults_are_those_of_kube_state_metrics() {
    let settings = settings(&[]);
    assert_eq!(settings.connection, Connection::default());
    assert_eq!(settings.metrics, Address { host: "::".to_owned(), port: 8080 });
    assert_eq!(settings.telemetry, Address { host: "::".to_owned(), port: 8081 });
    assert_eq!(settings.shard, Shard::WHOLE);
    assert_eq!(names(&settings), ["nodes", "pods"]);
    assert_eq!(settings.namespaces, [""; 0]);
    assert!(!settings.use_apiserver_cache);
    assert_eq!(settings.verbosity, 0);
    assert_eq!(families(&[]), ["kube_node_info", "kube_pod_info"]);
}

#[test]
fn values_are_written_in_every_way_go_takes_them() {
    for arguments in [["--port", "1"].as_slice(), &["--port=1"], &["--port=9", "--port=1"]] {
        assert_eq!(settings(arguments).metrics.port, 1, "{arguments:?}");
    }
    for arguments in [["-v", "4"].as_slice(), &["-v=4"], &["-v4"], &["--v=4"], &["--v", "4"]] {
        assert_eq!(settings(arguments).verbosity, 4, "{arguments:?}");
    }
    assert_eq!([settings(&["-v=99"]).verbosity, settings(&["-v=-1"]).verbosity], [10, 0]);
    for (argument, expected) in [
        ("--use-apiserver-cache", true),
        ("--use-apiserver-cache=true", true),
        ("--use-apiserver-cache=T", true),
        ("--use-apiserver-cache=false", false),
        ("--use-apiserver-cache=0", false),
    ] {
        assert_eq!(settings(&[argument]).use_apiserver_cache, expected, "{argument}");
    }
}

#[test]
fn empty_values_are_as_good_as_none() {
    let empty = settings(&[
        "--kubeconfig=",
        "--apiserver=",
        "--host=",
        "--resources=",
        "--namespaces=",
        "--metric-labels-allowlist=",
        "--metric-denylist=",
    ]);
    assert_eq!(empty.connection, Connection::default());
    assert_eq!(empty.metrics.host, "::");
    assert_eq!(names(&empty), ["nodes", "pods"]);
    assert_eq!(empty.namespaces, [""; 0]);
}

#[test]
fn lists_add_up_and_blanks_do_not_count() {
    // R40, https://github.com/kubernetes/kube-state-metrics/issues/1705
    let settings =
        settings(&["--resources=roles", "--resources", " pods ,\n", "--namespaces=a,,b", "--namespaces=\nb, c"]);
    assert_eq!(names(&settings), ["pods", "roles"]);
    assert_eq!(settings.namespaces, ["a", "b", "c"]);
    assert_eq!(families(&["--metric-denylist=\n kube_node_.*,\n  ^x ", "--metric-denylist=pod"]), [""; 0]);
}

#[test]
fn patterns_match_anywhere_and_may_look_around() {
    assert_eq!(families(&["--metric-allowlist=pod"]), ["kube_pod_info"]);
    assert_eq!(families(&["--metric-denylist=^kube_(?!pod_)"]), ["kube_pod_info"]);
    assert_eq!(families(&["--metric-opt-in-list=pod_extra"]), ["kube_node_info", "kube_pod_info", "kube_pod_extra"]);
    assert_eq!(
        families(&["--metric-opt-in-list=.*", "--metric-allowlist=extra"]),
        ["kube_node_extra", "kube_pod_extra"]
    );
    assert_eq!(
        refused(Part::Everything, &["--metric-allowlist=a", "--metric-denylist=b"]),
        "--metric-allowlist and --metric-denylist exclude each other"
    );
    for flag in ["--metric-opt-in-list", "--metric-allowlist", "--metric-denylist"] {
        let error = refused(Part::Everything, &[&format!("{flag}=ok,kube_(pod")]);
        assert!(error.starts_with(&format!("{flag}: \"kube_(pod\" is no regular expression: ")), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn matching_has_a_bounded_cost() {
    // R38: the first is linear, the second has to backtrack and is given up.
    assert_eq!(families(&["--metric-denylist=^([a-z_]+)+[0-9]$"]), ["kube_node_info", "kube_pod_info"]);
    let hostile = Patterns::compile("--metric-denylist", &["^(?=x*)(([a-z_]+)+)+\\1[0-9]$".to_owned()]).unwrap();
    let error = hostile.matches(&"a".repeat(60)).unwrap_err().to_string();
    assert!(error.starts_with("--metric-denylist: matching "), "{error}");
    assert!(error.ends_with("takes too long"), "{error}");
}

#[test]
fn unknown_resources_are_refused_with_the_list() {
    assert_eq!(
        refused(Part::Everything, &["--resources=pods,pod"]),
        "--resources: \"pod\": no such resource; there is nodes, pods, roles"
    );
}

#[test]
fn resources_that_a_part_cannot_have_are_refused() {
    // R26, https://github.com/kubernetes/kube-state-metrics/issues/2190
    let node = || Part::Node("n1".to_owned());
    for part in [node(), Part::Unscheduled] {
        assert_eq!(
            refused(part, &["--resources=pods,nodes"]),
            "--resources: \"nodes\": only pods can be selected by node; there is pods"
        );
    }
    assert_eq!(
        refused(Part::Rest, &["--resources=pods"]),
        "--resources: \"pods\": pods are served by another binary of the set; there is nodes, roles"
    );
    let served = |part| names(&parsed(part, &[]).ok().unwrap()).join(",");
    assert_eq!([served(node()), served(Part::Unscheduled), served(Part::Rest)], ["pods", "pods", "nodes"]);
}

#[test]
fn parts_select_pods_by_node_and_nothing_else() {
    let node = Part::Node("n1".to_owned());
    assert_eq!(node.field_selector("pods").as_deref(), Some("spec.nodeName=n1"));
    assert_eq!(Part::Unscheduled.field_selector("pods").as_deref(), Some("spec.nodeName="));
    assert_eq!(node.field_selector("nodes"), None);
    assert_eq!(Part::Rest.field_selector("nodes"), None);
    assert_eq!(Part::Everything.field_selector("pods"), None);
    let error = Settings::resolve(
        &SharedArgs::default(),
        Part::Node("n1,spec.x=y".to_owned()),
        Shard::WHOLE,
        &shared(REGISTRY),
    );
    assert_eq!(
        error.err().unwrap().to_string(),
        "--node: \"n1,spec.x=y\" is no node name (lower-case letters, digits, - and .)"
    );
}

#[test]
fn shards_out_of_range_are_refused() {
    // R51
    let shard = |arguments: &[&str]| settings(arguments).shard;
    assert_eq!(shard(&["--shard=2", "--total-shards=3"]), Shard::new(2, 3, Scheme::Range).unwrap());
    assert_eq!(shard(&["--total-shards=3", "--shard-by=md5"]), Shard::new(0, 3, Scheme::Md5).unwrap());
    for (arguments, message) in [
        (["--shard=3", "--total-shards=3"], "--shard=3: out of range, with 3 shards it is 0 to 2"),
        (["--shard=-1", "--total-shards=3"], "--shard=-1: out of range, with 3 shards it is 0 to 2"),
        (["--shard", "1"], "--shard=1: out of range, one shard of one is 0 (see --total-shards)"),
        (["--shard=0", "--total-shards=0"], "--total-shards=0: the total number of shards must be at least 1"),
        (["--total-shards", "-2"], "--total-shards=-2: the total number of shards must be at least 1"),
        (
            ["--shard=0", "--total-shards=99999999999"],
            "--total-shards=99999999999: the total number of shards must be at most 4294967295",
        ),
    ] {
        assert_eq!(refused(Part::Everything, &arguments), message);
    }
}

#[test]
fn the_last_label_list_counts_whole() {
    // R39 and R40.
    let labels = |arguments: &[&str]| {
        let settings = settings(arguments);
        settings.resources.iter().map(|enabled| enabled.plan.labels.clone()).collect::<Vec<_>>()
    };
    let list = "--metric-labels-allowlist";
    assert_eq!(labels(&[&format!("{list}=pods=[a, b],\n nodes=[*]")]), [KeyFilter::All, keys(&["a", "b"])]);
    assert_eq!(labels(&[&format!("{list}=pods=[app],pods=[tier]")]), [KeyFilter::None, keys(&["tier"])]);
    assert_eq!(labels(&[&format!("{list}=pods=[a]"), &format!("{list}=nodes=[b]")]), [keys(&["b"]), KeyFilter::None]);
    assert_eq!(labels(&[&format!("{list}=*=[*],pods=[a]")]), [KeyFilter::All, KeyFilter::All]);
    assert_eq!(labels(&[&format!("{list}=*=[x/y*]")]), [keys(&["x/y*"]), keys(&["x/y*"])]);
    // Every key only as the first entry.
    assert_eq!(labels(&[&format!("{list}=pods=[*,a],nodes=[a,*]")]), [keys(&["a"]), KeyFilter::All]);
    assert_eq!(labels(&[&format!("{list}=pods=[],nodes=[ ]")]), [KeyFilter::None, KeyFilter::None]);
    let annotations = settings(&["--metric-annotations-allowlist=pods=[note]"]);
    assert_eq!(annotations.resources[1].plan.annotations, keys(&["note"]));
    assert_eq!(annotations.resources[1].plan.labels, KeyFilter::None);
}

#[test]
fn label_lists_that_can_never_match_are_refused() {
    // R39, https://github.com/kubernetes/kube-state-metrics/issues/1313
    let list = "--metric-labels-allowlist";
    let served: Vec<&str> = REGISTRY.iter().map(|resource| resource.descriptor().plural).collect();
    for resource in ["role", "pod", ""] {
        assert_eq!(
            refused(Part::Everything, &[&format!("{list}={resource}=[app]")]),
            format!("{list}: unknown resource {resource:?}, expected * or one of {}", served.join(", "))
        );
    }
    for bad in [
        "pods",
        "pods=",
        "pods=a",
        "pods=[a",
        "pods=[a,]",
        "pods=[a,],nodes=",
        "pods=[,a]",
        "pods=[a],",
        ",pods=[a]",
        "pods=[a]nodes=[b]",
        "pods=[a],,nodes=[b]",
        "pods=[[a]]",
        "pods=[a=b]",
    ] {
        let error = refused(Part::Everything, &[&format!("{list}={bad}")]);
        assert!(error.starts_with(&format!("{list}: cannot read ")), "{bad}: {error}");
    }
    assert_eq!(
        refused(Part::Everything, &[&format!("{list}=pods=[a*b*]")]),
        format!("{list}: only one * in a key, not as in a*b*")
    );
    let quoted = settings(&[&format!("{list}=pods=[\"app\"]")]);
    assert_eq!(quoted.resources[1].plan.labels, keys(&["\"app\""]));
    assert_eq!(
        quoted.warnings,
        [format!("{list}: the quotes of \"app\" in pods belong to the key, it matches nothing")]
    );
}

#[test]
fn urls_of_the_api_server_get_a_scheme_and_are_checked() {
    let url = |arguments: &[&str]| settings(arguments).connection.apiserver.unwrap();
    assert_eq!(url(&["--apiserver=http://127.0.0.1:1"]), "http://127.0.0.1:1");
    assert_eq!(url(&["--apiserver=kube:6443"]), "http://kube:6443");
    assert_eq!(url(&["--apiserver=kube:6443", "--kubeconfig=f"]), "https://kube:6443");
    for bad in ["http://", "ftp://x", "http://a b"] {
        let error = refused(Part::Everything, &[&format!("--apiserver={bad}")]);
        assert!(error.starts_with(&format!("--apiserver: {bad:?} is no URL")), "{error}");
    }
}

#[test]
fn namespaces_are_names() {
    assert_eq!(
        refused(Part::Everything, &["--namespaces=a,../b"]),
        "--namespaces: \"../b\" is no namespace (lower-case letters, digits and -)"
    );
}

#[test]
fn mistakes_are_one_line_that_names_the_flag() {
    for (arguments, message) in [
        (["--no-such-flag"].as_slice(), "unexpected argument '--no-such-flag' found"),
        (&["--prt=1"], "unexpected argument '--prt' found; a similar argument exists: '--port'"),
        (&["--port=70000"], "invalid value '70000' for '--port <PORT>': 70000 is not in 0..=65535"),
        (&["--port", "-1"], "invalid value '-1' for '--port <PORT>': -1 is not in 0..=65535"),
        (&["--telemetry-port=-1"], "invalid value '-1' for '--telemetry-port <PORT>': -1 is not in 0..=65535"),
        (&["--object-limit", "-1"], "--object-limit=-1: expected 0, for no limit, or more"),
        (
            &["--server-read-timeout=5"],
            "invalid value '5' for '--server-read-timeout <DURATION>': expected a duration such as 5s, 1m30s or 250ms",
        ),
        (&["completion"], "the following required arguments were not provided: <SHELL>"),
        (&["--port=1", "render"], "the subcommand 'render' cannot be used with '--port <PORT>'"),
        (&["--shard=one"], "invalid value 'one' for '--shard <ORDINAL>': invalid digit found in string"),
        (&["--shard-by=sha1"], "invalid value 'sha1' for '--shard-by <SCHEME>': expected range or md5"),
        (
            &["--use-apiserver-cache=maybe"],
            "invalid value 'maybe' for '--use-apiserver-cache[=<BOOL>]': expected true or false",
        ),
        (&["--kubeconfig"], "a value is required for '--kubeconfig <FILE>' but none was supplied"),
        (&["extra"], "unrecognized subcommand 'extra'"),
    ] {
        assert_eq!(refused(Part::Everything, arguments), message);
    }
}

#[test]
fn version_and_help_are_printed() {
    let printed = |argument| match parsed(Part::Everything, &[argument]) {
        Err(Stop::Print(text)) => text,
        _ => panic!("{argument}: not printed"),
    };
    assert_eq!(printed("version"), "ksm-test 1.2.3 (revision abc, date 2026-01-02T03:04:05Z)\n");
    assert_eq!(printed("--version"), printed("version"));
    assert_eq!(printed("-h"), printed("--help"));
    // Lines break where the terminal ends.
    let help = printed("--help").split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in
        ["API server:", "Serving:", "What to watch:", "Metrics:", "Sharding:", "Logging:", "[default: 8081]", "Guards:"]
    {
        assert!(help.contains(expected), "{expected} in\n{help}");
    }
}

#[test]
fn a_pod_finds_out_its_shard_and_needs_its_namespace() {
    let autoshard = |arguments: &[&str]| match job(arguments, |args| args.shard.settings(&args.shared))? {
        Job::Serve(Configuration { settings, .. }) => Ok(settings),
        Job::Render { .. } | Job::Explain { .. } => panic!("nothing of the kind was asked for"),
    };
    let settings = autoshard(&["--pod=ksm-0", "--pod-namespace=mon"]).unwrap();
    let expected = |scheme, seconds: Option<u64>| {
        let overlap = seconds.map(std::time::Duration::from_secs);
        Some(crate::autoshard::Autoshard::new("ksm-0".to_owned(), "mon".to_owned(), scheme, overlap))
    };
    assert_eq!(settings.autoshard, expected(Scheme::Range, Some(30)));
    assert_eq!(settings.warnings, [""; 0]);
    let settings = autoshard(&["--pod=ksm-0", "--pod-namespace=mon", "--shard-by=md5", "--reshard-grace=1m"]).unwrap();
    assert_eq!(settings.autoshard, expected(Scheme::Md5, Some(60)));
    let settings =
        autoshard(&["--pod=ksm-0", "--pod-namespace=mon", "--reshard-overlap=off", "--shard=1", "--total-shards=2"]);
    let settings = settings.unwrap();
    assert_eq!(settings.autoshard, expected(Scheme::Range, None));
    assert_eq!(settings.warnings, ["--pod finds out the shard: --shard and --total-shards do not count"]);
    assert_eq!(autoshard(&["--pod=", "--pod-namespace="]).unwrap().autoshard, None);
    let warnings = |grace: &str| autoshard(&["--pod=ksm-0", "--pod-namespace=mon", grace]).unwrap().warnings;
    assert_eq!(warnings("--reshard-grace=10s"), [""; 0]);
    let short = warnings("--reshard-grace=9s");
    assert!(short.len() == 1 && short[0].starts_with("--reshard-grace=9s: a shard may take 10s to learn"), "{short:?}");
    for (arguments, message) in
        [(["--pod=ksm-0"], "--pod needs --pod-namespace"), (["--pod-namespace=mon"], "--pod-namespace needs --pod")]
    {
        let Err(Stop::Usage(error)) = autoshard(&arguments) else { panic!("{arguments:?} was taken") };
        assert_eq!(error.to_string(), message);
    }
}

mod sources;

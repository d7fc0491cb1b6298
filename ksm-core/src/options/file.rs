//! The configuration file: a YAML map with the keys of kube-state-metrics, turned into values of flags.
//!
//! What the file says overrides flags and environment, lists included; keys it does not have leave them as they are.
//! A key that means nothing is reported, not passed over.

use std::collections::BTreeMap;

use super::UsageError;
use super::yaml::Yaml;

/// Keys, and the flags they stand for.
const KEYS: &[(&str, &str)] = &[
    ("add_dir_header", "add_dir_header"),
    ("alsologtostderr", "alsologtostderr"),
    ("alsologtostderrthreshold", "alsologtostderrthreshold"),
    ("annotations_allow_list", "metric-annotations-allowlist"),
    ("apiserver", "apiserver"),
    ("auth_filter", "auth-filter"),
    ("auto-gomemlimit", "auto-gomemlimit"),
    ("auto-gomemlimit-ratio", "auto-gomemlimit-ratio"),
    ("config", ""),
    ("continue_without_config", ""),
    ("continue_without_custom_resource_state_config_file", "continue-without-custom-resource-state-config-file"),
    ("custom_resource_config", "custom-resource-state-config"),
    (LEGACY_KEY, "custom-resource-state-config-file"),
    ("custom_resource_state_config_file", "custom-resource-state-config-file"),
    ("custom_resources_only", "custom-resource-state-only"),
    ("enable_gzip_encoding", "enable-gzip-encoding"),
    ("help", ""),
    ("host", "host"),
    ("kubeconfig", "kubeconfig"),
    ("labels_allow_list", "metric-labels-allowlist"),
    ("legacy_stderr_threshold_behavior", "legacy_stderr_threshold_behavior"),
    ("log_backtrace_at", "log_backtrace_at"),
    ("log_dir", "log_dir"),
    ("log_file", "log_file"),
    ("log_file_max_size", "log_file_max_size"),
    ("logtostderr", "logtostderr"),
    ("metric_allowlist", "metric-allowlist"),
    ("metric_denylist", "metric-denylist"),
    ("metric_opt_in_list", "metric-opt-in-list"),
    ("namespace", "pod-namespace"),
    ("namespaces", "namespaces"),
    ("namespaces_denylist", "namespaces-denylist"),
    ("node", "node"),
    ("object_limit", "object-limit"),
    ("one_output", "one_output"),
    ("pod", "pod"),
    ("port", "port"),
    ("reshard_grace", "reshard-grace"),
    ("reshard_overlap", "reshard-overlap"),
    ("resources", "resources"),
    ("server_idle_timeout", "server-idle-timeout"),
    ("server_read_header_timeout", "server-read-header-timeout"),
    ("server_read_timeout", "server-read-timeout"),
    ("server_write_timeout", "server-write-timeout"),
    ("shard", "shard"),
    ("shard_by", "shard-by"),
    ("shutdown_delay", "shutdown-delay"),
    ("skip_headers", "skip_headers"),
    ("skip_log_headers", "skip_log_headers"),
    ("stderrthreshold", "stderrthreshold"),
    ("telemetry_host", "telemetry-host"),
    ("telemetry_port", "telemetry-port"),
    ("tls_config", "tls-config"),
    ("total_shards", "total-shards"),
    ("track_unscheduled_pods", "track-unscheduled-pods"),
    ("use_api_server_cache", "use-apiserver-cache"),
    ("v", "v"),
    ("vmodule", "vmodule"),
];

/// The name that `custom_resource_state_config_file` had before v2.17.
const LEGACY_KEY: &str = "custom_resource_config_file";

/// The key of the flag with that long name, if it has one.
pub(super) fn key(long: &str) -> Option<&'static str> {
    KEYS.iter().find(|(key, flag)| *flag == long && *key != LEGACY_KEY).map(|(key, _)| *key)
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileValues {
    /// Values by flag, without its dashes.
    pub(super) flags: BTreeMap<&'static str, Vec<String>>,
    /// One line each.
    pub(super) warnings: Vec<String>,
}

impl FileValues {
    /// Reads a file. An empty one says nothing.
    ///
    /// # Errors
    /// It is no YAML map, or a value has a shape that its key does not take.
    pub(super) fn parse(text: &str) -> Result<Self, UsageError> {
        let mut values = Self::default();
        let map = match Yaml::parse(text)? {
            Yaml::Null => Vec::new(),
            Yaml::Map(map) => map,
            _ => return Err(UsageError::new("expected a map of keys to values")),
        };
        for (key, value) in map {
            match KEYS.iter().find(|(known, _)| *known == key) {
                None => values.warnings.push(format!("configuration file: no such key: {key}{}", similar(&key))),
                Some((_, "")) => {
                    values.warnings.push(format!("configuration file: {key} has no effect in a file"));
                }
                Some((_, flag)) => {
                    if key == LEGACY_KEY {
                        let now = "custom_resource_state_config_file";
                        values.warnings.push(format!("configuration file: {LEGACY_KEY} is now called {now}"));
                        if values.flags.contains_key(flag) {
                            continue;
                        }
                    }
                    if let Some(given) = value_of(&key, flag, &value)? {
                        values.flags.insert(flag, given);
                    }
                }
            }
        }
        Ok(values)
    }
}

/// The values of a flag; `None` for a null and for lists without entries, which leave the flag as it is.
fn value_of(key: &str, flag: &str, value: &Yaml) -> Result<Option<Vec<String>>, UsageError> {
    let malformed = |wanted: &str| UsageError::new(format!("{key}: expected {wanted}"));
    let is_map_of_lists = flag == "metric-labels-allowlist" || flag == "metric-annotations-allowlist";
    match value {
        Yaml::Null => Ok(None),
        Yaml::Map(map) if is_map_of_lists => {
            let mut lists = Vec::new();
            for (resource, keys) in map {
                let wanted = || malformed("a list of keys for each resource");
                let keys = match keys {
                    Yaml::Null => &Vec::new(),
                    Yaml::List(keys) => keys,
                    _ => return Err(wanted()),
                };
                lists.push(format!("{resource}=[{}]", scalars(keys).ok_or_else(wanted)?.join(",")));
            }
            Ok((!lists.is_empty()).then(|| vec![lists.join(",")]))
        }
        Yaml::Scalar(text) => Ok(Some(vec![as_flag(flag, text)])),
        _ if is_map_of_lists => Err(malformed("a map of resources to lists of keys")),
        // A set is written as a map without values.
        Yaml::Map(map) if takes_list(flag) => {
            let names: Vec<String> = map.iter().map(|(name, _)| name.clone()).collect();
            Ok((!names.is_empty()).then_some(names))
        }
        Yaml::List(entries) if takes_list(flag) => {
            let entries = scalars(entries).ok_or_else(|| malformed("a list of names"))?;
            // In kube-state-metrics, an empty list of namespaces takes the flag's place, and an empty set does not.
            let replaces = flag.starts_with("namespaces");
            Ok(match entries.is_empty() {
                true => replaces.then(|| vec![String::new()]),
                false => Some(entries.into_iter().map(str::to_owned).collect()),
            })
        }
        _ if takes_list(flag) => Err(malformed("a list or a map")),
        _ => Err(malformed("a single value")),
    }
}

/// The texts of a list of scalars.
fn scalars(entries: &[Yaml]) -> Option<Vec<&str>> {
    entries.iter().map(Yaml::scalar).collect()
}

/// What a scalar is as the value of a flag: in a boolean, a number or a duration, YAML may say it otherwise than a
/// command line does. What does not fit is left for the flag to refuse.
fn as_flag(flag: &str, text: &str) -> String {
    let said = if BOOLEANS.contains(&flag) {
        boolean(text).map(|value| value.to_string())
    } else if INTEGERS.contains(&flag) {
        integer(text).map(|value| value.to_string())
    } else if flag.starts_with("server-") && flag.ends_with("-timeout") {
        // A bare number is what Go's durations are made of.
        integer(text).map(|value| format!("{value}ns"))
    } else {
        None
    };
    said.unwrap_or_else(|| text.to_owned())
}

/// Flags that are on or off.
const BOOLEANS: [&str; 14] = [
    "add_dir_header",
    "alsologtostderr",
    "auth-filter",
    "auto-gomemlimit",
    "continue-without-custom-resource-state-config-file",
    "custom-resource-state-only",
    "enable-gzip-encoding",
    "legacy_stderr_threshold_behavior",
    "logtostderr",
    "one_output",
    "skip_headers",
    "skip_log_headers",
    "track-unscheduled-pods",
    "use-apiserver-cache",
];

/// Flags that are whole numbers.
const INTEGERS: [&str; 7] =
    ["log_file_max_size", "object-limit", "port", "shard", "telemetry-port", "total-shards", "v"];

/// A boolean of YAML 1.1 (<https://yaml.org/type/bool.html>), which Go's YAML takes in a boolean field.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A whole number as Go's YAML reads it: in any base, with underscores, or a float that is one.
fn integer(text: &str) -> Option<i64> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let based = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(|(prefix, base)| {
        let (start, digits) = digits.split_at_checked(2)?;
        start.eq_ignore_ascii_case(prefix).then_some((digits, base))
    });
    let (digits, base) = match based {
        Some(based) => based,
        None if digits.len() > 1 && digits.bytes().all(|b| b.is_ascii_digit()) && digits.starts_with('0') => {
            (digits, 8)
        }
        None => (digits, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let whole = i64::from_str_radix(digits, base).ok().map(|value| sign * value);
    whole.or_else(|| {
        let float: f64 = plain.parse().ok()?;
        // Larger ones are not exact, and no option is that large.
        (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
    })
}

fn takes_list(flag: &str) -> bool {
    matches!(
        flag,
        "resources"
            | "namespaces"
            | "namespaces-denylist"
            | "metric-allowlist"
            | "metric-denylist"
            | "metric-opt-in-list"
    )
}

/// A key that was perhaps meant: the same but for how its words are joined, or a flag's name.
fn similar(key: &str) -> String {
    let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    let meant = KEYS.iter().find(|(known, flag)| plain(known) == plain(key) || plain(flag) == plain(key));
    meant.map(|(known, _)| format!(" (is it {known}?)")).unwrap_or_default()
}

/// The reason and the place on one line, without the text there: files may hold secrets.
pub(crate) fn yaml_error(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, flags: &[(&'static str, &[&str])], warnings: &[&str]) {
        let values = FileValues::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let expected: BTreeMap<&'static str, Vec<String>> = flags
            .iter()
            .map(|(flag, values)| (*flag, values.iter().map(|&value| value.to_owned()).collect()))
            .collect();
        assert_eq!(values.flags, expected, "{text}");
        assert_eq!(values.warnings, warnings, "{text}");
    }

    #[test]
    fn keys_are_those_of_kube_state_metrics() {
        check("", &[], &[]);
        check("# nothing\n", &[], &[]);
        check("port: 9090\nhost: 127.0.0.1\n", &[("host", &["127.0.0.1"]), ("port", &["9090"])], &[]);
        check("resources: {pods: {}, nodes: {}}", &[("resources", &["pods", "nodes"])], &[]);
        check("resources: [pods, nodes]", &[("resources", &["pods", "nodes"])], &[]);
        check("metric_denylist:\n  kube_node_.*: {}\n", &[("metric-denylist", &["kube_node_.*"])], &[]);
        check("namespaces: \"a,b\"", &[("namespaces", &["a,b"])], &[]);
        check("server_read_timeout: 30s", &[("server-read-timeout", &["30s"])], &[]);
        check("use_api_server_cache: true", &[("use-apiserver-cache", &["true"])], &[]);
        check(
            "labels_allow_list:\n  pods: [app, team]\n  nodes: ['*']\n",
            &[("metric-labels-allowlist", &["pods=[app,team],nodes=[*]"])],
            &[],
        );
    }

    #[test]
    fn only_what_an_option_is_makes_something_of_a_scalar() {
        check("namespaces: [se, no]", &[("namespaces", &["se", "no"])], &[]);
        check("namespaces: {on: {}, 007: {}}", &[("namespaces", &["on", "007"])], &[]);
        check("labels_allow_list: {pods: [y, 1e3]}", &[("metric-labels-allowlist", &["pods=[y,1e3]"])], &[]);
        for name in ["no", "yes", "off", "1e3", "007", "2026-01-01", "0x10", "1.0"] {
            check(&format!("node: {name}"), &[("node", &[name])], &[]);
            check(&format!("pod: '{name}'"), &[("pod", &[name])], &[]);
        }
        check("node: ~\npod: null\n", &[], &[]);
        check("auth_filter: yes\nlogtostderr: off", &[("auth-filter", &["true"]), ("logtostderr", &["false"])], &[]);
        check("use_api_server_cache: maybe", &[("use-apiserver-cache", &["maybe"])], &[]);
        for (text, number) in [
            ("0x1F90", "8080"),
            ("8_080", "8080"),
            ("8.08e3", "8080"),
            ("0o17620", "8080"),
            ("017620", "8080"),
            ("-1", "-1"),
            ("0", "0"),
            ("09", "9"),
            ("0x-1", "0x-1"),
            ("1.5", "1.5"),
            ("many", "many"),
        ] {
            check(&format!("port: {text}"), &[("port", &[number])], &[]);
        }
        // As Go's YAML has it, nanoseconds.
        check("server_read_timeout: 30000000000", &[("server-read-timeout", &["30000000000ns"])], &[]);
        check("reshard_grace: 30", &[("reshard-grace", &["30"])], &[]);
    }

    #[test]
    fn what_is_empty_leaves_flags_as_they_are() {
        check("resources: {}\nmetric_denylist: []\nlabels_allow_list: {}\nport:\n", &[], &[]);
        check("namespaces: []\n", &[("namespaces", &[""])], &[]);
        check("kubeconfig: ''", &[("kubeconfig", &[""])], &[]);
    }

    #[test]
    fn keys_that_mean_nothing_are_reported() {
        // R37, https://github.com/kubernetes/kube-state-metrics/issues/2803
        check("prt: 1", &[], &["configuration file: no such key: prt"]);
        check(
            "metric-denylist: [a]",
            &[],
            &["configuration file: no such key: metric-denylist (is it metric_denylist?)"],
        );
        check("config: x", &[], &["configuration file: config has no effect in a file"]);
        check(
            "custom_resource_config_file: f",
            &[("custom-resource-state-config-file", &["f"])],
            &["configuration file: custom_resource_config_file is now called custom_resource_state_config_file"],
        );
    }

    #[test]
    fn values_of_the_wrong_shape_are_refused_without_quoting_them() {
        for (text, message) in [
            ("port: [1]", "port: expected a single value"),
            ("resources: [[a]]", "resources: expected a list of names"),
            ("labels_allow_list: {pods: app}", "labels_allow_list: expected a list of keys for each resource"),
            ("labels_allow_list: [pods]", "labels_allow_list: expected a map of resources to lists of keys"),
            ("namespaces: [a, ~]", "namespaces: expected a list of names"),
            ("[port]", "expected a map of keys to values"),
        ] {
            assert_eq!(FileValues::parse(text).unwrap_err().to_string(), message);
        }
        for broken in ["port: [secret", "secret", "- secret"] {
            let error = FileValues::parse(broken).unwrap_err().to_string();
            assert!(!error.contains("secret") && !error.contains('\n'), "{error}");
        }
    }
}

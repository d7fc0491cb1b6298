//! The configuration file: a YAML map with the keys of kube-state-metrics, turned into values of flags.
//!
//! What the file says outdoes flags and environment, lists included; keys it does not have leave them as they are.
//! A key that means nothing is reported, not passed over.

use std::collections::BTreeMap;

use serde_json::Value;

use super::UsageError;

/// Keys, and the flags they stand for.
const KEYS: [(&str, &str); 57] = [
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
        let map: Option<BTreeMap<String, Value>> =
            serde_saphyr::from_str(text).map_err(|error| UsageError::new(yaml_error(&error)))?;
        for (key, value) in map.unwrap_or_default() {
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
fn value_of(key: &str, flag: &str, value: &Value) -> Result<Option<Vec<String>>, UsageError> {
    let malformed = |wanted: &str| UsageError::new(format!("{key}: expected {wanted}"));
    let is_map_of_lists = flag == "metric-labels-allowlist" || flag == "metric-annotations-allowlist";
    match value {
        Value::Null => Ok(None),
        Value::Object(map) if is_map_of_lists => {
            let mut lists = Vec::new();
            for (resource, keys) in map {
                let wanted = || malformed("a list of keys for each resource");
                let keys = match keys {
                    Value::Null => &Vec::new(),
                    Value::Array(keys) => keys,
                    _ => return Err(wanted()),
                };
                let keys = keys.iter().map(scalar).collect::<Option<Vec<_>>>().ok_or_else(wanted)?;
                lists.push(format!("{resource}=[{}]", keys.join(",")));
            }
            Ok((!lists.is_empty()).then(|| vec![lists.join(",")]))
        }
        _ if is_map_of_lists => match scalar(value) {
            Some(text) => Ok(Some(vec![text])),
            None => Err(malformed("a map of resources to lists of keys")),
        },
        // A set is written as a map without values.
        Value::Object(map) if takes_list(flag) => {
            let names: Vec<String> = map.keys().cloned().collect();
            Ok((!names.is_empty()).then_some(names))
        }
        Value::Array(entries) if takes_list(flag) => {
            let entries = entries.iter().map(scalar).collect::<Option<Vec<_>>>();
            let entries = entries.ok_or_else(|| malformed("a list of names"))?;
            // In kube-state-metrics, an empty list of namespaces takes the flag's place, and an empty set does not.
            let replaces = flag.starts_with("namespaces");
            Ok(match entries.is_empty() {
                true => replaces.then(|| vec![String::new()]),
                false => Some(entries),
            })
        }
        value => match scalar(value) {
            Some(text) => Ok(Some(vec![text])),
            None if takes_list(flag) => Err(malformed("a list or a map")),
            None => Err(malformed("a single value")),
        },
    }
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

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
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
        check("resources: {pods: {}, nodes: {}}", &[("resources", &["nodes", "pods"])], &[]);
        check("resources: [pods, nodes]", &[("resources", &["pods", "nodes"])], &[]);
        check("metric_denylist:\n  kube_node_.*: {}\n", &[("metric-denylist", &["kube_node_.*"])], &[]);
        check("namespaces: \"a,b\"", &[("namespaces", &["a,b"])], &[]);
        check("server_read_timeout: 30s", &[("server-read-timeout", &["30s"])], &[]);
        check("use_api_server_cache: true", &[("use-apiserver-cache", &["true"])], &[]);
        check(
            "labels_allow_list:\n  pods: [app, team]\n  nodes: ['*']\n",
            &[("metric-labels-allowlist", &["nodes=[*],pods=[app,team]"])],
            &[],
        );
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
        ] {
            assert_eq!(FileValues::parse(text).unwrap_err().to_string(), message);
        }
        for broken in ["port: [secret", "secret", "- secret"] {
            let error = FileValues::parse(broken).unwrap_err().to_string();
            assert!(!error.contains("secret") && !error.contains('\n'), "{error}");
        }
    }
}

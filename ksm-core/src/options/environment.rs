//! Options from the environment: `--metric-allowlist` is `KSM_METRIC_ALLOWLIST`.
//!
//! A Kubernetes Service called `ksm` puts `KSM_PORT=tcp://…` and the like into every pod of its namespace
//! (<https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables>): these are not ours.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::{Arg, Command};

const PREFIX: &str = "KSM_";

/// The command, and its subcommands that take the same options, with each option that the environment sets; and names
/// of variables that set none.
pub(super) fn apply(command: Command) -> (Command, Vec<String>) {
    let set = std::env::vars_os().filter(|(name, value)| is_ours(name, value));
    let set: BTreeSet<String> = set.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let options: BTreeSet<String> = command.get_arguments().filter_map(|arg| arg.get_long().map(variable)).collect();
    let apply = |arg: Arg| {
        let name = arg.get_long().map(variable).filter(|name| options.contains(name) && set.contains(name));
        match name {
            Some(name) => arg.env(name),
            None => arg,
        }
        .hide_env(true)
    };
    let command = command.mut_args(apply).mut_subcommands(|subcommand| subcommand.mut_args(apply));
    (command, set.difference(&options).cloned().collect())
}

/// The variable of the option with that long name.
pub(super) fn variable(long: &str) -> String {
    format!("{PREFIX}{}", long.replace('-', "_").to_uppercase())
}

/// Whether a variable is meant for this program: not one that describes a Service, and not empty, which is as good as
/// not set.
fn is_ours(name: &OsStr, value: &OsStr) -> bool {
    let (Some(name), value) = (name.to_str(), value.to_string_lossy()) else { return false };
    let of_a_service = value.contains("://") && (name.ends_with("_PORT") || name.contains("_PORT_"))
        || name.contains("_SERVICE_")
        || name.contains("_PORT_") && ["_PROTO", "_PORT", "_ADDR"].iter().any(|end| name.ends_with(end));
    name.starts_with(PREFIX) && !value.is_empty() && !of_a_service
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_describe_a_service_are_not_ours() {
        let ours = |name: &str, value: &str| is_ours(OsStr::new(name), OsStr::new(value));
        assert!(ours("KSM_PORT", "8080"));
        assert!(ours("KSM_METRIC_ALLOWLIST", "kube_pod_.*"));
        for (name, value) in [
            ("KSM_PORT", "tcp://10.0.0.1:8080"),
            ("KSM_TELEMETRY_PORT", "tcp://10.0.0.1:8081"),
            ("KSM_SERVICE_HOST", "10.0.0.1"),
            ("KSM_SERVICE_PORT_HTTP_METRICS", "8080"),
            ("KSM_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
            ("KSM_PORT_8080_TCP_PROTO", "tcp"),
            ("KSM_PORT_8080_TCP_ADDR", "10.0.0.1"),
            ("KSM_PORT_8080_TCP_PORT", "8080"),
            ("KSM_HOST", ""),
            ("HOST", "x"),
        ] {
            assert!(!ours(name, value), "{name}={value}");
        }
        assert_eq!(variable("server-read-header-timeout"), "KSM_SERVER_READ_HEADER_TIMEOUT");
    }
}

//! `cargo xtask manifests`: writes the RBAC rules in `deploy/base` from the table of resources.
//!
//! Invariant: a binary may list and watch exactly the resources it can be told to serve, and nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ksm_core::resources;

use crate::cargo;
use crate::cli::ManifestsArgs;

/// Which resources a binary reads.
struct Binary {
    name: &'static str,
    reads: fn(&str) -> bool,
}

const BINARIES: [Binary; 4] = [
    Binary { name: "ksm-shard", reads: |_| true },
    Binary { name: "ksm-node", reads: |plural| plural == "pods" },
    Binary { name: "ksm-unscheduled", reads: |plural| plural == "pods" },
    Binary { name: "ksm-rest", reads: |plural| plural != "pods" },
];

/// Runs the command.
pub fn run(arguments: &ManifestsArgs) -> Result<()> {
    for binary in &BINARIES {
        let (path, text) = (path(binary), rbac(binary));
        if arguments.check {
            compare(binary)?;
        } else {
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

fn path(binary: &Binary) -> PathBuf {
    cargo::workspace_root().join("deploy/base").join(binary.name).join("rbac.yaml")
}

fn compare(binary: &Binary) -> Result<()> {
    let path = path(binary);
    let found = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if found != rbac(binary) {
        bail!("{} is not what the table of resources says: run `cargo xtask manifests`", path.display());
    }
    Ok(())
}

/// The ClusterRole of a binary, and its binding.
fn rbac(binary: &Binary) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for resource in resources::all() {
        let descriptor = resource.descriptor();
        // What is off by default is granted by those who turn it on.
        if descriptor.enabled_by_default && (binary.reads)(descriptor.plural) {
            groups.entry(descriptor.group).or_default().push(descriptor.plural);
        }
    }
    let name = binary.name;
    let mut text = format!(
        "# Written by `cargo xtask manifests` from the table of resources.\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {name}\nrules:\n"
    );
    for (group, plurals) in groups {
        let _ = write!(text, "  - apiGroups: [\"{group}\"]\n    resources: [{}]\n", plurals.join(", "));
        text.push_str("    verbs: [list, watch]\n");
    }
    let _ = write!(
        text,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: {name}\n\
         roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: {name}\n\
         subjects:\n  - kind: ServiceAccount\n    name: {name}\n    namespace: default\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rbac_in_deploy_is_what_the_table_of_resources_says() {
        for binary in &BINARIES {
            compare(binary).unwrap();
        }
    }

    #[test]
    fn a_node_may_read_pods_and_nothing_else() {
        let text = rbac(&BINARIES[1]);
        assert_eq!(text.matches("apiGroups").count(), 1, "{text}");
        assert!(text.contains("  - apiGroups: [\"\"]\n    resources: [pods]\n    verbs: [list, watch]\n"), "{text}");
    }
}

//! `cargo xtask manifests`: writes the generated files of `deploy/`, rights from the table of resources among them, and
//! renders every base and overlay.
//!
//! Invariant: a binary may list and watch exactly the resources it can be told to serve, and nothing else; a shard that
//! finds out its place by itself may get the pods of its own namespace as well, and read its StatefulSet there.

mod checks;
mod compositions;
pub mod dashboards;
mod generated;
pub mod metrics;
pub mod render;
mod scrapes;
pub mod snippets;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use ksm_core::resources;
use serde_json::Value;

use crate::cargo;
use crate::cli::ManifestsArgs;
use crate::process::Scratch;

/// Which resources a binary reads, by the base that deploys it.
struct Base {
    name: &'static str,
    reads: fn(&str) -> bool,
    /// Whether it finds out its shard from the StatefulSet it is in.
    finds_shard: bool,
}

const BASES: [Base; 5] = [
    Base { name: "ksm-shard", reads: |_| true, finds_shard: false },
    Base { name: "ksm-shard-auto", reads: |_| true, finds_shard: true },
    Base { name: "ksm-node", reads: |plural| plural == "pods", finds_shard: false },
    Base { name: "ksm-unscheduled", reads: |plural| plural == "pods", finds_shard: false },
    Base { name: "ksm-rest", reads: |plural| plural != "pods", finds_shard: false },
];

/// The rights that automatic shards need in their own namespace: group, resource, verbs.
pub const OWN_SET: [(&str, &str, &[&str]); 2] =
    [("", "pods", &["get"]), ("apps", "statefulsets", &["get", "list", "watch"])];

/// Runs the command.
pub fn run(arguments: &ManifestsArgs) -> Result<()> {
    let shards = match arguments.static_shards {
        Some(shards) => shards,
        None => generated::present_shards()?,
    };
    if arguments.check {
        compare(shards)?;
    } else {
        write(shards)?;
    }
    metrics::check_files()?;
    let kustomize = render::Kustomize::new()?;
    for (folder, objects) in rendered(&kustomize)? {
        println!("{folder}: {} objects", objects.len());
    }
    Ok(())
}

/// What `deploy/` and the examples of the documentation render to, checked; by its folder or place.
pub fn rendered(kustomize: &render::Kustomize) -> Result<Vec<(String, Vec<Value>)>> {
    let mut rendered = Vec::new();
    for folder in render::folders()? {
        rendered.push((folder.clone(), kustomize.render(&folder)?));
    }
    let scratch = Scratch::new("ksm-manifests", false)?;
    rendered.extend(compositions::render(kustomize, scratch.path())?);
    rendered.extend(snippets::render(kustomize, scratch.path())?);
    for (folder, objects) in &rendered {
        checks::check(folder, objects)?;
    }
    Ok(rendered)
}

/// Every generated file, by its path from the root of the workspace.
fn files(shards: u32) -> Result<BTreeMap<String, String>> {
    let mut files = generated::files(shards)?;
    files.extend(dashboards::files()?);
    files.extend(scrapes::files()?);
    files.extend(BASES.iter().map(|base| (format!("deploy/base/{}/rbac.yaml", base.name), rbac(base))));
    Ok(files)
}

fn write(shards: u32) -> Result<()> {
    generated::remove_surplus(shards)?;
    for (path, text) in files(shards)? {
        let path = cargo::workspace_root().join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn compare(shards: u32) -> Result<()> {
    for (path, text) in files(shards)? {
        let found = std::fs::read_to_string(cargo::workspace_root().join(&path));
        if found.with_context(|| format!("cannot read {path}"))? != text {
            bail!("{path} is not what it is made from: run `cargo xtask manifests`");
        }
    }
    Ok(())
}

/// The ClusterRole of a base and its binding; the Role in its own namespace where it needs one.
fn rbac(base: &Base) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for resource in resources::all() {
        let descriptor = resource.descriptor();
        // What is off by default is granted by those who turn it on.
        if descriptor.enabled_by_default && (base.reads)(descriptor.plural) {
            groups.entry(descriptor.group).or_default().push(descriptor.plural);
        }
    }
    let name = base.name;
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
    if base.finds_shard {
        let _ = write!(
            text,
            "---\n# For finding out the shard: its own pod, the StatefulSet that controls it, and whether the other pods of the set\n\
             # are ready. A Role cannot list pods that come and go by name, so it is about every pod of its namespace.\n\
             apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: {name}\nrules:\n"
        );
        for (group, resource, verbs) in OWN_SET {
            let _ = write!(text, "  - apiGroups: [\"{group}\"]\n    resources: [{resource}]\n");
            if resource == "statefulsets" {
                // Lists and watches are of that one by name, which the API server goes by.
                let _ = writeln!(text, "    resourceNames: [{name}]");
            }
            let _ = writeln!(text, "    verbs: [{}]", verbs.join(", "));
        }
        let _ = write!(
            text,
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: {name}\n\
             roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: {name}\n\
             subjects:\n  - kind: ServiceAccount\n    name: {name}\n    namespace: default\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_in_deploy_are_what_they_are_made_from() {
        compare(generated::present_shards().unwrap()).unwrap();
    }

    #[test]
    fn a_node_may_read_pods_and_nothing_else() {
        let text = rbac(&BASES[2]);
        assert_eq!(text.matches("apiGroups").count(), 1, "{text}");
        assert!(text.contains("  - apiGroups: [\"\"]\n    resources: [pods]\n    verbs: [list, watch]\n"), "{text}");
    }
}

//! The generated files of `deploy/` beside the rights: static shards, rights in one namespace or without Secrets, rules for
//! the operator.
//!
//! Invariant: each is made from what stands elsewhere, the table of resources or a file written by hand, and compared
//! with what is in the tree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ksm_core::resource::Scope;
use ksm_core::resources;

use crate::cargo;

/// Where the shards of the overlay `static-shards` are.
const STATIC_SHARDS: &str = "deploy/overlays/static-shards";

/// Says how a file comes about.
pub const NOTE: &str = "# Written by `cargo xtask manifests`";

const KUSTOMIZATION: &str = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";

/// Texts by path from the root of the workspace. `shards` is how many the overlay of static shards has.
pub fn files(shards: u32) -> Result<BTreeMap<String, String>> {
    let overlay = static_overlay(shards).into_iter();
    let mut files: BTreeMap<String, String> =
        overlay.map(|(path, text)| (format!("{STATIC_SHARDS}/{path}"), text)).collect();
    let folder = "deploy/components/namespace-only";
    files.insert(format!("{folder}/role.yaml"), namespaced_role());
    files.insert(format!("{folder}/kustomization.yaml"), namespace_only());
    files.insert("deploy/components/without-secrets/kustomization.yaml".to_owned(), without_secrets());
    let rules = rules()?;
    files.insert("deploy/monitoring/prometheus-rule.yaml".to_owned(), prometheus_rule(&rules));
    // Kustomize puts no file of another folder into a ConfigMap.
    files.insert(
        "deploy/prometheus-config/rules.yaml".to_owned(),
        format!("{NOTE} from monitoring/rules.yaml.\n{rules}"),
    );
    let folder = "deploy/components/vertical-autoscaling/static-shards";
    files.insert(format!("{folder}/autoscaler.yaml"), static_autoscalers(shards)?);
    Ok(files)
}

/// The overlay of static shards, by path from its folder.
pub fn static_overlay(shards: u32) -> BTreeMap<String, String> {
    let each = (0..shards).map(|shard| (format!("shard-{shard}/kustomization.yaml"), static_shard(shard)));
    each.chain([("kustomization.yaml".to_owned(), static_shards(shards))]).collect()
}

/// How many shards the overlay has now.
pub fn present_shards() -> Result<u32> {
    let path = cargo::workspace_root().join(STATIC_SHARDS);
    let folders = std::fs::read_dir(&path).with_context(|| format!("cannot list {}", path.display()))?;
    let shards = folders.flatten().filter(|entry| shard_of(&entry.path()).is_some()).count();
    ensure!(shards > 0, "{} has no shard: run `cargo xtask manifests --static-shards 3`", path.display());
    Ok(u32::try_from(shards)?)
}

/// Removes the folders of shards that a smaller set no longer has.
pub fn remove_surplus(shards: u32) -> Result<()> {
    let path = cargo::workspace_root().join(STATIC_SHARDS);
    for entry in std::fs::read_dir(&path).with_context(|| format!("cannot list {}", path.display()))?.flatten() {
        if shard_of(&entry.path()).is_some_and(|shard| shard >= shards) {
            std::fs::remove_dir_all(entry.path())
                .with_context(|| format!("cannot remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

fn shard_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix("shard-")?.parse().ok()
}

fn static_shards(shards: u32) -> String {
    let mut text = format!(
        "{NOTE}; for another number, `cargo xtask manifests --static-shards N`.\n\
         # One Deployment a shard, for those who want no StatefulSet. The number of shards is fixed: to change it, write and\n\
         # apply the overlay anew; while it rolls out, some objects are served twice and some not at all. Of a smaller set,\n\
         # the shards that it no longer has must be deleted, as `cargo xtask deploy --prune` does.\n\
         {KUSTOMIZATION}namespace: kube-state-metrics\nresources:\n  - common\n"
    );
    for shard in 0..shards {
        let _ = writeln!(text, "  - shard-{shard}");
    }
    let _ = write!(
        text,
        "components:\n  - ../../components/gzip\n  - ../../components/disruption-budget\n\
         patches:\n\
         \x20 # A fixed shard that is not ready is starting, and the next start is as good: it holds up no drain.\n\
         \x20 - target:\n      kind: PodDisruptionBudget\n    patch: |\n      - op: replace\n\
         \x20       path: /spec/unhealthyPodEvictionPolicy\n        value: AlwaysAllow\n\
         \x20 - target:\n      kind: Deployment\n      name: ksm-shard-.*\n    patch: |\n      - op: add\n\
         \x20       path: /spec/template/spec/containers/0/args/-\n        value: --total-shards={shards}\n"
    );
    // Behind the label of each shard, which would get into the selector.
    text.push_str(
        "      # One node that fails takes one shard with it.\n      - op: add\n\
         \x20       path: /spec/template/spec/topologySpreadConstraints\n        value:\n          - maxSkew: 1\n\
         \x20           topologyKey: kubernetes.io/hostname\n            whenUnsatisfiable: ScheduleAnyway\n\
         \x20           labelSelector:\n              matchLabels:\n                app.kubernetes.io/name: ksm-shard\n",
    );
    text
}

fn static_shard(shard: u32) -> String {
    format!(
        "{NOTE}.\n{KUSTOMIZATION}nameSuffix: '-{shard}'\nresources:\n  - ../shard\nlabels:\n  - pairs:\n\
         \x20     kube-state-metrics-sharded/shard: '{shard}'\n    includeSelectors: true\n\
         patches:\n  - target:\n      kind: Deployment\n    patch: |\n      - op: add\n\
         \x20       path: /spec/template/spec/containers/0/args/-\n        value: --shard={shard}\n"
    )
}

/// Groups and plural names of resources that live in namespaces and are served by default.
fn namespaced() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for resource in resources::all() {
        let descriptor = resource.descriptor();
        if descriptor.enabled_by_default && descriptor.scope == Scope::Namespaced {
            groups.entry(descriptor.group).or_default().push(descriptor.plural);
        }
    }
    groups
}

fn namespaced_role() -> String {
    let mut text = format!(
        "{NOTE} from the table of resources.\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: ksm-shard\n\
         \x20 labels:\n    app.kubernetes.io/part-of: kube-state-metrics-sharded\nrules:\n"
    );
    for (group, plurals) in namespaced() {
        let _ = write!(text, "  - apiGroups: [\"{group}\"]\n    resources: [{}]\n", plurals.join(", "));
        text.push_str("    verbs: [list, watch]\n");
    }
    text.push_str(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: ksm-shard\n\
         \x20 labels:\n    app.kubernetes.io/part-of: kube-state-metrics-sharded\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: ksm-shard\n\
         subjects:\n  - kind: ServiceAccount\n    name: ksm-shard\n    namespace: default\n",
    );
    text
}

fn namespace_only() -> String {
    let mut plurals: Vec<&str> = namespaced().into_values().flatten().collect();
    plurals.sort_unstable();
    let mut text = format!(
        "{NOTE} from the table of resources.\n\
         # Rights in the own namespace only, and only what lives in namespaces is served. To serve others as well, repeat\n\
         # --namespaces, and the Role and its binding there.\n\
         apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n  - role.yaml\npatches:\n"
    );
    for kind in ["ClusterRole", "ClusterRoleBinding"] {
        let _ = write!(
            text,
            "  - patch: |\n      $patch: delete\n      apiVersion: rbac.authorization.k8s.io/v1\n      kind: {kind}\n\
             \x20     metadata:\n        name: ksm-shard\n"
        );
    }
    let _ = write!(
        text,
        "  - target:\n      kind: Deployment\n      name: ksm-shard\n    patch: |\n      - op: add\n\
         \x20       path: /spec/template/spec/containers/0/env\n        value:\n          - name: POD_NAMESPACE\n\
         \x20           valueFrom:\n              fieldRef:\n                fieldPath: metadata.namespace\n"
    );
    for argument in ["--namespaces=$(POD_NAMESPACE)".to_owned(), format!("--resources={}", plurals.join(","))] {
        let _ = write!(
            text,
            "      - op: add\n        path: /spec/template/spec/containers/0/args/-\n        value: {argument}\n"
        );
    }
    text
}

/// Neither the right to read Secrets nor the wish to, for the workloads that serve more than pods.
fn without_secrets() -> String {
    let mut text = format!(
        "{NOTE} from the table of resources.\n\
         # Nothing about Secrets: no right to read them, and no attempt. Not with `namespace-only`, which names resources too.\n\
         apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n"
    );
    for (kind, workload, base) in [
        ("Deployment", "ksm-shard(-[0-9]+)?", "ksm-shard"),
        ("StatefulSet", "ksm-shard-auto", "ksm-shard-auto"),
        ("Deployment", "ksm-rest", "ksm-rest"),
    ] {
        let served = resources::all().iter().map(|resource| resource.descriptor()).filter(|descriptor| {
            let of_base = base != "ksm-rest" || descriptor.plural != "pods";
            descriptor.enabled_by_default && of_base && descriptor.plural != "secrets"
        });
        let mut core: Vec<&str> = served
            .clone()
            .filter(|descriptor| descriptor.group.is_empty())
            .map(|descriptor| descriptor.plural)
            .collect();
        let mut all: Vec<&str> = served.map(|descriptor| descriptor.plural).collect();
        core.sort_unstable();
        all.sort_unstable();
        let _ = write!(
            text,
            "  - target:\n      kind: ClusterRole\n      name: {base}\n    patch: |\n\
             \x20     - op: test\n        path: /rules/0/apiGroups\n        value: [\"\"]\n\
             \x20     - op: replace\n        path: /rules/0/resources\n        value: [{}]\n\
             \x20 - target:\n      kind: {kind}\n      name: {workload}\n    patch: |\n\
             \x20     - op: add\n        path: /spec/template/spec/containers/0/args/-\n        value: --resources={}\n",
            core.join(", "),
            all.join(",")
        );
    }
    text
}

/// The groups of rules, from their first line on.
fn rules() -> Result<String> {
    let path = cargo::workspace_root().join("deploy/monitoring/rules.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let start = text.find("groups:\n").with_context(|| format!("{} has no line `groups:`", path.display()))?;
    Ok(text[start..].to_owned())
}

/// The rules as the operator's object: the same groups, one level deeper.
fn prometheus_rule(rules: &str) -> String {
    let mut text = format!(
        "{NOTE} from rules.yaml.\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\n\
         metadata:\n  name: kube-state-metrics-sharded\nspec:\n"
    );
    for line in rules.lines() {
        if line.is_empty() {
            text.push('\n');
        } else {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// The autoscaler of the one `ksm-shard`, once for every shard.
fn static_autoscalers(shards: u32) -> Result<String> {
    let path = cargo::workspace_root().join("deploy/components/vertical-autoscaling/ksm-shard/autoscaler.yaml");
    let one = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let all: Vec<String> =
        (0..shards).map(|shard| one.replace("name: ksm-shard\n", &format!("name: ksm-shard-{shard}\n"))).collect();
    Ok(format!("{NOTE} from that of ksm-shard.\n{}", all.join("---\n")))
}

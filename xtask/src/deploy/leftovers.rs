//! What an earlier overlay, or a larger set of static shards, left in the namespaces of an overlay: workloads that would serve
//! everything a second time, and what belongs to them. Applying deletes nothing.
//!
//! Invariant: only objects with our label are found, and none that another one looks after or that is in another namespace.
//! ConfigMaps and rules stay: they may have been applied beside the overlay.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Result;
use serde_json::Value;

use super::kubectl::Server;
use super::overlay::Objects;

/// The label of all that is ours.
const SELECTOR: &str = "app.kubernetes.io/part-of=kube-state-metrics-sharded";

/// What serves.
const WORKLOADS: &str = "deployments.apps,statefulsets.apps,daemonsets.apps";

/// What belongs to it.
const OTHERS: &str = "services,serviceaccounts,roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,\
                      poddisruptionbudgets.policy,networkpolicies.networking.k8s.io";

/// The same, of kinds that not every cluster has.
const OF_OPERATORS: [&str; 3] = [
    "verticalpodautoscalers.autoscaling.k8s.io",
    "servicemonitors.monitoring.coreos.com",
    "podmonitors.monitoring.coreos.com",
];

/// Rights in the whole cluster.
const BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

/// An object that the overlay lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    kind: String,
    group: String,
    name: String,
    /// None of those that live in none.
    namespace: Option<String>,
}

impl Leftover {
    fn of(object: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let version = object["apiVersion"].as_str()?;
        Some(Self {
            kind: text(&object["kind"])?,
            group: version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default(),
            name: text(&object["metadata"]["name"])?,
            namespace: text(&object["metadata"]["namespace"]),
        })
    }

    /// Arguments that name it to kubectl.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some(namespace) = &self.namespace {
            arguments.extend(["--namespace".to_owned(), namespace.clone()]);
        }
        let group = if self.group.is_empty() { String::new() } else { format!(".{}", self.group) };
        arguments.push(format!("{}{group}/{}", self.kind.to_lowercase(), self.name));
        arguments
    }
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{namespace}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}

/// Workloads that the overlay lacks in these namespaces, all of which are there.
pub fn workloads(server: &Server, objects: &Objects, namespaces: &[String]) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for namespace in namespaces {
        found.extend(lacking(&server.list(WORKLOADS, Some(namespace), SELECTOR)?, objects));
    }
    Ok(found)
}

/// What else it lacks, in the order in which it is to be deleted.
pub fn others(server: &Server, objects: &Objects, namespaces: &[String]) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for namespace in namespaces {
        for kinds in [OTHERS].into_iter().chain(OF_OPERATORS) {
            found.extend(lacking(&server.list(kinds, Some(namespace), SELECTOR)?, objects));
        }
    }
    found.extend(rights(&server.list(BINDINGS, None, SELECTOR)?, objects, namespaces));
    Ok(found)
}

/// Those that the overlay lacks, and that nobody else looks after or has deleted already.
fn lacking(there: &[Value], objects: &Objects) -> Vec<Leftover> {
    let is_free = |object: &&Value| {
        let metadata = &object["metadata"];
        metadata["deletionTimestamp"].is_null() && metadata["ownerReferences"].as_array().is_none_or(Vec::is_empty)
    };
    there.iter().filter(is_free).filter(|object| !objects.has(object)).filter_map(Leftover::of).collect()
}

/// Bindings of accounts in these namespaces alone, and the roles of their names.
fn rights(bindings: &[Value], objects: &Objects, namespaces: &[String]) -> Vec<Leftover> {
    let of_these = |binding: &&Value| {
        let subjects = binding["subjects"].as_array().map_or(&[][..], Vec::as_slice);
        let lives: BTreeSet<&str> = subjects.iter().map(|found| found["namespace"].as_str().unwrap_or("")).collect();
        !lives.is_empty() && lives.iter().all(|place| namespaces.iter().any(|namespace| namespace == place))
    };
    let mut found = Vec::new();
    for binding in bindings.iter().filter(of_these) {
        for leftover in lacking(std::slice::from_ref(binding), objects) {
            if binding["roleRef"]["kind"] == "ClusterRole" && binding["roleRef"]["name"] == leftover.name.as_str() {
                found.push(Leftover { kind: "ClusterRole".to_owned(), ..leftover.clone() });
            }
            found.push(leftover);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn objects() -> Objects {
        Objects::parse("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ksm-rest, namespace: ksm}\n").unwrap()
    }

    fn object(kind: &str, metadata: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata})
    }

    #[test]
    fn what_the_overlay_has_or_another_looks_after_is_left_alone() {
        let there = [
            object("Deployment", json!({"name": "ksm-rest", "namespace": "ksm"})),
            object("StatefulSet", json!({"name": "ksm-rest", "namespace": "ksm"})),
            object("Deployment", json!({"name": "ksm-shard-3", "namespace": "ksm"})),
            object("Deployment", json!({"name": "a", "namespace": "ksm", "ownerReferences": [{"kind": "App"}]})),
            object("Deployment", json!({"name": "b", "namespace": "ksm", "deletionTimestamp": "2026-01-01T00:00:00Z"})),
        ];
        let found = lacking(&there, &objects());
        let shown: Vec<String> = found.iter().map(Leftover::to_string).collect();
        assert_eq!(shown, ["StatefulSet/ksm/ksm-rest", "Deployment/ksm/ksm-shard-3"]);
        assert_eq!(found[1].arguments(), ["--namespace", "ksm", "deployment.apps/ksm-shard-3"]);
    }

    #[test]
    fn rights_go_with_the_accounts_of_these_namespaces_only() {
        let binding = |name: &str, places: &[&str]| {
            let subjects: Vec<Value> = places.iter().map(|place| json!({"name": "x", "namespace": place})).collect();
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"kind": "ClusterRole", "name": name}, "subjects": subjects})
        };
        let there =
            [binding("a", &["ksm"]), binding("b", &["ksm", "team"]), binding("c", &["team"]), binding("d", &[])];
        let found = rights(&there, &objects(), &["ksm".to_owned()]);
        let shown: Vec<String> = found.iter().map(Leftover::to_string).collect();
        assert_eq!(shown, ["ClusterRole/a", "ClusterRoleBinding/a"]);
        assert_eq!(found[0].arguments(), ["clusterrole.rbac.authorization.k8s.io/a"]);
    }
}

//! Rights of the limited user, and cluster-wide objects that others refer to.
//!
//! Invariant: the limited user may read every resource of the run except Secrets.

use serde_json::json;

use super::{Object, RESOURCES};
use crate::cluster::LIMITED_USER;

/// The runtime class whose pods have an overhead.
pub const OVERHEAD_CLASS: &str = "sandboxed";

/// The runtime class whose pods have none.
pub const PLAIN_CLASS: &str = "plain";

/// A priority class.
pub const PRIORITY_CLASS: &str = "batch-low";

/// All of it.
pub fn objects() -> Vec<Object> {
    let readable: Vec<&str> = RESOURCES.into_iter().filter(|resource| *resource != "secrets").collect();
    let rights = "apis/rbac.authorization.k8s.io/v1";
    vec![
        Object::cluster(
            rights,
            "clusterroles",
            json!({
                "metadata": {"name": "limited"},
                "rules": [{"apiGroups": ["", "apps", "batch"], "resources": readable, "verbs": ["get", "list", "watch"]}],
            }),
        ),
        Object::cluster(
            rights,
            "clusterrolebindings",
            json!({
                "metadata": {"name": "limited"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "limited"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": LIMITED_USER}],
            }),
        ),
        Object::cluster(
            "apis/node.k8s.io/v1",
            "runtimeclasses",
            json!({
                "metadata": {"name": OVERHEAD_CLASS},
                "handler": "sandbox",
                "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
            }),
        ),
        Object::cluster(
            "apis/node.k8s.io/v1",
            "runtimeclasses",
            json!({
                "metadata": {"name": PLAIN_CLASS},
                "handler": "plain",
            }),
        ),
        Object::cluster(
            "apis/scheduling.k8s.io/v1",
            "priorityclasses",
            json!({
                "metadata": {"name": PRIORITY_CLASS},
                "value": -10,
            }),
        ),
    ]
}

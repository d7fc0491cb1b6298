//! Kinds that operators bring along, defined with just the fields that `deploy/` uses.
//!
//! Invariant: no unknown field is kept, so strict validation finds a misspelt one here too.
//! Fields are those of <https://prometheus-operator.dev/docs/api-reference/api/> and of the VerticalPodAutoscaler's v1 API.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::api::Api;
use crate::wait;

/// Time for a changed definition to be heeded.
const LIMIT: Duration = Duration::from_secs(30);

/// The field of ServiceMonitors that came with version 0.86 of the operator.
const ROLE: &str = "serviceDiscoveryRole";

/// Defines them all, as operators of today do, and waits until they are served.
pub fn create(api: &mut Api) -> Result<()> {
    create_before_roles(api)?;
    add_role(api)
}

/// The same, with ServiceMonitors as they were before [`add_role`].
pub fn create_before_roles(api: &mut Api) -> Result<()> {
    for (group, plural, kind, spec) in [
        ("monitoring.coreos.com", "servicemonitors", "ServiceMonitor", service_monitor()),
        ("monitoring.coreos.com", "podmonitors", "PodMonitor", pod_monitor()),
        ("monitoring.coreos.com", "prometheusrules", "PrometheusRule", prometheus_rule()),
        ("autoscaling.k8s.io", "verticalpodautoscalers", "VerticalPodAutoscaler", autoscaler()),
    ] {
        api.create(&json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{plural}.{group}"),
                // Groups below k8s.io need a word about their review.
                "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
            },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": object(json!({"spec": spec}))},
                }],
            },
        }))?;
        api.wait_for_kind(&format!("{group}/v1"), kind)?;
    }
    Ok(())
}

/// Lets ServiceMonitors say how targets are found, and waits until the API server takes one that does.
pub fn add_role(api: &mut Api) -> Result<()> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/servicemonitors.monitoring.coreos.com";
    let mut definition = api.client().get_json(path)?;
    let properties = definition.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties");
    let properties = properties.context("the definition has properties")?;
    properties[ROLE] = json!({"type": "string", "enum": ["Endpoints", "EndpointSlice"]});
    let changed = json!({"spec": {"versions": definition["spec"]["versions"]}});
    api.client().send_json("PATCH", path, &changed)?;
    let monitor = json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "with-a-role", "namespace": "default"},
        "spec": {ROLE: "EndpointSlice"},
    });
    wait::until("ServiceMonitors may have a role", LIMIT, || Ok(api.try_out(&monitor).ok()))
}

/// Whether an object has a field that only newer operators know.
pub fn needs_role(object: &Value) -> bool {
    object["spec"].get(ROLE).is_some()
}

fn string() -> Value {
    json!({"type": "string"})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn array(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn map(values: Value) -> Value {
    json!({"type": "object", "additionalProperties": values})
}

fn service_monitor() -> Value {
    let mut endpoint = endpoint();
    endpoint["bearerTokenFile"] = string();
    object(json!({
        "selector": object(json!({"matchLabels": map(string())})),
        "endpoints": array(object(endpoint)),
    }))
}

fn pod_monitor() -> Value {
    let mut endpoint = endpoint();
    let credentials = object(json!({"name": string(), "key": string()}));
    endpoint["authorization"] = object(json!({"type": string(), "credentials": credentials}));
    object(json!({
        "selector": object(json!({"matchLabels": map(string())})),
        "podMetricsEndpoints": array(object(endpoint)),
    }))
}

/// What an endpoint of either monitor may have.
fn endpoint() -> Value {
    let duration = json!({"type": "string", "pattern": "^([0-9]+(ms|s|m|h))+$"});
    let relabelings = array(object(json!({
        "action": {
            "type": "string",
            "enum": ["replace", "keep", "drop", "hashmod", "labelmap", "labeldrop", "labelkeep", "lowercase", "uppercase"],
        },
        "sourceLabels": array(string()),
        "separator": string(),
        "regex": string(),
        "replacement": string(),
        "targetLabel": string(),
    })));
    json!({
        "port": string(),
        "scheme": {"type": "string", "enum": ["http", "https"]},
        "tlsConfig": object(json!({
            "serverName": string(),
            "ca": object(json!({"secret": object(json!({"name": string(), "key": string()}))})),
        })),
        "honorLabels": boolean(),
        "interval": duration,
        "scrapeTimeout": duration,
        "params": map(array(string())),
        "relabelings": relabelings,
        "metricRelabelings": relabelings,
    })
}

fn prometheus_rule() -> Value {
    object(json!({
        "groups": array(object(json!({
            "name": string(),
            "rules": array(object(json!({
                "alert": string(),
                "record": string(),
                "expr": string(),
                "for": string(),
                "labels": map(string()),
                "annotations": map(string()),
            }))),
        }))),
    }))
}

fn autoscaler() -> Value {
    object(json!({
        "targetRef": object(json!({"apiVersion": string(), "kind": string(), "name": string()})),
        "updatePolicy": object(json!({
            "updateMode": {"type": "string", "enum": ["Off", "Initial", "Recreate", "InPlaceOrRecreate", "Auto"]},
            "minReplicas": {"type": "integer"},
        })),
        "resourcePolicy": object(json!({
            "containerPolicies": array(object(json!({
                "containerName": string(),
                "controlledResources": array(json!({"type": "string", "enum": ["cpu", "memory"]})),
                "controlledValues": {"type": "string", "enum": ["RequestsAndLimits", "RequestsOnly"]},
                "minAllowed": map(string()),
                "maxAllowed": map(string()),
            }))),
        })),
    }))
}

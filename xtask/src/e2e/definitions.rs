//! Kinds that operators bring along, defined with just the fields that `deploy/` uses.
//!
//! Invariant: no unknown field is kept, so strict validation finds a misspelt one here too.
//! Fields are those of <https://prometheus-operator.dev/docs/api-reference/api/> and of the VerticalPodAutoscaler's v1 API.

use anyhow::Result;
use serde_json::{Value, json};

use super::api::Api;

/// Defines them all and waits until they are served.
pub fn create(api: &mut Api) -> Result<()> {
    for (group, plural, kind, spec) in [
        ("monitoring.coreos.com", "servicemonitors", "ServiceMonitor", service_monitor()),
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
    object(json!({
        "selector": object(json!({"matchLabels": map(string())})),
        "serviceDiscoveryRole": {"type": "string", "enum": ["Endpoints", "EndpointSlice"]},
        "endpoints": array(object(json!({
            "port": string(),
            "scheme": {"type": "string", "enum": ["http", "https"]},
            "tlsConfig": object(json!({
                "serverName": string(),
                "ca": object(json!({"secret": object(json!({"name": string(), "key": string()}))})),
            })),
            "bearerTokenFile": string(),
            "honorLabels": boolean(),
            "interval": duration,
            "scrapeTimeout": duration,
            "params": map(array(string())),
            "relabelings": relabelings,
            "metricRelabelings": relabelings,
        }))),
    }))
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

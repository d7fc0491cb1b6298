//! Everything that is not about objects: health, version, and discovery in its legacy form.
//!
//! Aggregated discovery is not offered; clients that ask for it name the legacy form as second choice and get that.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use super::{Answer, respond, with_type};
use crate::{
    body::Body,
    negotiate::Encoding,
    resources::{RESOURCES, Resource},
    status::Status,
};

/// The Kubernetes version the server claims.
pub const VERSION: &str = "v1.37.2";

pub(super) fn serve(path: &str, encoding: Encoding) -> Answer {
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (kind, value) = match parts[..] {
        ["healthz" | "livez" | "readyz", ..] => {
            return Ok(with_type(StatusCode::OK, "text/plain; charset=utf-8", Body::whole("ok")));
        }
        ["version"] => return Ok(respond(StatusCode::OK, Encoding::Json, version().to_string().into_bytes())),
        ["api"] => ("APIVersions", json!({"versions": ["v1"], "serverAddressByClientCIDRs": []})),
        ["apis"] => ("APIGroupList", json!({"groups": groups().values().collect::<Vec<_>>()})),
        ["apis", group] => ("APIGroup", groups().remove(group).ok_or_else(Status::no_such_path)?),
        ["api", version] => ("APIResourceList", resources("", version)?),
        ["apis", group, version] => ("APIResourceList", resources(group, version)?),
        _ => return Err(Status::no_such_path()),
    };
    Ok(respond(StatusCode::OK, encoding, encoding.meta_object("v1", kind, &value)))
}

fn version() -> Value {
    let mut numbers = VERSION.trim_start_matches('v').split('.');
    json!({
        "major": numbers.next(),
        "minor": numbers.next(),
        "gitVersion": VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    })
}

fn groups() -> BTreeMap<&'static str, Value> {
    let mut groups = BTreeMap::new();
    for resource in RESOURCES.iter().filter(|resource| !resource.group.is_empty()) {
        let version = json!({"groupVersion": resource.api_version(), "version": resource.version});
        groups
            .entry(resource.group)
            .or_insert_with(|| json!({"name": resource.group, "versions": [version], "preferredVersion": version}));
    }
    groups
}

fn resources(group: &str, version: &str) -> Result<Value, Status> {
    let matching: Vec<&Resource> = RESOURCES.iter().filter(|r| r.group == group && r.version == version).collect();
    let first = matching.first().ok_or_else(Status::no_such_path)?;
    let resources: Vec<_> = matching.iter().flat_map(|resource| describe(resource)).collect();
    Ok(json!({"groupVersion": first.api_version(), "resources": resources}))
}

fn describe(resource: &Resource) -> Vec<Value> {
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let main = json!({
        "name": resource.plural,
        "singularName": resource.kind.to_lowercase(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": verbs,
        "shortNames": resource.short,
    });
    let mut described = vec![main];
    if resource.message().by_json("status").is_some() {
        described.push(json!({
            "name": format!("{}/status", resource.plural),
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": ["get", "patch", "update"],
        }));
    }
    described
}

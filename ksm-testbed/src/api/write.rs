//! Writes: create, replace, merge patch and delete.
//!
//! Strategic merge patches are taken for merge patches: lists are replaced, not merged. No validation, no admission,
//! no finalizers: what fits the kind is stored, what is deleted is gone.

use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use super::{Answer, Context, respond};
use crate::{
    cluster::{Condition, deleted},
    codec,
    negotiate::open_envelope,
    request::Verb,
    status::Status,
};

pub(super) fn serve(context: &Context<'_>, headers: &HeaderMap, body: &[u8]) -> Answer {
    let status_only = match context.target.subresource.as_deref() {
        None => false,
        Some("status") if context.verb != Verb::Create => true,
        Some(_) => return Err(Status::no_such_path()),
    };
    match (context.verb, context.target.name.as_deref()) {
        (Verb::Create, None) => context.write(StatusCode::CREATED, &context.decode(headers, body)?, Condition::Absent),
        (Verb::Update, Some(name)) => {
            let given = context.decode(headers, body)?;
            let object = if status_only { context.with_status(given)? } else { given };
            context.write(StatusCode::OK, &object, Condition::Present(name))
        }
        (Verb::Patch, Some(name)) => {
            let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
            if !matches!(media, "application/merge-patch+json" | "application/strategic-merge-patch+json") {
                let message = "the body of the request was in an unknown format - accepted media types include: \
                               application/merge-patch+json, application/strategic-merge-patch+json";
                return Err(Status::of_code(415, message, None));
            }
            let patch = serde_json::from_slice(body).map_err(|error| Status::bad_request(error.to_string()))?;
            let mut object = context.current()?;
            merge(&mut object, patch);
            let object = if status_only { context.with_status(object)? } else { object };
            context.write(StatusCode::OK, &object, Condition::Present(name))
        }
        (Verb::Delete, Some(name)) => {
            let key = context.existing()?.key.clone();
            let removed = context.api.cluster.collection(context.target.resource).write().remove(&key);
            let object = removed.ok_or_else(|| Status::not_found(context.target.resource, name))?;
            let encoding = context.accept.encoding;
            let status = deleted(context.target.resource, &object);
            Ok(respond(StatusCode::OK, encoding, encoding.meta_object("v1", "Status", &status)))
        }
        (Verb::DeleteCollection, None) => {
            let selector = context.selector()?;
            let collection = context.api.cluster.collection(context.target.resource);
            let snapshot = collection.snapshot(context.target.namespace.as_deref());
            for object in snapshot.objects.iter().filter(|object| selector.matches(object)) {
                collection.write().remove(&object.key);
            }
            let encoding = context.accept.encoding;
            let status = serde_json::json!({"metadata": {}, "status": "Success"});
            Ok(respond(StatusCode::OK, encoding, encoding.meta_object("v1", "Status", &status)))
        }
        _ => Err(Status::of_code(405, "the server does not allow this method on the requested resource", None)),
    }
}

impl Context<'_> {
    /// The object in a request's body, JSON or protobuf.
    fn decode(&self, headers: &HeaderMap, body: &[u8]) -> Result<Value, Status> {
        let resource = self.target.resource;
        let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let object = if media.starts_with("application/vnd.kubernetes.protobuf") {
            let (api_version, kind, message) =
                open_envelope(body).ok_or_else(|| Status::bad_request("the body is not a protobuf object"))?;
            let mut object = codec::to_json(resource.message(), message);
            object["apiVersion"] = api_version.into();
            object["kind"] = kind.into();
            object
        } else {
            serde_json::from_slice(body)
                .map_err(|error| Status::bad_request(format!("the object cannot be decoded: {error}")))?
        };
        let (api_version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
        if kind.is_some_and(|kind| kind != resource.kind)
            || api_version.is_some_and(|version| version != resource.api_version())
        {
            let (kind, wanted) = (kind.unwrap_or_default(), resource.kind);
            return Err(Status::bad_request(format!("the object is a {kind}, the path is for a {wanted}")));
        }
        Ok(object)
    }

    fn current(&self) -> Result<Value, Status> {
        Ok(self.api.cluster.value(self.target.resource, &*self.existing()?))
    }

    /// The stored object with the status (and version to check) of another.
    fn with_status(&self, mut given: Value) -> Result<Value, Status> {
        let mut object = self.current()?;
        object["status"] = given["status"].take();
        object["metadata"]["resourceVersion"] = given["metadata"]["resourceVersion"].take();
        Ok(object)
    }

    fn write(&self, code: StatusCode, object: &Value, condition: Condition<'_>) -> Answer {
        let resource = self.target.resource;
        let bytes = codec::to_protobuf(resource.message(), object).map_err(|error| {
            Status::bad_request(format!(
                "{} in version {:?} cannot be handled: {error}",
                resource.kind, resource.version
            ))
        })?;
        let stored = self.api.cluster.store(resource, self.target.namespace.as_deref(), &bytes, condition)?;
        self.object(code, &stored)
    }
}

/// RFC 7386: objects are merged, `null` removes, everything else replaces.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Some(object) = target.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            object.remove(&key);
        } else {
            merge(object.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_patches_follow_the_rfc() {
        let mut target = json!({"a": {"b": 1, "c": [1, 2]}, "d": "x"});
        merge(&mut target, json!({"a": {"b": null, "c": [3], "e": {"f": null, "g": 1}}, "d": {"h": true}}));
        assert_eq!(target, json!({"a": {"c": [3], "e": {"g": 1}}, "d": {"h": true}}));
    }
}

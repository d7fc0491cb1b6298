//! `metav1.Status`: every error the server answers with, as code, reason and message.

use http::StatusCode;
use serde_json::{Value, json};

use crate::resources::Resource;

/// An error in the form the API server gives it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// HTTP status.
    pub code: u16,
    /// Machine-readable reason, such as `NotFound`; empty where Kubernetes gives none.
    pub reason: String,
    /// Human-readable description.
    pub message: String,
    /// Seconds after which the client may try again; also sent as a header.
    pub retry_after: Option<u32>,
    details: Option<Value>,
}

impl Status {
    pub(crate) fn new(code: StatusCode, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.as_u16(),
            reason: reason.to_owned(),
            message: message.into(),
            retry_after: None,
            details: None,
        }
    }

    /// The reason that goes with a code, for injected errors.
    pub(crate) fn of_code(code: u16, message: impl Into<String>, retry_after: Option<u32>) -> Self {
        let reason = match code {
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            405 => "MethodNotAllowed",
            406 => "NotAcceptable",
            409 => "Conflict",
            410 => "Expired",
            415 => "UnsupportedMediaType",
            422 => "Invalid",
            429 => "TooManyRequests",
            500 => "InternalError",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "",
        };
        Self { code, reason: reason.to_owned(), message: message.into(), retry_after, details: None }
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(resource, name)
    }

    /// No resource is served under the path.
    pub(crate) fn no_such_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.qualified());
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(resource, name)
    }

    pub(crate) fn conflict(resource: &Resource, name: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: the object has been modified; please apply your changes to the \
             latest version and try again",
            resource.qualified()
        );
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(resource, name)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn internal(message: &str) -> Self {
        // What kube-apiserver makes of an error without a status of its own.
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// A field of an object, or of list options, is not as it must be; `reason` begins with the kind of mistake.
    pub(crate) fn invalid((group, kind): (&str, &str), field: &str, reason: &str) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let message = format!("{qualified} \"\" is invalid: {field}: {reason}");
        let mut status = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        let mistake = match reason.split(':').next() {
            Some("Forbidden") => "FieldValueForbidden",
            Some("Required value") => "FieldValueRequired",
            Some("Unsupported value") => "FieldValueNotSupported",
            _ => "FieldValueInvalid",
        };
        let cause = json!({"reason": mistake, "field": field, "message": reason});
        status.details = Some(json!({"group": group, "kind": kind, "causes": [cause]}));
        status
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, reason: &str) -> Self {
        let subject = if name.is_empty() { String::new() } else { format!(" {name:?}") };
        let message = format!("{}{subject} is forbidden: {reason}", resource.qualified());
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(resource, name)
    }

    /// The caller wants a version that does not exist yet.
    pub(crate) fn too_large(wanted: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        let mut status = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message);
        status.retry_after = Some(1);
        let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        status.details = Some(json!({"causes": [cause], "retryAfterSeconds": 1}));
        status
    }

    fn about(mut self, resource: &Resource, name: &str) -> Self {
        let mut details = json!({"kind": resource.plural});
        if !name.is_empty() {
            details["name"] = name.into();
        }
        if !resource.group.is_empty() {
            details["group"] = resource.group.into();
        }
        self.details = Some(details);
        self
    }

    /// The object, without `kind` and `apiVersion`.
    pub(crate) fn to_value(&self) -> Value {
        let mut value = json!({"metadata": {}, "status": "Failure", "message": self.message, "code": self.code});
        if !self.reason.is_empty() {
            value["reason"] = self.reason.as_str().into();
        }
        let mut details = self.details.clone();
        if let Some(seconds) = self.retry_after {
            details.get_or_insert_with(|| json!({}))["retryAfterSeconds"] = seconds.into();
        }
        if let Some(details) = details {
            value["details"] = details;
        }
        value
    }
}

//! Reviews: who a token stands for, and whether somebody may do something. Answered from the tokens, never stored.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Answer, Api, respond};
use crate::{access::Token, codec, codec::schema, negotiate, negotiate::Encoding, status::Status};

/// A kind of review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Review {
    Token,
    SubjectAccess,
}

impl Review {
    /// The review a path takes, if any.
    pub(super) fn of(path: &str) -> Option<Self> {
        match path {
            "/apis/authentication.k8s.io/v1/tokenreviews" => Some(Self::Token),
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => Some(Self::SubjectAccess),
            _ => None,
        }
    }
}

/// Answers a review in the request's encoding.
pub(super) fn serve(api: &Api, review: Review, encoding: Encoding, body: &[u8]) -> Answer {
    let (api_version, kind) = match review {
        Review::Token => ("authentication.k8s.io/v1", "TokenReview"),
        Review::SubjectAccess => ("authorization.k8s.io/v1", "SubjectAccessReview"),
    };
    let package = api_version.split(['.', '/']).next().unwrap_or_default();
    let message = schema::message(&format!("k8s.io.api.{package}.v1.{kind}")).expect("reviews are in the schema");
    let mut object = match negotiate::open_envelope(body) {
        Some((_, _, bytes)) => codec::to_json(message, bytes),
        None => serde_json::from_slice(body).map_err(|error| Status::bad_request(error.to_string()))?,
    };
    object["status"] = match review {
        Review::Token => token(&api.tokens.read(), &object["spec"]),
        Review::SubjectAccess => access(&api.tokens.read(), &object["spec"]),
    };
    let bytes = codec::to_protobuf(message, &object).map_err(|error| Status::bad_request(error.to_string()))?;
    Ok(respond(StatusCode::CREATED, encoding, encoding.object(message, api_version, kind, &bytes)))
}

fn token(tokens: &[Token], spec: &Value) -> Value {
    match tokens.iter().find(|token| spec["token"] == token.token) {
        Some(token) => json!({"authenticated": true, "user": {"username": token.user}}),
        None => json!({"authenticated": false, "error": "unknown token"}),
    }
}

/// Paths that are no resources (such as `/metrics`) are denied like resources of that name.
fn access(tokens: &[Token], spec: &Value) -> Value {
    let Some(token) = tokens.iter().find(|token| spec["user"] == token.user) else {
        return json!({"allowed": false, "reason": "unknown user"});
    };
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (verb, what) = if path.is_object() {
        (text(&path["verb"]), text(&path["path"]))
    } else {
        (text(&resource["verb"]), text(&resource["resource"]))
    };
    json!({"allowed": !token.denies(&verb, &what, &text(&resource["namespace"]))})
}

//! What a registry that refuses has to say, as one line with what to do.
//!
//! Invariant: pure; pages of proxies and the like are cut.

use std::error::Error;

use anyhow::anyhow;
use oci_client::errors::{OciDistributionError, OciErrorCode};

/// The most of a registry's own words that is shown, in characters.
const SHOWN: usize = 200;

/// The error in one line.
pub fn explain(error: OciDistributionError, registry: &str) -> anyhow::Error {
    match error {
        OciDistributionError::UnauthorizedError { .. } => refused(registry, "401"),
        OciDistributionError::AuthenticationFailure(said) => refused(registry, &cut(&said)),
        OciDistributionError::ServerError { code: code @ (401 | 403), .. } => refused(registry, &code.to_string()),
        OciDistributionError::ServerError { code, message, .. } => {
            anyhow!("{registry} answers {code}: {}", cut(&message))
        }
        OciDistributionError::RegistryError { envelope, .. } => {
            let said = envelope.errors.iter().map(|error| format!("{:?} {}", error.code, error.message));
            let said = cut(&said.collect::<Vec<_>>().join("; "));
            let of_rights = |code: &OciErrorCode| matches!(code, OciErrorCode::Unauthorized | OciErrorCode::Denied);
            if envelope.errors.iter().any(|error| of_rights(&error.code)) {
                return refused(registry, &said);
            }
            anyhow!("{registry} refuses it: {said}")
        }
        OciDistributionError::RequestError(error) => match error.status().map(|status| status.as_u16()) {
            Some(code @ (401 | 403)) => refused(registry, &code.to_string()),
            Some(code) => anyhow!("{registry} answers {code}"),
            None => anyhow!("cannot reach {registry}: {}", reach(&error)),
        },
        OciDistributionError::GenericError(Some(said)) => anyhow!("{said}"),
        other => anyhow!("{registry}: {}", cut(&other.to_string())),
    }
}

/// A fault of ours among those of the client.
pub fn other(error: impl std::fmt::Display) -> OciDistributionError {
    OciDistributionError::GenericError(Some(error.to_string()))
}

fn refused(registry: &str, said: &str) -> anyhow::Error {
    anyhow!("{registry} refuses ({said}): run `docker login {registry}` as a user who may push there")
}

/// The innermost cause, which names the fault itself.
fn reach(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let said = cut(&cause.to_string());
    if said.contains("InvalidContentType") {
        format!("it speaks no TLS; --insecure pushes over plain HTTP ({said})")
    } else {
        said
    }
}

fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = line.chars().take(SHOWN).collect();
    match (shown.is_empty(), shown.len() < line.len()) {
        (true, _) => "it says no more".to_owned(),
        (_, true) => shown + "…",
        (_, false) => shown,
    }
}

#[cfg(test)]
mod tests {
    use oci_client::errors::OciEnvelope;

    use super::*;

    const REGISTRY: &str = "registry.example.com";

    fn shown(error: OciDistributionError) -> String {
        explain(error, REGISTRY).to_string()
    }

    fn answered(code: u16, message: &str) -> OciDistributionError {
        OciDistributionError::ServerError { code, url: String::new(), message: message.to_owned() }
    }

    fn envelope(text: &str) -> OciDistributionError {
        let envelope: OciEnvelope = serde_json::from_str(text).unwrap();
        OciDistributionError::RegistryError { envelope, url: String::new() }
    }

    #[test]
    fn whoever_is_refused_learns_to_log_in() {
        let denied = r#"{"errors": [{"code": "DENIED", "message": "requested access is denied"}]}"#;
        let unauthorized = OciDistributionError::UnauthorizedError { url: String::new() };
        for error in [answered(403, "no"), envelope(denied), unauthorized] {
            let line = shown(error);
            assert!(line.contains("`docker login registry.example.com`"), "{line}");
        }
    }

    #[test]
    fn other_answers_are_quoted_in_one_line() {
        assert_eq!(
            shown(answered(500, "<html>\n oops\n</html>")),
            "registry.example.com answers 500: <html> oops </html>"
        );
        assert_eq!(shown(answered(503, "")), "registry.example.com answers 503: it says no more");
        assert!(shown(answered(500, &"x".repeat(1000))).len() < 250);
        let invalid = r#"{"errors": [{"code": "NAME_INVALID", "message": "bad name"}]}"#;
        assert_eq!(shown(envelope(invalid)), "registry.example.com refuses it: NameInvalid bad name");
    }
}

//! Errors for people: one line with every cause.

use std::error::Error;

use kube::core::Status;

/// An error and its causes on one line: of each its first line, unless the one before has said it already.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let refused = refusal(error);
        let text =
            refused.map_or_else(|| error.to_string(), |status| answered(status.code, &status.reason, &status.message));
        // What follows the first line may quote a file, credentials included.
        let text = text.lines().next().unwrap_or_default().trim();
        if !line.contains(text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(text);
        }
        next = error.source().filter(|_| refused.is_none());
    }
    line
}

/// What a server answered in place of what it was asked for, such as `404 NotFound: pods "web-0" not found`.
pub(crate) fn answered(code: u16, reason: &str, message: &str) -> String {
    let mut text = code.to_string();
    // The client's own, for an answer that is of no API server.
    if !reason.is_empty() && reason != "Failed to parse error data" {
        text.push(' ');
        text.push_str(reason);
    }
    if !message.trim().is_empty() {
        text.push_str(": ");
        text.push_str(message);
    }
    text
}

/// The answer in an error of the client, which itself writes all fields of it.
fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    let boxed = || error.downcast_ref::<Box<kube::Error>>().map(|error| &**error);
    match error.downcast_ref().or_else(boxed) {
        Some(kube::Error::Api(status)) => Some(status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the request failed")]
    struct Failed(#[source] Box<kube::Error>);

    fn said(code: u16, reason: &str, message: &str) -> String {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        chain(&Failed(Box::new(kube::Error::Api(Box::new(Status { code, reason, message, ..Status::default() })))))
    }

    #[test]
    fn an_answer_of_the_api_server_is_said_once_and_in_its_words() {
        let message = "pods \"web-0\" not found";
        assert_eq!(said(404, "NotFound", message), format!("the request failed: 404 NotFound: {message}"));
        assert_eq!(said(401, "Failed to parse error data", "unauthorized\n"), "the request failed: 401: unauthorized");
        assert_eq!(said(404, "Not Found", ""), "the request failed: 404 Not Found");
        assert_eq!(said(502, "", "<html>\n<head>"), "the request failed: 502: <html>");
    }
}

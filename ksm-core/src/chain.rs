//! Errors for people: one line with every cause.

use std::error::Error;

/// An error and its causes on one line: of each its first line, unless the one before has said it already.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // What follows the first line may quote a file, credentials included.
        let text = text.lines().next().unwrap_or_default().trim();
        if !line.contains(text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(text);
        }
        next = error.source();
    }
    line
}

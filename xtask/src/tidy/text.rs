//! Rules about one file's text: header, length, blanks, machine paths, small binaries.
//!
//! Invariant: pure; a rule looks at the path and the text and nothing else.

use super::Fault;
use crate::cargo::SHIPPED;

/// Longest source file, in lines.
const MAX_LINES: usize = 600;

/// Longest `main.rs` of a shipped binary, in lines.
const MAX_MAIN_LINES: usize = 40;

/// Starts of paths that exist on one machine only. Written in pieces, so that this file keeps its own rule.
const MACHINE_PATHS: [&str; 6] = [
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/tmp/", "wt/"),
    concat!("/tmp/", "target/"),
];

/// All rules of this file.
pub fn check(path: &str, text: &str) -> Vec<Fault> {
    let mut faults = blanks(path, text);
    faults.extend(machine_paths(path, text));
    if path.ends_with(".rs") {
        faults.extend(header(path, text));
        faults.extend(length(path, text));
        faults.extend(small_main(path, text));
    }
    faults
}

fn header(path: &str, text: &str) -> Option<Fault> {
    (!text.starts_with("//! "))
        .then(|| Fault::new(path, 1, "a source file opens with `//!`: its purpose, then its invariant"))
}

fn length(path: &str, text: &str) -> Option<Fault> {
    let lines = text.lines().count();
    (lines > MAX_LINES).then(|| Fault::new(path, 0, format!("{lines} lines: split it, {MAX_LINES} is the most")))
}

fn blanks(path: &str, text: &str) -> Vec<Fault> {
    let mut faults: Vec<Fault> = text
        .split('\n')
        .enumerate()
        .filter(|(_, line)| line.ends_with([' ', '\t', '\r']))
        .map(|(index, _)| Fault::new(path, index + 1, "blanks at the end of the line"))
        .collect();
    if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
        faults.push(Fault::new(path, text.lines().count(), "a file ends with one line break"));
    }
    faults
}

fn machine_paths(path: &str, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for start in MACHINE_PATHS {
            let is_path =
                |(at, _): (usize, &str)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "./-_}".contains(c));
            if line.match_indices(start).any(is_path) {
                faults.push(Fault::new(path, index + 1, format!("a path of one machine: `{start}`")));
            }
        }
    }
    faults
}

fn small_main(path: &str, text: &str) -> Vec<Fault> {
    let is_main = path.strip_suffix("/src/main.rs").is_some_and(|package| SHIPPED.contains(&package));
    if !is_main {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if lines >= MAX_MAIN_LINES {
        faults.push(Fault::new(
            path,
            0,
            format!("{lines} lines: a binary stays under {MAX_MAIN_LINES}, move code to core"),
        ));
    }
    for (index, line) in text.lines().enumerate() {
        if line.contains("kube_") {
            faults.push(Fault::new(path, index + 1, "a binary names no metric: the family table of core does"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults as `line: what`.
    #[track_caller]
    fn found(path: &str, text: &str) -> Vec<String> {
        check(path, text).iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect()
    }

    #[test]
    fn a_tidy_file_has_no_fault() {
        assert_eq!(found("ksm-rest/src/main.rs", "//! Everything but pods.\nfn main() {}\n"), [""; 0]);
    }

    #[test]
    fn a_source_file_needs_its_header() {
        let fault = "1: a source file opens with `//!`: its purpose, then its invariant";
        assert_eq!(found("a.rs", "fn main() {}\n"), [fault]);
        assert_eq!(found("a.rs", ""), [fault]);
        assert_eq!(found("a.toml", "[package]\n"), [""; 0]);
    }

    #[test]
    fn a_source_file_is_short() {
        let lines = |count: usize| "//! x\n".repeat(count);
        assert_eq!(found("a.rs", &lines(600)), [""; 0]);
        assert_eq!(found("a.rs", &lines(601)), ["0: 601 lines: split it, 600 is the most"]);
    }

    #[test]
    fn blanks_at_line_ends_are_found() {
        let fault = "blanks at the end of the line";
        assert_eq!(found("a.md", "one \ntwo\t\nthree\r\n"), [1, 2, 3].map(|line| format!("{line}: {fault}")));
        assert_eq!(found("a.md", "one"), ["1: a file ends with one line break"]);
        assert_eq!(found("a.md", "one\n\n"), ["2: a file ends with one line break"]);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for start in MACHINE_PATHS {
            assert_eq!(found("a.md", &format!("see {start}x\n")), [format!("1: a path of one machine: `{start}`")]);
        }
        assert_eq!(found("a.md", concat!("see https://example.test/wo", "rk/x\n")), [""; 0]);
    }

    #[test]
    fn a_binary_is_small_and_names_no_metric() {
        let long = "//! x\n".repeat(40);
        assert_eq!(found("ksm-node/src/main.rs", &long), ["0: 40 lines: a binary stays under 40, move code to core"]);
        assert_eq!(
            found("ksm-node/src/main.rs", "//! Serves kube_pod_info.\n"),
            ["1: a binary names no metric: the family table of core does"]
        );
        assert_eq!(found("xtask/src/main.rs", &long), [""; 0]);
    }
}

//! `cargo xtask tidy`: the house rules as checks; they also run as one test of this crate.
//!
//! Invariant: each rule is a pure function over paths and texts, with a test that shows it failing on a planted fault.

mod code;
mod dependencies;
mod direction;
mod orphans;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::cargo;

/// Folders that hold nothing written by hand.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// Endings of the files that the text rules look at.
const ENDINGS: [&str; 9] = ["rs", "toml", "md", "yaml", "yml", "json", "sh", "mod", "proto"];

/// Texts of the workspace by path, relative to its root, with slashes.
type Files = BTreeMap<String, String>;

/// One broken rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    path: String,
    /// From 1; 0 means the whole file.
    line: usize,
    what: String,
}

impl Fault {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Runs the command.
pub fn run() -> Result<()> {
    let root = cargo::workspace_root();
    let files = read_files(&root)?;
    let mut faults = check(&files);
    faults.extend(dependencies::check()?);
    if faults.is_empty() {
        println!("tidy: {} files, no fault", files.len());
        return Ok(());
    }
    for fault in &faults {
        eprintln!("{fault}");
    }
    bail!("tidy: {} faults in {} files", faults.len(), files.len());
}

/// All rules that need only the texts.
fn check(files: &Files) -> Vec<Fault> {
    let mut faults: Vec<Fault> = files.iter().flat_map(|(path, text)| text::check(path, text)).collect();
    faults.extend(direction::check(files));
    faults.extend(orphans::check(files));
    faults.sort();
    faults
}

fn read_files(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        for entry in fs::read_dir(&path).with_context(|| format!("cannot list {}", path.display()))? {
            let entry = entry.with_context(|| format!("cannot list {}", path.display()))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let relative = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().with_context(|| format!("cannot look at {relative}"))?;
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                folders.push(relative);
            } else if kind.is_file() && is_checked(&relative) {
                let text = fs::read_to_string(entry.path());
                files.insert(relative.clone(), text.with_context(|| format!("cannot read {relative}"))?);
            }
        }
    }
    Ok(files)
}

fn is_checked(path: &str) -> bool {
    path == ".ci/run" || path.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        if let Err(error) = run() {
            panic!("{error:#}; `cargo xtask tidy` shows them");
        }
    }

    #[test]
    fn every_kind_of_rule_is_in_the_check() {
        let files = Files::from([
            ("ksm-core/src/lib.rs".to_owned(), "//! Core.\npub mod store;\n".to_owned()),
            ("ksm-core/src/store.rs".to_owned(), "//! Store.\nuse std::fs;\n".to_owned()),
            ("ksm-core/src/lost.rs".to_owned(), "fn lost() {}\n".to_owned()),
        ]);
        let shown: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "ksm-core/src/lost.rs: no `mod lost;` declares it, so it is never compiled",
                "ksm-core/src/lost.rs:1: a source file opens with `//!`: its purpose, then its invariant",
                "ksm-core/src/store.rs:2: pure modules have no IO, clock or environment: `std::fs`",
            ]
        );
    }
}

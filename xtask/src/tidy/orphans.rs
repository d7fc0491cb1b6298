//! The rule against orphans: source files that no `mod` declares are edited but never compiled.
//!
//! Invariant: pure; follows `mod name;` and `#[path = "…"]` from every crate root.

use std::collections::BTreeSet;

use super::{Fault, Files, code};

/// Files of `files` that no crate root reaches.
pub fn check(files: &Files) -> Vec<Fault> {
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = files.keys().filter(|path| is_crate_root(path)).cloned().collect();
    while let Some(path) = open.pop() {
        let Some(text) = files.get(&path) else { continue };
        if reached.insert(path.clone()) {
            open.extend(declared(&path, text));
        }
    }
    let sources = files.keys().filter(|path| path.ends_with(".rs") && !reached.contains(*path));
    sources
        .map(|path| {
            let file = path.rsplit('/').next().expect("split gives at least one piece");
            let name = if file == "mod.rs" { parent(parent_file(path)) } else { file.trim_end_matches(".rs") };
            Fault::new(path, 0, format!("no `mod {name};` declares it, so it is never compiled"))
        })
        .collect()
}

fn parent_file(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn parent(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Where cargo itself starts to compile: targets by convention.
fn is_crate_root(path: &str) -> bool {
    let pieces: Vec<&str> = path.split('/').collect();
    match pieces.as_slice() {
        [.., "src", "lib.rs" | "main.rs"] | [.., "src", "bin", _] | [_, "build.rs"] => true,
        [.., "src", "bin", _, "main.rs"] => true,
        [_, "tests" | "benches" | "examples", file] => file.ends_with(".rs"),
        [_, "tests" | "benches" | "examples", _, "main.rs"] => true,
        _ => false,
    }
}

/// Every path that the `mod` items of a file may stand for.
fn declared(path: &str, text: &str) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.trim_end_matches(".rs");
    let owns_folder = is_crate_root(path) || stem == "mod";
    let inner = if owns_folder { folder.to_owned() } else { format!("{folder}/{stem}") };

    let mut found = Vec::new();
    let mut path_attribute = None;
    for (raw, line) in text.lines().zip(code::without_comments_and_strings(text).lines()) {
        if line.trim_start().starts_with("#[path") {
            path_attribute = raw.split('"').nth(1).map(str::to_owned);
        }
        let Some(name) = module_declared_on(line) else { continue };
        match path_attribute.take() {
            Some(given) => found.push(normalised(&format!("{folder}/{given}"))),
            None => {
                found.push(format!("{inner}/{name}.rs"));
                found.push(format!("{inner}/{name}/mod.rs"));
            }
        }
    }
    found
}

/// The path without `..`.
fn normalised(path: &str) -> String {
    let mut pieces = Vec::new();
    for piece in path.split('/') {
        if piece == ".." {
            pieces.pop();
        } else {
            pieces.push(piece);
        }
    }
    pieces.join("/")
}

/// The name in `mod name;` with any visibility, also after an attribute on the same line.
fn module_declared_on(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("mod ")?;
    let standalone = before.is_empty() || before.ends_with([' ', ']']);
    let (name, _) = after.split_once(';')?;
    (standalone && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn orphans(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        check(&files).into_iter().map(|fault| fault.path).collect()
    }

    #[test]
    fn declared_files_are_reached() {
        let files = [
            (
                "a/src/lib.rs",
                "pub(crate) mod one;\n#[cfg(test)] mod tests;\nmod four;\n#[path = \"odd/name.rs\"]\nmod five;",
            ),
            ("a/src/one.rs", "mod two;\nmod inline { }"),
            ("a/src/one/two.rs", "#[cfg(test)]\nmod tests;"),
            ("a/src/one/two/tests.rs", ""),
            ("a/src/tests.rs", ""),
            ("a/src/four/mod.rs", "mod six;"),
            ("a/src/four/six.rs", ""),
            ("a/src/odd/name.rs", ""),
            ("a/src/bin/tool.rs", ""),
            ("a/tests/whole.rs", "mod support;"),
            ("a/tests/support/mod.rs", ""),
            ("a/build.rs", ""),
            ("b/tests/cli.rs", "#[path = \"../../a/tests/shared/program.rs\"]\nmod program;"),
            ("a/tests/shared/program.rs", ""),
        ];
        assert_eq!(orphans(&files), [""; 0]);
    }

    #[test]
    fn a_file_without_a_declaration_is_an_orphan() {
        let files = [
            ("a/src/lib.rs", "// mod gone;\nconst TEXT: &str = \"mod gone;\";\nmod one;"),
            ("a/src/one.rs", ""),
            ("a/src/gone.rs", "mod below;"),
            ("a/src/gone/below.rs", ""),
            ("a/src/two/one.rs", ""),
        ];
        assert_eq!(orphans(&files), ["a/src/gone.rs", "a/src/gone/below.rs", "a/src/two/one.rs"]);
    }
}

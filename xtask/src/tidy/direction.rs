//! The rule about module direction in `ksm-core`, and about what its pure part may touch.
//!
//! Invariant: no IO here. A module is pure unless `lib.rs` puts it under the `runtime` feature. Pure modules name no async
//! runtime, no network, no file, no clock and no environment, and use only modules of a lower rank.
//! Tests in files of their own are free to use what they like.

use std::collections::BTreeSet;

use super::{Fault, Files, code};

const LIB: &str = "ksm-core/src/lib.rs";

/// Modules by rank; each uses only those of a lower one. Modules not named here are helpers of rank 0: pure ones use
/// none of these, those of the runtime are free.
const RANKS: [(&str, u8); 11] = [
    ("view", 1),
    ("exposition", 1),
    ("family", 2),
    ("resource", 3),
    ("resources", 4),
    ("store", 5),
    ("shard", 5),
    ("watch", 6),
    ("autoshard", 7),
    ("serve", 7),
    ("run", 8),
];

/// Modules that only exist with the `runtime` feature.
const RUNTIME: [&str; 5] = ["autoshard", "options", "run", "serve", "watch"];

/// Crates that bring IO, time or an executor.
const IO_CRATES: [&str; 8] = ["tokio", "hyper", "hyper_util", "kube", "futures", "rustls", "reqwest", "async_std"];

/// Modules and types of the standard library that do.
const IO_STD: [&str; 7] = ["net", "fs", "env", "process", "thread", "SystemTime", "Instant"];

/// Parts of `std::net` that only read and write addresses.
const PURE_NET: [&str; 7] =
    ["AddrParseError", "IpAddr", "Ipv4Addr", "Ipv6Addr", "SocketAddr", "SocketAddrV4", "SocketAddrV6"];

/// Faults of all files of core.
pub fn check(files: &Files) -> Vec<Fault> {
    let Some(lib) = files.get(LIB) else { return Vec::new() };
    let runtime = runtime_modules(lib);
    let mut faults: Vec<Fault> = RUNTIME
        .iter()
        .filter(|name| declares(lib, name) && !runtime.contains(**name))
        .map(|name| Fault::new(LIB, 0, format!("`mod {name}` belongs under `#[cfg(feature = \"runtime\")]`")))
        .collect();
    for (path, text) in files {
        let Some(module) = top_module(path) else { continue };
        if !is_test(path) {
            faults.extend(check_file(path, module, text, &runtime));
        }
    }
    faults.sort();
    faults.dedup();
    faults
}

/// The first module below the crate root that a file of core belongs to.
fn top_module(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("ksm-core/src/")?;
    let first = rest.split('/').next()?;
    let module = first.strip_suffix(".rs").unwrap_or(first);
    (path.ends_with(".rs") && module != "lib").then_some(module)
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn declares(lib: &str, name: &str) -> bool {
    code::without_comments_and_strings(lib).lines().any(|line| line.trim_end().ends_with(&format!("mod {name};")))
}

/// Modules that `lib.rs` declares under the `runtime` feature.
fn runtime_modules(lib: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut gated = false;
    for line in lib.lines().map(str::trim) {
        gated |= line.starts_with("#[cfg(") && line.contains("feature = \"runtime\"");
        if let Some((_, name)) = line.strip_suffix(';').and_then(|item| item.rsplit_once("mod ")) {
            if gated {
                found.insert(name.to_owned());
            }
            gated = false;
        } else if !line.starts_with('#') && !line.starts_with("//") {
            gated = false;
        }
    }
    found
}

fn rank(module: &str) -> u8 {
    RANKS.iter().find(|(name, _)| *name == module).map_or(0, |(_, rank)| *rank)
}

fn check_file(path: &str, module: &str, text: &str, runtime: &BTreeSet<String>) -> Vec<Fault> {
    let stripped = code::without_comments_and_strings(text);
    let code = stripped.split("mod tests {").next().unwrap_or_default();
    let is_runtime = |module: &str| runtime.contains(module) || RUNTIME.contains(&module);
    let pure = !is_runtime(module);
    let mut faults = Vec::new();
    for Path { line, segments } in paths(code) {
        let segments = from_crate_root(path, segments);
        let (root, name) = (segments[0], segments[1]);
        let fault = if pure && IO_CRATES.contains(&root) {
            format!("pure modules know no `{root}`")
        } else if let (true, "std", Some(part)) = (pure, root, io_part(&segments)) {
            format!("pure modules have no IO, clock or environment: `std::{part}`")
        } else if root != "crate" || name == module {
            continue;
        } else if pure && is_runtime(name) {
            format!("`{module}` may not use `{name}`, which needs a runtime")
        } else if rank(name) > 0 && rank(name) >= rank(module) && (pure || rank(module) > 0) {
            format!("`{module}` may not use `{name}`: it lies above or beside it")
        } else {
            continue;
        };
        faults.push(Fault::new(path, line, fault));
    }
    faults
}

/// What a path of the standard library has to do with IO.
fn io_part<'a>(segments: &[&'a str]) -> Option<&'a str> {
    let at = segments.iter().position(|segment| IO_STD.contains(segment))?;
    let next = segments.get(at + 1);
    // Scoped threads end with the call that starts them; a builder tells when there is none to be had.
    let is_pure = match segments[at] {
        "net" => next.is_some_and(|name| PURE_NET.contains(name)),
        "thread" => matches!(next, Some(&"scope" | &"Builder")),
        _ => false,
    };
    (!is_pure).then_some(segments[at])
}

/// `super::…` that climbs out of the file's top module, written from `crate`.
fn from_crate_root<'a>(path: &str, segments: Vec<&'a str>) -> Vec<&'a str> {
    let depth = path.trim_end_matches("/mod.rs").matches('/').count() - 1;
    let climbs = segments.iter().take_while(|segment| **segment == "super").count();
    if climbs < depth || segments.len() < depth + 1 {
        return segments;
    }
    std::iter::once("crate").chain(segments[depth..].iter().copied()).collect()
}

/// A path in code, groups opened up: `std::{fs, io::Read}` is two of them.
struct Path<'a> {
    line: usize,
    segments: Vec<&'a str>,
}

/// Every path of at least two segments, in stripped code.
fn paths(code: &str) -> Vec<Path<'_>> {
    let mut found = Vec::new();
    // One entry for each open brace: the segments before a group, or nothing for a block.
    let mut braces: Vec<Option<Vec<&str>>> = Vec::new();
    let mut current = Path { line: 1, segments: Vec::new() };
    let mut after_colons = false;
    for (line, token) in tokens(code) {
        let is_word = token.starts_with(is_word_character);
        if token == "::" {
            after_colons = !current.segments.is_empty();
            continue;
        }
        if is_word && after_colons {
            current.segments.push(token);
            current.line = line;
        } else if token == "{" && after_colons {
            let prefix = std::mem::take(&mut current.segments);
            braces.push(Some(prefix));
        } else {
            let path = std::mem::replace(&mut current, Path { line, segments: Vec::new() });
            if path.segments.len() > 1 {
                found.push(path);
            }
            match token {
                "{" => braces.push(None),
                "}" => drop(braces.pop()),
                _ if is_word => current.segments.push(token),
                _ => {}
            }
        }
        // A member of a group starts with what stands before the group.
        after_colons = false;
        if let (Some(Some(prefix)), "{" | ",") = (braces.last(), token) {
            current.segments.clone_from(prefix);
            after_colons = true;
        }
    }
    found
}

/// Words, `::` and single other characters, with their lines.
fn tokens(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = code;
    let mut line = 1;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            let length = if is_word_character(first) {
                rest.find(|c: char| !is_word_character(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(length);
            rest = after;
            match first {
                '\n' => line += 1,
                _ if first.is_whitespace() => {}
                _ => return Some((line, token)),
            }
        }
    })
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB_TEXT: &str =
        "//! Core.\npub mod store;\nmod exposition;\n#[cfg(feature = \"runtime\")]\npub mod serve;\nmod quantity;\n";

    /// The faults of one file of core, as `line: what`.
    #[track_caller]
    fn found(module: &str, text: &str) -> Vec<String> {
        let path = format!("ksm-core/src/{module}.rs");
        let files = Files::from([(LIB.to_owned(), LIB_TEXT.to_owned()), (path, text.to_owned())]);
        check(&files).iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect()
    }

    #[test]
    fn lower_modules_and_pure_parts_of_std_are_fine() {
        let text = "use std::{fmt, collections::BTreeMap, net::{IpAddr, Ipv6Addr}, time::Duration};\nuse crate::resources::RESOURCES;\nuse crate::store::Block;\n// tokio::spawn\n";
        assert_eq!(found("store", text), [""; 0]);
        assert_eq!(found("quantity", "use crate::labels::Label;\n"), [""; 0]);
        assert_eq!(
            found("serve", "use std::net::IpAddr;\nuse tokio::net::TcpListener;\nuse crate::store::Store;\n"),
            [""; 0]
        );
        assert_eq!(found("options", "use crate::serve::Limits;\n"), [""; 0]);
        assert_eq!(found("store/tests", "use std::fs;\n"), [""; 0]);
    }

    #[test]
    fn io_is_found_in_every_spelling() {
        let fault =
            |line: usize, name: &str| format!("{line}: pure modules have no IO, clock or environment: `std::{name}`");
        assert_eq!(found("store", "use std::fs;\n"), [fault(1, "fs")]);
        assert_eq!(found("store", "use std::{fmt,\n    net::TcpStream};\n"), [fault(2, "net")]);
        assert_eq!(found("store", "use std::time::{Duration, Instant};\n"), [fault(1, "Instant")]);
        assert_eq!(found("store", "use std::{io, time::{Duration, SystemTime}};\n"), [fault(1, "SystemTime")]);
        assert_eq!(found("store", "use std::{io, time::Instant};\n"), [fault(1, "Instant")]);
        assert_eq!(found("store", "fn a() { std::env::var(\"x\"); }\n"), [fault(1, "env")]);
        assert_eq!(found("store", "fn a() { std::time::Instant::now(); }\n"), [fault(1, "Instant")]);
        assert_eq!(found("store", "fn a() { std::thread::spawn(b); }\n"), [fault(1, "thread")]);
        assert!(found("store", "fn a() { std::thread::scope(b); }\n").is_empty());
    }

    #[test]
    fn io_crates_are_found() {
        assert_eq!(found("shard", "//! x\nuse kube::Client;\n"), ["2: pure modules know no `kube`"]);
        assert_eq!(found("exposition", "fn a() { tokio::spawn(b()); }\n"), ["1: pure modules know no `tokio`"]);
    }

    #[test]
    fn upward_and_sideways_uses_are_found() {
        assert_eq!(
            found("exposition", "use crate::store::Block;\n"),
            ["1: `exposition` may not use `store`: it lies above or beside it"]
        );
        assert_eq!(found("family", "use crate::{exposition::Writer, resources};\n").len(), 1);
        assert_eq!(found("store", "use crate::shard::Share;\n").len(), 1);
        assert_eq!(found("store/block", "use super::super::shard::Share;\n").len(), 1);
        assert_eq!(found("store/block", "use super::index::Index;\n"), [""; 0]);
        assert_eq!(found("quantity", "use crate::family::Family;\n").len(), 1);
        assert_eq!(found("serve", "use crate::{run::Run, watch::Watch};\n").len(), 1);
        assert_eq!(found("store", "use crate::serve;\n"), ["1: `store` may not use `serve`, which needs a runtime"]);
    }

    #[test]
    fn runtime_modules_need_their_feature() {
        let files = Files::from([(
            LIB.to_owned(),
            "//! Core.\n#[cfg(feature = \"runtime\")]\nmod serve;\nmod watch;\n".to_owned(),
        )]);
        let shown: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["ksm-core/src/lib.rs: `mod watch` belongs under `#[cfg(feature = \"runtime\")]`"]);
    }
}

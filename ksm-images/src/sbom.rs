//! What is linked into a binary, as a CycloneDX bill of materials (<https://cyclonedx.org/docs/1.6/json/>).
//!
//! Invariant: has what `cargo tree` finds for that binary and platform, without macros, build scripts and tests, and the
//! two libraries that no manifest names. The same sources give the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::platform::Platform;
use crate::sources::{Sources, Stamp};

/// Between fields of what cargo is asked to print.
const SEPARATOR: char = '|';

/// A package that is linked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Package {
    name: String,
    version: String,
    license: String,
    repository: String,
    /// Whether it is of this workspace.
    own: bool,
}

/// Packages by their package URL, and what each uses.
#[derive(Default)]
struct Tree {
    packages: BTreeMap<String, Package>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

/// The bill of a binary. Of one that was `built_here` it is known which standard library and C library it has.
pub fn describe(name: &str, platform: Platform, stamp: &Stamp, built_here: bool) -> Result<Vec<u8>> {
    let mut command = Sources::own().cargo();
    command.args(["tree", "--locked", "--package", name, "--edges", "normal,no-proc-macro"]);
    command.args(["--target", platform.target(), "--prefix", "depth", "--format", "|{p}|{l}|{r}"]);
    let tree = parse(&output(command, "cargo tree")?)?;
    let system = if built_here { libraries(platform)?.into() } else { Vec::new() };
    Ok(serde_json::to_vec_pretty(&bill(name, platform, stamp, &tree, &system)?)?)
}

/// What is linked and named in no manifest.
fn libraries(platform: Platform) -> Result<[Package; 2]> {
    let known = [
        ("rust-std", rust_version()?, "MIT OR Apache-2.0", "https://github.com/rust-lang/rust"),
        ("glibc", glibc_version(platform)?, "LGPL-2.1-or-later", "https://sourceware.org/git/glibc.git"),
    ];
    Ok(known.map(|(name, version, license, repository)| Package {
        name: name.to_owned(),
        version,
        license: license.to_owned(),
        repository: repository.to_owned(),
        own: false,
    }))
}

/// Reads lines such as `2|clap_builder v4.6.7|MIT OR Apache-2.0|https://…`, whose number is the depth.
fn parse(text: &str) -> Result<Tree> {
    let mut tree = Tree::default();
    let mut above: Vec<String> = Vec::new();
    for line in text.lines() {
        let read = || -> Option<(usize, Package)> {
            let mut fields = line.split(SEPARATOR);
            let depth = fields.next()?.parse().ok()?;
            let mut words = fields.next()?.split_whitespace();
            let (name, version) = (words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned());
            // A package of the workspace is shown with its folder.
            let own = words.next().is_some_and(|word| word.starts_with("(/"));
            let license = fields.next()?.replace('/', " OR ");
            // A star at the end says that what it uses was shown before.
            let repository = fields.next()?.split_whitespace().next().filter(|word| *word != "(*)");
            Some((
                depth,
                Package { name, version, license, repository: repository.unwrap_or_default().to_owned(), own },
            ))
        };
        let (depth, package) = read().with_context(|| format!("cargo tree printed `{line}`"))?;
        let url = url(&package);
        above.truncate(depth);
        if let Some(user) = above.last() {
            tree.uses.entry(user.clone()).or_default().insert(url.clone());
        }
        above.push(url.clone());
        tree.packages.insert(url, package);
    }
    Ok(tree)
}

fn bill(name: &str, platform: Platform, stamp: &Stamp, tree: &Tree, system: &[Package]) -> Result<Value> {
    let (root, _) =
        tree.packages.iter().find(|(_, package)| package.name == name).context("cargo tree names the binary")?;
    let mut components: Vec<Value> = tree.packages.iter().filter(|(url, _)| *url != root).map(component).collect();
    components.extend(system.iter().map(|package| component((&url_of_system(package), package))));
    let mut dependencies = Vec::new();
    for url in tree.packages.keys() {
        let mut uses = tree.uses.get(url).cloned().unwrap_or_default();
        if url == root {
            uses.extend(system.iter().map(url_of_system));
        }
        dependencies.push(json!({"ref": url, "dependsOn": uses}));
    }
    dependencies.extend(system.iter().map(|package| json!({"ref": url_of_system(package), "dependsOn": []})));
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": stamp.date,
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": name,
                "version": stamp.version,
                "purl": root,
                "licenses": [{"expression": "Apache-2.0"}],
                "properties": [
                    {"name": "org.opencontainers.image.revision", "value": stamp.revision},
                    {"name": "platform", "value": format!("linux/{}", platform.architecture())},
                ],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn component((url, package): (&String, &Package)) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "purl": url,
        "scope": "required",
    });
    if !package.license.is_empty() {
        component["licenses"] = json!([{"expression": package.license}]);
    }
    if !package.repository.is_empty() {
        component["externalReferences"] = json!([{"type": "vcs", "url": package.repository}]);
    }
    component
}

/// Its package URL (<https://github.com/package-url/purl-spec>).
fn url(package: &Package) -> String {
    let kind = if package.own { "generic" } else { "cargo" };
    format!("pkg:{kind}/{}@{}", package.name, package.version)
}

fn url_of_system(package: &Package) -> String {
    format!("pkg:generic/{}@{}", package.name, package.version)
}

fn rust_version() -> Result<String> {
    let mut command = Command::new("rustc");
    command.arg("--version");
    let text = output(command, "rustc")?;
    Ok(text.split_whitespace().nth(1).context("rustc prints its version")?.to_owned())
}

/// The version of the C library, as its headers say.
fn glibc_version(platform: Platform) -> Result<String> {
    let mut command = Command::new(platform.linker());
    command.args(["-dM", "-E", "-include", "features.h", "-x", "c", "-"]).stdin(Stdio::null());
    version_in(&output(command, "the C compiler")?).context("the C compiler names no glibc")
}

fn version_in(macros: &str) -> Option<String> {
    let number = |name: &str| {
        let lines = macros.lines().filter_map(|line| line.strip_prefix("#define ")?.strip_prefix(name));
        lines.filter_map(|rest| rest.trim().parse::<u32>().ok()).next()
    };
    Some(format!("{}.{}", number("__GLIBC__ ")?, number("__GLIBC_MINOR__ ")?))
}

fn output(mut command: Command, what: &str) -> Result<String> {
    let output = command.stderr(Stdio::piped()).output().with_context(|| format!("cannot run {what}"))?;
    ensure!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "0|ksm-node v0.1.0 (/somewhere/ksm-node)|Apache-2.0|\n\
        1|clap v4.6.9|MIT/Apache-2.0|https://example.com/clap\n\
        2|strsim v0.11.1|MIT|\n\
        1|ksm-core v0.1.0 (/somewhere/ksm-core)|Apache-2.0|\n\
        2|clap v4.6.9|MIT/Apache-2.0|https://example.com/clap (*)\n";

    fn stamp() -> Stamp {
        Stamp { version: "0.1.0", revision: "abc".to_owned(), date: "2000-02-29T00:00:00Z".to_owned() }
    }

    #[test]
    fn a_tree_becomes_packages_and_what_they_use() {
        let tree = parse(TREE).unwrap();
        let names: Vec<&str> = tree.packages.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "pkg:cargo/clap@4.6.9",
                "pkg:cargo/strsim@0.11.1",
                "pkg:generic/ksm-core@0.1.0",
                "pkg:generic/ksm-node@0.1.0"
            ]
        );
        let clap = &tree.packages["pkg:cargo/clap@4.6.9"];
        assert_eq!(
            (clap.license.as_str(), clap.repository.as_str()),
            ("MIT OR Apache-2.0", "https://example.com/clap")
        );
        let uses = |name: &str| tree.uses[name].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(uses("pkg:generic/ksm-node@0.1.0"), ["pkg:cargo/clap@4.6.9", "pkg:generic/ksm-core@0.1.0"]);
        assert_eq!(uses("pkg:generic/ksm-core@0.1.0"), ["pkg:cargo/clap@4.6.9"]);
        assert_eq!(uses("pkg:cargo/clap@4.6.9"), ["pkg:cargo/strsim@0.11.1"]);
        assert!(parse("what is this\n").is_err());
    }

    #[test]
    fn every_reference_of_a_bill_is_to_a_component_of_it() {
        let glibc = Package { name: "glibc".to_owned(), version: "2.36".to_owned(), ..Package::default() };
        let bill = bill("ksm-node", Platform::Arm64, &stamp(), &parse(TREE).unwrap(), &[glibc]).unwrap();
        let mut known: BTreeSet<&str> =
            bill["components"].as_array().unwrap().iter().map(|entry| entry["bom-ref"].as_str().unwrap()).collect();
        assert!(known.contains("pkg:generic/glibc@2.36"));
        assert!(known.insert(bill["metadata"]["component"]["bom-ref"].as_str().unwrap()), "the binary comes once");
        for dependency in bill["dependencies"].as_array().unwrap() {
            assert!(known.contains(dependency["ref"].as_str().unwrap()), "{dependency}");
            for used in dependency["dependsOn"].as_array().unwrap() {
                assert!(known.contains(used.as_str().unwrap()), "{used}");
            }
        }
    }

    /// Asked of cargo itself: what only tests, macros and build scripts need is left out.
    #[test]
    fn the_bill_of_this_workspace_has_what_is_linked() {
        let describe = || describe("ksm-node", Platform::of_this_machine().unwrap(), &stamp(), true).unwrap();
        let bytes = describe();
        let bill: Value = serde_json::from_slice(&bytes).unwrap();
        let components = bill["components"].as_array().unwrap();
        let has = |name: &str| components.iter().any(|component| component["name"] == name);
        for linked in ["tokio", "kube-client", "ring", "ksm-core", "rust-std", "glibc"] {
            assert!(has(linked), "{linked} is missing");
        }
        for other in ["proptest", "cc", "syn", "serde_derive", "ksm-testbed", "ksm-node"] {
            assert!(!has(other), "{other} is in it");
        }
        assert_eq!(bytes, describe());
    }

    #[test]
    fn the_version_of_glibc_is_in_its_macros() {
        let macros = "#define __GLIBC_PREREQ(a,b) 1\n#define __GLIBC__ 2\n#define __GLIBC_MINOR__ 36\n";
        assert_eq!(version_in(macros).as_deref(), Some("2.36"));
        assert_eq!(version_in("#define __x86_64__ 1\n"), None);
    }
}

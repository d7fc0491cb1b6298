//! `cargo xtask docs`: writes `docs/metrics.md`, every resource and family, from the table of resources;
//! `docs/self-metrics.md`, what a process says of itself, from the table of self-metrics; and `docs/options.md`, every
//! option, from what the binaries say.
//!
//! Invariant: what is in the table is in the page, in its words; a family without a description is an error.

mod options;
mod self_metrics;

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use ksm_core::exposition::{Format, Kind};
use ksm_core::family::FamilyInfo;
use ksm_core::resource::{AnyResource, Fetch, Scope};
use ksm_core::resources;

use crate::cargo;
use crate::cli::DocsArgs;

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs` from the table of resources. -->

# Metrics

Every resource and every metric family of it, in the order in which a scrape has them.

- **Served**: by default, or only where `--resources` names the resource. **Read**: whole objects, or their metadata \
alone; a view keeps only the fields that metrics need, and no object is kept.
- **Type** is that of both formats unless a second one is given for OpenMetrics.
- **Labels** are on every sample, empty where the object says nothing, unless the meaning says otherwise. `label_*` and \
`annotation_*` are the keys that `--metric-labels-allowlist` and `--metric-annotations-allowlist` copy, in snake case; a \
family that has them has no sample while nothing is to be copied. Keys that end up equal get `_conflict1`, `_conflict2` …
- **Stability**: of a STABLE family the name, the type and the labels stay; an EXPERIMENTAL one may change at any release. \
*Opt-in* families are served only where `--metric-opt-in-list` matches their name.
- A field that is not set gives no sample; a plain count that the API leaves out is 0. Of two samples with the same labels \
the first one is written.
";

/// What the last word of a name says about the unit of the value.
const UNITS: [(&str, &str); 8] = [
    ("_bytes", "bytes"),
    ("_cores", "cores"),
    ("_created", UNIX_TIME),
    ("_deleted", UNIX_TIME),
    ("_seconds", "seconds"),
    ("_started", UNIX_TIME),
    ("_time", UNIX_TIME),
    ("_timestamp", UNIX_TIME),
];

const UNIX_TIME: &str = "seconds since the Unix epoch";

/// Runs the command.
pub fn run(arguments: &DocsArgs) -> Result<()> {
    if arguments.check {
        compare()?;
        self_metrics::compare()?;
        return options::compare();
    }
    options::write()?;
    self_metrics::write()?;
    let path = path();
    std::fs::write(&path, page(resources::all())?).with_context(|| format!("cannot write {}", path.display()))
}

fn path() -> PathBuf {
    cargo::workspace_root().join("docs/metrics.md")
}

fn compare() -> Result<()> {
    let path = path();
    let found = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if found != page(resources::all())? {
        bail!("{} is not what the table of resources says: run `cargo xtask docs`", path.display());
    }
    Ok(())
}

fn page(resources: &[&dyn AnyResource]) -> Result<String> {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n| resource | API | scope | served | families |\n|---|---|---|---|---|\n");
    for resource in resources {
        let descriptor = resource.descriptor();
        let _ = writeln!(
            text,
            "| [{plural}](#{plural}) | `{}` | {} | {} | {} |",
            api(*resource),
            scope(descriptor.scope),
            served(descriptor.enabled_by_default),
            resource.families().len(),
            plural = descriptor.plural,
        );
    }
    for resource in resources {
        section(*resource, &mut text)?;
    }
    Ok(text)
}

fn section(resource: &dyn AnyResource, text: &mut String) -> Result<()> {
    let descriptor = resource.descriptor();
    let read = match descriptor.fetch {
        Fetch::Whole => "whole objects are read",
        Fetch::MetadataOnly => "metadata alone is read",
    };
    let _ = write!(
        text,
        "\n## {}\n\n`{}` {}, {}; served {}; {read}.\n\n\
         | family | type | unit | labels | stability | meaning |\n|---|---|---|---|---|---|\n",
        descriptor.plural,
        api(resource),
        descriptor.kind,
        scope(descriptor.scope),
        served(descriptor.enabled_by_default),
    );
    for family in resource.families() {
        ensure!(!family.help.trim().is_empty(), "{} has no description", family.name);
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {}{} | {} |",
            family.name,
            kind(family.kind),
            unit(family.name).unwrap_or_default(),
            labels(resource, &family),
            family.stability.word(),
            if family.opt_in { ", opt-in" } else { "" },
            escape(family.help),
        );
    }
    Ok(())
}

/// Group and version, as in `apiVersion`.
fn api(resource: &dyn AnyResource) -> String {
    let descriptor = resource.descriptor();
    match descriptor.group {
        "" => descriptor.version.to_owned(),
        group => format!("{group}/{}", descriptor.version),
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Namespaced => "namespaced",
        Scope::Cluster => "cluster-scoped",
    }
}

fn served(by_default: bool) -> &'static str {
    if by_default { "by default" } else { "on request" }
}

fn kind(kind: Kind) -> String {
    match (kind.word(Format::Text), kind.word(Format::OpenMetrics)) {
        (text, openmetrics) if text == openmetrics => text.to_owned(),
        (text, openmetrics) => format!("{text} (OpenMetrics: {openmetrics})"),
    }
}

/// The unit that the name ends in, if it ends in one.
fn unit(name: &str) -> Option<&'static str> {
    UNITS.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, unit)| *unit)
}

/// Base labels, labels of the family, copied ones.
fn labels(resource: &dyn AnyResource, family: &FamilyInfo<'_>) -> String {
    let copied = match family.name.rsplit_once('_') {
        Some((_, "labels")) => Some("label_*"),
        Some((_, "annotations")) => Some("annotation_*"),
        Some((_, "metadata")) => Some("metadata_*"),
        Some((_, "nodeselectors")) => Some("nodeselector_*"),
        _ => None,
    };
    let names = resource.base_labels().into_iter().chain(family.labels.iter().copied()).chain(copied);
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Text as it stands in a cell of a table.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '|' | '<' | '*' | '_' | '`') {
            out.push('\\');
        }
        out.push(if character == '\n' { ' ' } else { character });
    }
    out
}

#[cfg(test)]
mod tests {
    use ksm_core::family::{Plan, Stability};
    use ksm_core::resource::{Descriptor, Rendered};
    use ksm_core::view::{DecodeError, Encoding, ObjectMeta};

    use super::*;

    struct Fake {
        help: &'static str,
    }

    impl AnyResource for Fake {
        fn descriptor(&self) -> Descriptor<'_> {
            Descriptor {
                plural: "gadgets",
                group: "example.test",
                version: "v2",
                kind: "Gadget",
                scope: Scope::Cluster,
                fetch: Fetch::MetadataOnly,
                enabled_by_default: false,
            }
        }

        fn families(&self) -> Vec<FamilyInfo<'_>> {
            let family = |name, kind, labels, opt_in| FamilyInfo {
                name,
                kind,
                stability: Stability::Experimental,
                opt_in,
                labels,
                help: self.help,
            };
            vec![
                family("kube_gadget_state", Kind::StateSet, &["state"][..], true),
                family("kube_gadget_labels", Kind::Gauge, &[], false),
                family("kube_gadget_size_bytes", Kind::Gauge, &[], false),
            ]
        }

        fn base_labels(&self) -> Vec<&str> {
            vec!["gadget"]
        }

        fn render(
            &self,
            _: Encoding,
            _: &[u8],
            _: &Plan,
            _: &mut dyn FnMut(&ObjectMeta) -> bool,
            _: &mut Rendered,
        ) -> Result<bool, DecodeError> {
            Ok(false)
        }
    }

    #[test]
    fn the_page_in_docs_is_what_the_table_of_resources_says() {
        compare().unwrap();
    }

    #[test]
    fn a_section_says_all_that_the_table_says() {
        let text = page(&[&Fake { help: "Half a | <gadget>." }]).unwrap();
        let (_, section) = text.split_once("\n## ").unwrap();
        assert_eq!(
            section,
            "gadgets\n\n`example.test/v2` Gadget, cluster-scoped; served on request; metadata alone is read.\n\n\
             | family | type | unit | labels | stability | meaning |\n|---|---|---|---|---|---|\n\
             | `kube_gadget_state` | gauge (OpenMetrics: stateset) |  | `gadget`, `state` | EXPERIMENTAL, opt-in | \
             Half a \\| \\<gadget>. |\n\
             | `kube_gadget_labels` | gauge |  | `gadget`, `label_*` | EXPERIMENTAL | Half a \\| \\<gadget>. |\n\
             | `kube_gadget_size_bytes` | gauge | bytes | `gadget` | EXPERIMENTAL | Half a \\| \\<gadget>. |\n"
        );
        assert!(
            text.contains("| [gadgets](#gadgets) | `example.test/v2` | cluster-scoped | on request | 3 |\n"),
            "{text}"
        );
    }

    #[test]
    fn a_family_without_a_description_is_refused() {
        let error = page(&[&Fake { help: " " }]).unwrap_err();
        assert_eq!(error.to_string(), "kube_gadget_state has no description");
    }
}

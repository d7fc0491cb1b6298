//! What values fields take by type and by path, and which fields are read by metrics.
//!
//! A path is the list of JSON keys from the object; lists and maps add none. Patterns are matched against its end
//! (words) or its start (fields that are read).

mod read;
mod text;
mod words;

use crate::codec::schema::{Form, Message};

pub(super) use text::{ODD, PERCENTAGES, PLAIN, QUANTITIES, SUFFIXES, TIMES};
pub(super) use words::{Row, WORDS};

/// Every list of keys, with the kind and path of a map that takes them.
#[cfg(test)]
pub(super) const KEYS: [(&str, &str, &[&str]); 5] = [
    ("Pod", "metadata.labels", text::KEYS),
    ("Node", "metadata.labels", text::NODE_KEYS),
    ("PersistentVolumeClaim", "metadata.annotations", text::CLAIM_KEYS),
    ("PersistentVolume", "spec.csi.volumeAttributes", text::ATTRIBUTE_KEYS),
    ("ResourceQuota", "status.hard", text::RESOURCE_NAMES),
];

/// Words for a text field.
pub(super) fn words(kind: &str, path: &[&str]) -> Option<&'static [&'static str]> {
    row(kind, path).map(|row| row.words)
}

/// The first row that fits a text field.
pub(super) fn row(kind: &str, path: &[&str]) -> Option<&'static Row> {
    WORDS.iter().find(|row| (row.kind == "*" || row.kind == kind) && ends_with(path, row.path))
}

/// Keys for a map, by what its values are and where it is.
pub(super) fn keys(kind: &str, path: &[&str], values: Option<&Message>) -> &'static [&'static str] {
    let last = path.last().copied().unwrap_or_default();
    match (kind, last) {
        _ if values.is_some_and(|message| message.form == Form::Quantity) => text::RESOURCE_NAMES,
        ("Node", "labels") => text::NODE_KEYS,
        ("PersistentVolumeClaim", "annotations") => text::CLAIM_KEYS,
        (_, "volumeAttributes") => text::ATTRIBUTE_KEYS,
        _ => text::KEYS,
    }
}

/// Maps that are copied into labels; they get more entries, so that keys collide.
pub(super) fn is_copied(path: &[&str]) -> bool {
    matches!(path, ["metadata", "labels" | "annotations"] | ["spec", "nodeSelector"] | ["status", "attachmentMetadata"])
}

/// Fields below which no family looks: present now and then, to be skipped by decoders.
pub(super) fn is_unread(path: &[&str]) -> bool {
    const PARTS: &[&str] = &[
        "affinity",
        "managedFields",
        "template",
        "jobTemplate",
        "volumeClaimTemplates",
        "securityContext",
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "env",
        "envFrom",
        "topologySpreadConstraints",
        "evictionRequests",
        "selector",
        "rules",
        "matchConstraints",
        "nodeAffinity",
    ];
    // Rules of an Ingress are read, and so is the template name of a claim.
    !matches!(path, ["spec", "rules", ..]) && path.iter().any(|key| PARTS.contains(key))
}

/// Whether families read the field at `path` followed by `key` (or at `path`, if `key` is empty), or lead to it.
pub(super) fn is_read(kind: &str, path: &[&str], key: &str) -> bool {
    let full = || path.iter().copied().chain((!key.is_empty()).then_some(key));
    let leads = |row: &&'static str| full().zip(row.split('.')).all(|(mine, read)| mine == read);
    read::READ.iter().filter(|(of, _)| *of == "*" || *of == kind).any(|(_, rows)| rows.iter().any(leads))
}

fn ends_with(path: &[&str], pattern: &str) -> bool {
    let keys = pattern.split('.').count();
    path.len() >= keys && path[path.len() - keys..].iter().copied().eq(pattern.split('.'))
}

/// The paths that families of a kind read, each with the kind or `*` that it is listed for.
#[cfg(test)]
pub(super) fn read(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = read::READ.iter().filter(move |(of, _)| *of == "*" || *of == kind);
    rows.flat_map(|(of, paths)| paths.iter().map(move |path| (*of, *path)))
}

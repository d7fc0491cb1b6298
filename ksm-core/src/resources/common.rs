//! Families and base labels that many resources share, made from one place.

use serde::Deserialize;

use crate::family::{Family, Samples, Stability, condition_statuses};
use crate::resource::BaseLabel;
use crate::view::Object;

/// Base label `namespace`.
pub(super) const fn namespace<V: Object>() -> BaseLabel<V> {
    BaseLabel { name: "namespace", value: |object| &object.metadata().namespace }
}

/// Base label with the object's name.
pub(super) const fn name<V: Object>(label: &'static str) -> BaseLabel<V> {
    BaseLabel { name: label, value: |object| &object.metadata().name }
}

/// Base label `uid`.
pub(super) const fn uid<V: Object>() -> BaseLabel<V> {
    BaseLabel { name: "uid", value: |object| &object.metadata().uid }
}

/// `*_created`: when the object was created.
pub(super) const fn created<V: Object>(name: &'static str, stability: Stability) -> Family<V> {
    Family::gauge(
        name,
        stability,
        &[],
        "When the object was created, in seconds since the Unix epoch.",
        |object, out| {
            out.time(object.metadata().creation_timestamp.as_ref());
        },
    )
}

/// `*_deletion_timestamp`: when an object that is being deleted is to be gone.
pub(super) const fn deletion_timestamp<V: Object>(name: &'static str, stability: Stability) -> Family<V> {
    Family::gauge(
        name,
        stability,
        &[],
        "When the object is to be gone, in seconds since the Unix epoch; only while it is being deleted.",
        |object, out| out.time(object.metadata().deletion_timestamp.as_ref()),
    )
}

/// `*_labels`: labels of the object that `--metric-labels-allowlist` names.
pub(super) const fn labels<V: Object>(name: &'static str, stability: Stability) -> Family<V> {
    Family::gauge(
        name,
        stability,
        &[],
        "Labels of the object, those that --metric-labels-allowlist names; always 1.",
        |object, out| out.copied_object_labels(&object.metadata().labels),
    )
}

/// `*_annotations`: annotations of the object that `--metric-annotations-allowlist` names.
pub(super) const fn annotations<V: Object>(name: &'static str, stability: Stability) -> Family<V> {
    Family::gauge(
        name,
        stability,
        &[],
        "Annotations of the object, those that --metric-annotations-allowlist names; always 1.",
        |object, out| out.copied_annotations(&object.metadata().annotations),
    )
}

/// `*_info` without labels of its own: that the object exists.
pub(super) const fn exists<V: Object>(name: &'static str, stability: Stability) -> Family<V> {
    Family::gauge(name, stability, &[], "That the object exists; always 1.", |_, out| out.value(1))
}

/// `*_metadata_generation`: which generation of the desired state the object has.
pub(super) const fn generation<V: Object>(name: &'static str, stability: Stability) -> Family<V> {
    Family::gauge(
        name,
        stability,
        &[],
        "Generation of the desired state; it grows with every change of the spec.",
        |object, out| out.value(object.metadata().generation),
    )
}

/// `*_metadata_resource_version`: the object's resource version, where it is a number.
pub(super) const fn resource_version<V: Object>(name: &'static str, stability: Stability) -> Family<V> {
    Family::gauge(
        name,
        stability,
        &[],
        "Resource version of the object as a number; good only for seeing changes.",
        |object, out| {
            out.optional(object.metadata().resource_version.parse::<f64>().ok());
        },
    )
}

/// `*_owner` with the controller flag: one sample an owner, one of empty labels where there is none.
pub(super) const fn owner<V: Object>(name: &'static str, stability: Stability) -> Family<V> {
    Family::gauge(
        name,
        stability,
        &["owner_kind", "owner_name", "owner_is_controller"],
        "Owners of the object, one sample each, empty labels where it has none; always 1.",
        owners_with_controller,
    )
}

fn owners_with_controller<V: Object>(object: &V, out: &mut Samples<'_>) {
    let owners = &object.metadata().owner_references;
    if owners.is_empty() {
        out.sample(&["", "", ""], 1);
    }
    for owner in owners {
        let is_controller = if owner.controller == Some(true) { "true" } else { "false" };
        out.sample(&[&owner.kind, &owner.name, is_controller], 1);
    }
}

/// A condition as most statuses carry it: the fields `*_status_condition` families read.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Condition {
    /// What it says something about.
    #[prost(string, tag = "1")]
    pub(super) r#type: String,
    /// `True`, `False` or `Unknown`.
    #[prost(string, tag = "2")]
    pub(super) status: String,
}

/// Samples of a family with the labels `condition` and `status`: three a condition, 1 for the status it has.
pub(super) fn conditions(conditions: &[Condition], out: &mut Samples<'_>) {
    for condition in conditions {
        for (status, holds) in condition_statuses(&condition.status) {
            out.sample(&[&condition.r#type, status], holds);
        }
    }
}

/// Samples of a family with the label `access_mode`: one for each way to mount a volume.
pub(super) fn access_modes(access_modes: &[String], out: &mut Samples<'_>) {
    for access_mode in access_modes {
        out.sample(&[access_mode], 1);
    }
}

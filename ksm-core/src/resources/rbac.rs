//! What roles' bindings share: one view, and the family that names the role granted.

use serde::Deserialize;

use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::view::{Object, ObjectMeta};

/// View of a RoleBinding or ClusterRoleBinding; the subjects are skipped.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Binding {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "3")]
    role_ref: RoleRef,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RoleRef {
    #[prost(string, tag = "2")]
    kind: String,
    #[prost(string, tag = "3")]
    name: String,
}

impl Object for Binding {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

/// `*_info` of a binding: kind and name of the role it grants.
pub(super) const fn role_ref(name: &'static str) -> Family<Binding> {
    Family::gauge(
        name,
        Experimental,
        &["roleref_kind", "roleref_name"],
        "Kind and name of the role that the binding grants; always 1.",
        |binding, out| out.sample(&[&binding.role_ref.kind, &binding.role_ref.name], 1),
    )
}

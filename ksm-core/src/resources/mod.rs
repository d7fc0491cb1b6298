//! The registry: every resource served, one file each.
//!
//! Everything else that needs the list (defaults, RBAC, docs, CLI help) is made from [`all`].

mod admission;
mod clusterrole;
mod clusterrolebinding;
mod common;
mod configmap;
mod daemonset;
mod deployment;
mod ingress;
mod ingressclass;
mod job;
mod mutatingadmissionpolicy;
mod mutatingadmissionpolicybinding;
mod mutatingwebhookconfiguration;
mod namespace;
mod networkpolicy;
mod node;
mod pod;
mod quantities;
mod rbac;
mod replicaset;
mod role;
mod rolebinding;
mod secret;
mod service;
mod serviceaccount;
mod statefulset;
mod validatingadmissionpolicy;
mod validatingadmissionpolicybinding;
mod validatingwebhookconfiguration;

#[cfg(test)]
mod testing;

use crate::resource::AnyResource;

/// Every resource, ordered by plural name, which is the order of the exposition.
pub fn all() -> &'static [&'static dyn AnyResource] {
    ALL
}

static ALL: &[&dyn AnyResource] = &[
    &clusterrolebinding::RESOURCE,
    &clusterrole::RESOURCE,
    &configmap::RESOURCE,
    &daemonset::RESOURCE,
    &deployment::RESOURCE,
    &ingressclass::RESOURCE,
    &ingress::RESOURCE,
    &job::RESOURCE,
    &mutatingadmissionpolicy::RESOURCE,
    &mutatingadmissionpolicybinding::RESOURCE,
    &mutatingwebhookconfiguration::RESOURCE,
    &namespace::RESOURCE,
    &networkpolicy::RESOURCE,
    &node::RESOURCE,
    &pod::RESOURCE,
    &replicaset::RESOURCE,
    &rolebinding::RESOURCE,
    &role::RESOURCE,
    &secret::RESOURCE,
    &serviceaccount::RESOURCE,
    &service::RESOURCE,
    &statefulset::RESOURCE,
    &validatingadmissionpolicy::RESOURCE,
    &validatingadmissionpolicybinding::RESOURCE,
    &validatingwebhookconfiguration::RESOURCE,
];

/// The resource of that plural name.
pub fn find(plural: &str) -> Option<&'static dyn AnyResource> {
    all().iter().copied().find(|resource| resource.descriptor().plural == plural)
}

#[cfg(test)]
mod tests;

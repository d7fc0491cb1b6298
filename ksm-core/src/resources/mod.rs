//! The registry: every resource served, one file each.
//!
//! Everything else that needs the list (defaults, RBAC, docs, CLI help) is made from [`all`].

mod common;
mod configmap;
mod daemonset;
mod deployment;
mod job;
mod namespace;
mod node;
mod pod;
mod quantities;
mod replicaset;
mod secret;
mod service;
mod statefulset;

#[cfg(test)]
mod testing;

use crate::resource::AnyResource;

/// Every resource, ordered by plural name, which is the order of the exposition.
pub fn all() -> &'static [&'static dyn AnyResource] {
    ALL
}

static ALL: &[&dyn AnyResource] = &[
    &configmap::RESOURCE,
    &daemonset::RESOURCE,
    &deployment::RESOURCE,
    &job::RESOURCE,
    &namespace::RESOURCE,
    &node::RESOURCE,
    &pod::RESOURCE,
    &replicaset::RESOURCE,
    &secret::RESOURCE,
    &service::RESOURCE,
    &statefulset::RESOURCE,
];

/// The resource of that plural name.
pub fn find(plural: &str) -> Option<&'static dyn AnyResource> {
    all().iter().copied().find(|resource| resource.descriptor().plural == plural)
}

#[cfg(test)]
mod tests;

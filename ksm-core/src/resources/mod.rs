//! The registry: every resource served, one file each.
//!
//! Everything else that needs the list (defaults, RBAC, docs, CLI help) is made from [`all`].

mod certificatesigningrequest;
mod common;
mod configmap;
mod cronjob;
mod daemonset;
mod deployment;
mod endpoints;
mod endpointslice;
mod horizontalpodautoscaler;
mod job;
mod lease;
mod limitrange;
mod namespace;
mod node;
mod persistentvolume;
mod persistentvolumeclaim;
mod pod;
mod poddisruptionbudget;
mod quantities;
mod replicaset;
mod replicationcontroller;
mod resourcequota;
mod secret;
mod service;
mod statefulset;
mod storageclass;
mod volumeattachment;

#[cfg(test)]
mod testing;

use crate::resource::AnyResource;

/// Every resource, ordered by plural name, which is the order of the exposition.
pub fn all() -> &'static [&'static dyn AnyResource] {
    ALL
}

static ALL: &[&dyn AnyResource] = &[
    &certificatesigningrequest::RESOURCE,
    &configmap::RESOURCE,
    &cronjob::RESOURCE,
    &daemonset::RESOURCE,
    &deployment::RESOURCE,
    &endpoints::RESOURCE,
    &endpointslice::RESOURCE,
    &horizontalpodautoscaler::RESOURCE,
    &job::RESOURCE,
    &lease::RESOURCE,
    &limitrange::RESOURCE,
    &namespace::RESOURCE,
    &node::RESOURCE,
    &persistentvolumeclaim::RESOURCE,
    &persistentvolume::RESOURCE,
    &poddisruptionbudget::RESOURCE,
    &pod::RESOURCE,
    &replicaset::RESOURCE,
    &replicationcontroller::RESOURCE,
    &resourcequota::RESOURCE,
    &secret::RESOURCE,
    &service::RESOURCE,
    &statefulset::RESOURCE,
    &storageclass::RESOURCE,
    &volumeattachment::RESOURCE,
];

/// The resource of that plural name.
pub fn find(plural: &str) -> Option<&'static dyn AnyResource> {
    all().iter().copied().find(|resource| resource.descriptor().plural == plural)
}

#[cfg(test)]
mod tests;

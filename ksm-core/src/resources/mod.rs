//! The registry: every resource served, one file each.
//!
//! Everything else that needs the list (defaults, RBAC, docs, CLI help) is made from [`all`].

mod admission;
mod certificatesigningrequest;
mod clusterrole;
mod clusterrolebinding;
mod common;
mod configmap;
mod cronjob;
mod daemonset;
mod deployment;
mod endpoints;
mod endpointslice;
mod horizontalpodautoscaler;
mod ingress;
mod ingressclass;
mod job;
mod lease;
mod limitrange;
mod mutatingadmissionpolicy;
mod mutatingadmissionpolicybinding;
mod mutatingwebhookconfiguration;
mod namespace;
mod networkpolicy;
mod node;
mod persistentvolume;
mod persistentvolumeclaim;
mod pod;
mod poddisruptionbudget;
mod quantities;
mod rbac;
mod replicaset;
mod replicationcontroller;
mod resourcequota;
mod role;
mod rolebinding;
mod secret;
mod service;
mod serviceaccount;
mod statefulset;
mod storageclass;
mod validatingadmissionpolicy;
mod validatingadmissionpolicybinding;
mod validatingwebhookconfiguration;
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
    &clusterrolebinding::RESOURCE,
    &clusterrole::RESOURCE,
    &configmap::RESOURCE,
    &cronjob::RESOURCE,
    &daemonset::RESOURCE,
    &deployment::RESOURCE,
    &endpoints::RESOURCE,
    &endpointslice::RESOURCE,
    &horizontalpodautoscaler::RESOURCE,
    &ingressclass::RESOURCE,
    &ingress::RESOURCE,
    &job::RESOURCE,
    &lease::RESOURCE,
    &limitrange::RESOURCE,
    &mutatingadmissionpolicy::RESOURCE,
    &mutatingadmissionpolicybinding::RESOURCE,
    &mutatingwebhookconfiguration::RESOURCE,
    &namespace::RESOURCE,
    &networkpolicy::RESOURCE,
    &node::RESOURCE,
    &persistentvolumeclaim::RESOURCE,
    &persistentvolume::RESOURCE,
    &poddisruptionbudget::RESOURCE,
    &pod::RESOURCE,
    &replicaset::RESOURCE,
    &replicationcontroller::RESOURCE,
    &resourcequota::RESOURCE,
    &rolebinding::RESOURCE,
    &role::RESOURCE,
    &secret::RESOURCE,
    &serviceaccount::RESOURCE,
    &service::RESOURCE,
    &statefulset::RESOURCE,
    &storageclass::RESOURCE,
    &validatingadmissionpolicy::RESOURCE,
    &validatingadmissionpolicybinding::RESOURCE,
    &validatingwebhookconfiguration::RESOURCE,
    &volumeattachment::RESOURCE,
];

/// Pods, for programs that serve nothing else: they need not contain the rest.
pub fn pods() -> &'static [&'static dyn AnyResource] {
    PODS
}

static PODS: &[&dyn AnyResource] = &[&pod::RESOURCE];

/// Plural names of [`all`], for programs that do not contain them all.
pub const PLURALS: [&str; 39] = [
    "certificatesigningrequests",
    "clusterrolebindings",
    "clusterroles",
    "configmaps",
    "cronjobs",
    "daemonsets",
    "deployments",
    "endpoints",
    "endpointslices",
    "horizontalpodautoscalers",
    "ingressclasses",
    "ingresses",
    "jobs",
    "leases",
    "limitranges",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "namespaces",
    "networkpolicies",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "poddisruptionbudgets",
    "pods",
    "replicasets",
    "replicationcontrollers",
    "resourcequotas",
    "rolebindings",
    "roles",
    "secrets",
    "serviceaccounts",
    "services",
    "statefulsets",
    "storageclasses",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
    "volumeattachments",
];

/// The resource of that plural name.
pub fn find(plural: &str) -> Option<&'static dyn AnyResource> {
    all().iter().copied().find(|resource| resource.descriptor().plural == plural)
}

#[cfg(test)]
mod tests;

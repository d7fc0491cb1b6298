//! MutatingWebhookConfigurations (`admissionregistration.k8s.io/v1`): families
//! `kube_mutatingwebhookconfiguration_*`. Decodes metadata and each webhook's Service.

use super::admission::{self, WebhookConfiguration};
use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};

pub(crate) static RESOURCE: Resource<WebhookConfiguration> = Resource {
    descriptor: Descriptor {
        plural: "mutatingwebhookconfigurations",
        group: admission::GROUP,
        version: "v1",
        kind: "MutatingWebhookConfiguration",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("mutatingwebhookconfiguration")],
    families: FAMILIES,
};

const FAMILIES: &[Family<WebhookConfiguration>] = &[
    common::exists("kube_mutatingwebhookconfiguration_info", Experimental),
    common::created("kube_mutatingwebhookconfiguration_created", Experimental),
    common::resource_version("kube_mutatingwebhookconfiguration_metadata_resource_version", Experimental),
    admission::webhook_services("kube_mutatingwebhookconfiguration_webhook_clientconfig_service"),
];

#[cfg(test)]
mod tests;

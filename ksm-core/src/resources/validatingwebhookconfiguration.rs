//! ValidatingWebhookConfigurations (`admissionregistration.k8s.io/v1`): families
//! `kube_validatingwebhookconfiguration_*`. Decodes metadata and each webhook's Service.

use super::admission::{self, WebhookConfiguration};
use super::common;
use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::resource::{Descriptor, Fetch, Resource, Scope};

pub(crate) static RESOURCE: Resource<WebhookConfiguration> = Resource {
    descriptor: Descriptor {
        plural: "validatingwebhookconfigurations",
        group: admission::GROUP,
        version: "v1",
        kind: "ValidatingWebhookConfiguration",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("validatingwebhookconfiguration")],
    families: FAMILIES,
};

const FAMILIES: &[Family<WebhookConfiguration>] = &[
    common::exists("kube_validatingwebhookconfiguration_info", Experimental),
    common::created("kube_validatingwebhookconfiguration_created", Experimental),
    common::resource_version("kube_validatingwebhookconfiguration_metadata_resource_version", Experimental),
    admission::webhook_services("kube_validatingwebhookconfiguration_webhook_clientconfig_service"),
];

#[cfg(test)]
mod tests;

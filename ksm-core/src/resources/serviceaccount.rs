//! ServiceAccounts (core `v1`): families `kube_serviceaccount_*`. Decodes metadata, the names of secrets and whether
//! pods get a token.
//!
//! Every family also has the label `uid`: a ServiceAccount made anew under the same name is another one.

use serde::Deserialize;

use super::common;
use crate::family::Stability::Experimental;
use crate::family::{Family, Samples};
use crate::resource::{Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<ServiceAccount> = Resource {
    descriptor: Descriptor {
        plural: "serviceaccounts",
        group: "",
        version: "v1",
        kind: "ServiceAccount",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: false,
    },
    base_labels: &[common::namespace(), common::name("serviceaccount"), common::uid()],
    families: FAMILIES,
};

const FAMILIES: &[Family<ServiceAccount>] = &[
    Family::gauge(
        "kube_serviceaccount_info",
        Experimental,
        &["automount_token"],
        "Whether pods of the ServiceAccount are to get its token, empty where it does not say; always 1.",
        |account, out| {
            let automount = match account.automount_service_account_token {
                Some(true) => "true",
                Some(false) => "false",
                None => "",
            };
            out.sample(&[automount], 1);
        },
    ),
    common::created("kube_serviceaccount_created", Experimental),
    common::deletion_timestamp("kube_serviceaccount_deleted", Experimental),
    Family::gauge(
        "kube_serviceaccount_secret",
        Experimental,
        &["name"],
        "Secrets that pods of the ServiceAccount may use, one sample each; always 1.",
        |account, out| names(account.secrets.iter().map(|secret| &secret.name), out),
    ),
    Family::gauge(
        "kube_serviceaccount_image_pull_secret",
        Experimental,
        &["name"],
        "Secrets that images of the ServiceAccount's pods are pulled with, one sample each; always 1.",
        |account, out| names(account.image_pull_secrets.iter().map(|secret| &secret.name), out),
    ),
    common::annotations("kube_serviceaccount_annotations", Experimental),
    common::labels("kube_serviceaccount_labels", Experimental),
];

/// View of a ServiceAccount.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ServiceAccount {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    secrets: Vec<ObjectReference>,
    #[prost(message, repeated, tag = "3")]
    image_pull_secrets: Vec<LocalObjectReference>,
    #[prost(bool, optional, tag = "4")]
    automount_service_account_token: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectReference {
    #[prost(string, tag = "3")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LocalObjectReference {
    #[prost(string, tag = "1")]
    name: String,
}

impl Object for ServiceAccount {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

fn names<'a>(names: impl Iterator<Item = &'a String>, out: &mut Samples<'_>) {
    for name in names {
        out.sample(&[name], 1);
    }
}

#[cfg(test)]
mod tests;

//! CertificateSigningRequests (`certificates.k8s.io/v1`): families `kube_certificatesigningrequest_*`. Decodes metadata,
//! the signer's name, the types of conditions and the issued certificate, of which only the length is exported.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, de};

use super::common;
use crate::family::Family;
use crate::family::Stability::{Experimental, Stable};
use crate::resource::{BaseLabel, Descriptor, Fetch, Resource, Scope};
use crate::view::{Object, ObjectMeta};

pub(crate) static RESOURCE: Resource<CertificateSigningRequest> = Resource {
    descriptor: Descriptor {
        plural: "certificatesigningrequests",
        group: "certificates.k8s.io",
        version: "v1",
        kind: "CertificateSigningRequest",
        scope: Scope::Cluster,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[
        common::name("certificatesigningrequest"),
        BaseLabel { name: "signer_name", value: |request| &request.spec.signer_name },
    ],
    families: FAMILIES,
};

const FAMILIES: &[Family<CertificateSigningRequest>] = &[
    common::annotations("kube_certificatesigningrequest_annotations", Experimental),
    common::labels("kube_certificatesigningrequest_labels", Stable),
    common::created("kube_certificatesigningrequest_created", Stable),
    Family::gauge(
        "kube_certificatesigningrequest_condition",
        Stable,
        &["condition"],
        "How many conditions of each known type the request has.",
        |request, out| {
            for (word, r#type) in [("approved", "Approved"), ("denied", "Denied"), ("failed", "Failed")] {
                out.sample(&[word], request.status.conditions.iter().filter(|c| c.r#type == r#type).count());
            }
        },
    ),
    Family::gauge(
        "kube_certificatesigningrequest_cert_length",
        Stable,
        &[],
        "Length of the issued certificate in bytes, 0 before it is issued.",
        |request, out| out.value(request.status.certificate.len()),
    ),
];

/// View of a CertificateSigningRequest.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CertificateSigningRequest {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: Spec,
    #[prost(message, required, tag = "3")]
    status: Status,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[prost(string, tag = "7")]
    signer_name: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(message, repeated, tag = "1")]
    conditions: Vec<Condition>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "base64_text")]
    certificate: Vec<u8>,
}

/// Its status is not read: one of these types counts once it is there.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condition {
    #[prost(string, tag = "1")]
    r#type: String,
}

impl Object for CertificateSigningRequest {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

/// Bytes as JSON carries them; line breaks in the text do not count.
fn base64_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let mut text = String::deserialize(deserializer)?;
    text.retain(|c| c != '\r' && c != '\n');
    STANDARD.decode(text).map_err(|_| de::Error::custom("bytes must be in base64"))
}

#[cfg(test)]
mod tests;

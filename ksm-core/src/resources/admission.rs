//! What admission webhooks and policies share: views of configurations, bindings and parameters, and their families.
//!
//! These objects belong to the whole cluster; their families carry an empty label `namespace` all the same, as they
//! always have.

use serde::Deserialize;

use crate::family::Family;
use crate::family::Stability::Experimental;
use crate::view::{Object, ObjectMeta};

/// API group of all of them.
pub(super) const GROUP: &str = "admissionregistration.k8s.io";

/// View of a MutatingWebhookConfiguration or ValidatingWebhookConfiguration: metadata and each webhook's Service.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WebhookConfiguration {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    webhooks: Vec<Webhook>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Webhook {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, required, tag = "2")]
    client_config: ClientConfig,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClientConfig {
    /// Unset for a webhook that is reached by its URL.
    #[prost(message, optional, tag = "1")]
    service: Option<ServiceReference>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ServiceReference {
    #[prost(string, tag = "1")]
    namespace: String,
    #[prost(string, tag = "2")]
    name: String,
}

impl Object for WebhookConfiguration {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

/// `*_webhook_clientconfig_service`: one sample a webhook, empty Service labels for one that is reached by its URL.
pub(super) const fn webhook_services(name: &'static str) -> Family<WebhookConfiguration> {
    Family::gauge(
        name,
        Experimental,
        &["webhook_name", "service_name", "service_namespace"],
        "Service that the API server calls for each webhook, empty labels where it calls a URL; always 1.",
        |configuration, out| {
            for webhook in &configuration.webhooks {
                let service = webhook.client_config.service.as_ref();
                let (service_name, namespace) = service.map_or(("", ""), |service| (&service.name, &service.namespace));
                out.sample(&[&webhook.name, service_name, namespace], 1);
            }
        },
    )
}

/// Kind of the objects that hold a policy's parameters.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ParamKind {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

/// Group with version and kind of the parameters, empty for a policy without any.
pub(super) fn param_kind(kind: Option<&ParamKind>) -> [&str; 2] {
    kind.map_or(["", ""], |param| [&param.api_version, &param.kind])
}

/// View of a MutatingAdmissionPolicyBinding or ValidatingAdmissionPolicyBinding.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PolicyBinding {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    /// What is bound, and how.
    #[prost(message, required, tag = "2")]
    pub(super) spec: PolicyBindingSpec,
}

/// What a binding binds, and how.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PolicyBindingSpec {
    #[prost(string, tag = "1")]
    policy_name: String,
    #[prost(message, optional, tag = "2")]
    param_ref: Option<ParamRef>,
    /// What becomes of requests that fail validation; only validating bindings have it.
    #[prost(string, repeated, tag = "4")]
    pub(super) validation_actions: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ParamRef {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    namespace: String,
    #[prost(string, tag = "4")]
    parameter_not_found_action: String,
}

impl Object for PolicyBinding {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}

/// `*_info` of a binding: the policy and where its parameters are.
pub(super) const fn binding_info(name: &'static str) -> Family<PolicyBinding> {
    Family::gauge(
        name,
        Experimental,
        &["policy_name", "param_name", "param_namespace", "param_not_found_action"],
        "Policy that is bound, the object with its parameters, and what holds if there is none; always 1.",
        |binding, out| {
            let (policy, param) = (&binding.spec.policy_name, binding.spec.param_ref.as_ref());
            let [name, namespace, action] =
                param.map_or(["", "", ""], |param| [&param.name, &param.namespace, &param.parameter_not_found_action]);
            out.sample(&[policy, name, namespace, action], 1);
        },
    )
}

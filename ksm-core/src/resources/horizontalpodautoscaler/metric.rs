//! The metrics of an autoscaler: five types, each with a source of its own.
//!
//! Invariant: the type says which source counts; an entry without that source, or of a type not known here, is skipped
//! (<https://github.com/kubernetes/kube-state-metrics/issues/2991>).

use serde::Deserialize;

use crate::view::Quantity;

/// Where one metric is to be, or is.
pub(super) struct Reading<'a> {
    pub(super) name: &'a str,
    /// Empty for all types but `ContainerResource`.
    pub(super) container: &'a str,
    pub(super) value: Option<&'a Quantity>,
    pub(super) average: Option<&'a Quantity>,
    /// In percent of what the pods request.
    pub(super) utilization: Option<i32>,
}

/// A metric to scale by.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct MetricSpec {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(message, optional, tag = "2")]
    object: Option<ObjectSpec>,
    #[prost(message, optional, tag = "3")]
    pods: Option<NamedSpec>,
    #[prost(message, optional, tag = "4")]
    resource: Option<ResourceSpec>,
    #[prost(message, optional, tag = "5")]
    external: Option<NamedSpec>,
    #[prost(message, optional, tag = "7")]
    container_resource: Option<ResourceSpec>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectSpec {
    #[prost(message, required, tag = "2")]
    target: Target,
    #[prost(message, required, tag = "3")]
    metric: Identifier,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NamedSpec {
    #[prost(message, required, tag = "1")]
    metric: Identifier,
    #[prost(message, required, tag = "2")]
    target: Target,
}

/// A resource of pods, or of one of their containers.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceSpec {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, required, tag = "2")]
    target: Target,
    #[prost(string, tag = "3")]
    container: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Target {
    #[prost(message, optional, tag = "2")]
    value: Option<Quantity>,
    #[prost(message, optional, tag = "3")]
    average_value: Option<Quantity>,
    #[prost(int32, optional, tag = "4")]
    average_utilization: Option<i32>,
}

/// A metric that is not a resource; its selector is not read.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Identifier {
    #[prost(string, tag = "1")]
    name: String,
}

impl MetricSpec {
    /// Where the metric is to be.
    pub(super) fn target(&self) -> Option<Reading<'_>> {
        match self.r#type.as_str() {
            "Object" => self.object.as_ref().map(|source| source.target.of(&source.metric.name, "")),
            "Pods" => self.pods.as_ref().map(NamedSpec::reading),
            "External" => self.external.as_ref().map(NamedSpec::reading),
            "Resource" => self.resource.as_ref().map(ResourceSpec::reading),
            "ContainerResource" => self.container_resource.as_ref().map(ResourceSpec::reading),
            _ => None,
        }
    }
}

impl NamedSpec {
    fn reading(&self) -> Reading<'_> {
        self.target.of(&self.metric.name, "")
    }
}

impl ResourceSpec {
    fn reading(&self) -> Reading<'_> {
        self.target.of(&self.name, &self.container)
    }
}

impl Target {
    fn of<'a>(&'a self, name: &'a str, container: &'a str) -> Reading<'a> {
        let (value, average) = (self.value.as_ref(), self.average_value.as_ref());
        Reading { name, container, value, average, utilization: self.average_utilization }
    }
}

/// A metric as it was last seen.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct MetricStatus {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(message, optional, tag = "2")]
    object: Option<NamedStatus>,
    #[prost(message, optional, tag = "3")]
    pods: Option<NamedStatus>,
    #[prost(message, optional, tag = "4")]
    resource: Option<ResourceStatus>,
    #[prost(message, optional, tag = "5")]
    external: Option<NamedStatus>,
    #[prost(message, optional, tag = "7")]
    container_resource: Option<ResourceStatus>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NamedStatus {
    #[prost(message, required, tag = "1")]
    metric: Identifier,
    #[prost(message, required, tag = "2")]
    current: Current,
}

/// A resource of pods, or of one of their containers.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceStatus {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, required, tag = "2")]
    current: Current,
    #[prost(string, tag = "3")]
    container: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Current {
    #[prost(message, optional, tag = "1")]
    value: Option<Quantity>,
    #[prost(message, optional, tag = "2")]
    average_value: Option<Quantity>,
    #[prost(int32, optional, tag = "3")]
    average_utilization: Option<i32>,
}

impl MetricStatus {
    /// Where the metric is.
    pub(super) fn current(&self) -> Option<Reading<'_>> {
        match self.r#type.as_str() {
            "Object" => self.object.as_ref().map(NamedStatus::reading),
            "Pods" => self.pods.as_ref().map(NamedStatus::reading),
            "External" => self.external.as_ref().map(NamedStatus::reading),
            "Resource" => self.resource.as_ref().map(ResourceStatus::reading),
            "ContainerResource" => self.container_resource.as_ref().map(ResourceStatus::reading),
            _ => None,
        }
    }
}

impl NamedStatus {
    fn reading(&self) -> Reading<'_> {
        self.current.of(&self.metric.name, "")
    }
}

impl ResourceStatus {
    fn reading(&self) -> Reading<'_> {
        self.current.of(&self.name, &self.container)
    }
}

impl Current {
    fn of<'a>(&'a self, name: &'a str, container: &'a str) -> Reading<'a> {
        let (value, average) = (self.value.as_ref(), self.average_value.as_ref());
        Reading { name, container, value, average, utilization: self.average_utilization }
    }
}

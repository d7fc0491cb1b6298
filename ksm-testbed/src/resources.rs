//! The resources served: one table row each. Discovery, routing, storage and field selectors follow it.
//!
//! Field labels are those that kube-apiserver 1.37 accepts for the kind (`AddFieldLabelConversionFunc` in its sources);
//! `metadata.name`, and for namespaced kinds `metadata.namespace`, go without saying.

use std::sync::OnceLock;

use crate::codec::schema::{self, Message};

/// One kind of object and the path it is served under.
#[derive(Debug)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version within the group.
    pub version: &'static str,
    /// Plural name, as in paths.
    pub plural: &'static str,
    /// Kind in objects.
    pub kind: &'static str,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    pub(crate) short: &'static [&'static str],
    package: &'static str,
    /// Field labels and the JSON path they stand for.
    fields: &'static [(&'static str, &'static str)],
    message: OnceLock<&'static Message>,
}

const CORE: &str = "k8s.io.api.core.v1";
const APPS: &str = "k8s.io.api.apps.v1";
const BATCH: &str = "k8s.io.api.batch.v1";
const AUTOSCALING: &str = "k8s.io.api.autoscaling.v2";
const NETWORKING: &str = "k8s.io.api.networking.v1";
const POLICY: &str = "k8s.io.api.policy.v1";
const CERTIFICATES: &str = "k8s.io.api.certificates.v1";
const COORDINATION: &str = "k8s.io.api.coordination.v1";
const DISCOVERY: &str = "k8s.io.api.discovery.v1";
const STORAGE: &str = "k8s.io.api.storage.v1";
const RBAC: &str = "k8s.io.api.rbac.v1";
const ADMISSION: &str = "k8s.io.api.admissionregistration.v1";
const EXTENSIONS: &str = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1";

const ADMISSION_GROUP: &str = "admissionregistration.k8s.io";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Every resource, in the order discovery lists them.
pub static RESOURCES: &[Resource] = &TABLE;

static TABLE: [Resource; 41] = [
    namespaced("", "v1", CORE, "configmaps", "ConfigMap", &["cm"]),
    namespaced("", "v1", CORE, "endpoints", "Endpoints", &["ep"]),
    namespaced("", "v1", CORE, "events", "Event", &["ev"]).fields(&[
        ("involvedObject.kind", "involvedObject.kind"),
        ("involvedObject.namespace", "involvedObject.namespace"),
        ("involvedObject.name", "involvedObject.name"),
        ("involvedObject.uid", "involvedObject.uid"),
        ("involvedObject.apiVersion", "involvedObject.apiVersion"),
        ("involvedObject.resourceVersion", "involvedObject.resourceVersion"),
        ("involvedObject.fieldPath", "involvedObject.fieldPath"),
        ("reason", "reason"),
        ("reportingComponent", "reportingComponent"),
        ("source", "source.component"),
        ("type", "type"),
    ]),
    namespaced("", "v1", CORE, "limitranges", "LimitRange", &["limits"]),
    cluster("", "v1", CORE, "namespaces", "Namespace", &["ns"]).fields(&[("status.phase", "status.phase")]),
    cluster("", "v1", CORE, "nodes", "Node", &["no"]).fields(&[("spec.unschedulable", "spec.unschedulable")]),
    namespaced("", "v1", CORE, "persistentvolumeclaims", "PersistentVolumeClaim", &["pvc"]),
    cluster("", "v1", CORE, "persistentvolumes", "PersistentVolume", &["pv"]),
    namespaced("", "v1", CORE, "pods", "Pod", &["po"]).fields(&[
        ("spec.nodeName", "spec.nodeName"),
        ("spec.host", "spec.nodeName"),
        ("spec.restartPolicy", "spec.restartPolicy"),
        ("spec.schedulerName", "spec.schedulerName"),
        ("spec.serviceAccountName", "spec.serviceAccountName"),
        ("spec.hostNetwork", "spec.hostNetwork"),
        ("status.phase", "status.phase"),
        ("status.podIP", "status.podIP"),
        ("status.nominatedNodeName", "status.nominatedNodeName"),
    ]),
    namespaced("", "v1", CORE, "replicationcontrollers", "ReplicationController", &["rc"])
        .fields(&[("status.replicas", "status.replicas")]),
    namespaced("", "v1", CORE, "resourcequotas", "ResourceQuota", &["quota"]),
    namespaced("", "v1", CORE, "secrets", "Secret", &[]).fields(&[("type", "type")]),
    namespaced("", "v1", CORE, "serviceaccounts", "ServiceAccount", &["sa"]),
    namespaced("", "v1", CORE, "services", "Service", &["svc"])
        .fields(&[("spec.clusterIP", "spec.clusterIP"), ("spec.type", "spec.type")]),
    namespaced("apps", "v1", APPS, "daemonsets", "DaemonSet", &["ds"]),
    namespaced("apps", "v1", APPS, "deployments", "Deployment", &["deploy"]),
    namespaced("apps", "v1", APPS, "replicasets", "ReplicaSet", &["rs"]),
    namespaced("apps", "v1", APPS, "statefulsets", "StatefulSet", &["sts"]),
    namespaced("autoscaling", "v2", AUTOSCALING, "horizontalpodautoscalers", "HorizontalPodAutoscaler", &["hpa"]),
    namespaced("batch", "v1", BATCH, "cronjobs", "CronJob", &["cj"]),
    namespaced("batch", "v1", BATCH, "jobs", "Job", &[]).fields(&[("status.successful", "status.succeeded")]),
    cluster(
        "certificates.k8s.io",
        "v1",
        CERTIFICATES,
        "certificatesigningrequests",
        "CertificateSigningRequest",
        &["csr"],
    )
    .fields(&[("spec.signerName", "spec.signerName")]),
    namespaced("coordination.k8s.io", "v1", COORDINATION, "leases", "Lease", &[]),
    namespaced("discovery.k8s.io", "v1", DISCOVERY, "endpointslices", "EndpointSlice", &[]),
    cluster("networking.k8s.io", "v1", NETWORKING, "ingressclasses", "IngressClass", &[]),
    namespaced("networking.k8s.io", "v1", NETWORKING, "ingresses", "Ingress", &["ing"]),
    namespaced("networking.k8s.io", "v1", NETWORKING, "networkpolicies", "NetworkPolicy", &["netpol"]),
    namespaced("policy", "v1", POLICY, "poddisruptionbudgets", "PodDisruptionBudget", &["pdb"]),
    cluster(RBAC_GROUP, "v1", RBAC, "clusterrolebindings", "ClusterRoleBinding", &[]),
    cluster(RBAC_GROUP, "v1", RBAC, "clusterroles", "ClusterRole", &[]),
    namespaced(RBAC_GROUP, "v1", RBAC, "rolebindings", "RoleBinding", &[]),
    namespaced(RBAC_GROUP, "v1", RBAC, "roles", "Role", &[]),
    cluster("storage.k8s.io", "v1", STORAGE, "storageclasses", "StorageClass", &["sc"]),
    cluster("storage.k8s.io", "v1", STORAGE, "volumeattachments", "VolumeAttachment", &[]),
    cluster(ADMISSION_GROUP, "v1", ADMISSION, "mutatingadmissionpolicies", "MutatingAdmissionPolicy", &[]),
    cluster(ADMISSION_GROUP, "v1", ADMISSION, "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", &[]),
    cluster(ADMISSION_GROUP, "v1", ADMISSION, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", &[]),
    cluster(ADMISSION_GROUP, "v1", ADMISSION, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", &[]),
    cluster(
        ADMISSION_GROUP,
        "v1",
        ADMISSION,
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        &[],
    ),
    cluster(ADMISSION_GROUP, "v1", ADMISSION, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", &[]),
    cluster(
        "apiextensions.k8s.io",
        "v1",
        EXTENSIONS,
        "customresourcedefinitions",
        "CustomResourceDefinition",
        &["crd", "crds"],
    ),
];

const fn namespaced(
    group: &'static str,
    version: &'static str,
    package: &'static str,
    plural: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
) -> Resource {
    new(true, group, version, package, plural, kind, short)
}

const fn cluster(
    group: &'static str,
    version: &'static str,
    package: &'static str,
    plural: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
) -> Resource {
    new(false, group, version, package, plural, kind, short)
}

const fn new(
    namespaced: bool,
    group: &'static str,
    version: &'static str,
    package: &'static str,
    plural: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
) -> Resource {
    Resource { group, version, plural, kind, namespaced, short, package, fields: &[], message: OnceLock::new() }
}

impl Resource {
    const fn fields(mut self, fields: &'static [(&'static str, &'static str)]) -> Self {
        self.fields = fields;
        self
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `pods` or `deployments.apps`, as error messages name it.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The description of the kind's message.
    pub(crate) fn message(&self) -> &'static Message {
        self.message.get_or_init(|| {
            schema::message(&format!("{}.{}", self.package, self.kind)).expect("every served kind is in the schema")
        })
    }

    /// The JSON path a field label stands for, if the kind can be selected by it.
    pub(crate) fn field_path(&self, label: &str) -> Option<&'static str> {
        self.fields.iter().find(|(name, _)| *name == label).map(|(_, path)| *path)
    }

    /// Whether the kind has field labels besides name and namespace.
    pub(crate) fn has_field_labels(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Position in [`RESOURCES`].
    pub(crate) fn index(&self) -> usize {
        RESOURCES.iter().position(|other| std::ptr::eq(other, self)).expect("resources live in the table")
    }
}

/// The resource served under a path's group, version and plural.
pub fn by_path(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|r| r.group == group && r.version == version && r.plural == plural)
}

/// The resource of an object's `apiVersion` and `kind`.
pub fn by_kind(api_version: &str, kind: &str) -> Option<&'static Resource> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    RESOURCES.iter().find(|r| r.kind == kind && r.group == group && r.version == version)
}

/// The resource with this plural; plurals are unique in the table.
pub fn by_plural(plural: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|r| r.plural == plural)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_field_label_is_in_the_schema() {
        for resource in RESOURCES {
            let message = resource.message();
            assert!(message.is_object(), "{}", resource.kind);
            for (label, path) in resource.fields {
                assert!(message.path(path).is_some(), "{} {label}", resource.kind);
            }
        }
    }

    #[test]
    fn plurals_are_unique() {
        for resource in RESOURCES {
            assert!(std::ptr::eq(by_plural(resource.plural).unwrap(), resource), "{}", resource.plural);
        }
    }
}

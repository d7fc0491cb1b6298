//! Objects there and back, and decoded by two independent implementations.

use k8s_openapi::{
    api::{
        admissionregistration::v1::ValidatingWebhookConfiguration,
        autoscaling::v2::HorizontalPodAutoscaler,
        certificates::v1::CertificateSigningRequest,
        core::v1 as core,
        networking::v1::{Ingress, NetworkPolicy},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use k8s_pb::api as pb;
use prost::Message as _;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{schema, to_json, to_protobuf};
use crate::{SampleOptions, resources};

fn encode(object: &Value) -> Vec<u8> {
    let resource =
        resources::by_kind(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap()).unwrap();
    to_protobuf(resource.message(), object).unwrap()
}

/// The object survives encoding and decoding, and k8s-openapi knows all of its JSON.
#[track_caller]
fn check<T: DeserializeOwned + Serialize>(mut object: Value) -> Vec<u8> {
    let typed: T = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), object, "the test's object is not in canonical form");
    let bytes = encode(&object);
    let resource =
        resources::by_kind(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap()).unwrap();
    let decoded = to_json(resource.message(), &bytes);
    object.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "kind" | "apiVersion"));
    assert_eq!(decoded, object);
    bytes
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 0,
            "creationTimestamp": "2024-06-19T15:22:45Z", "labels": {"a": "b", "empty": ""}, "annotations": {"x/y": "z"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "ru", "controller": false}],
            "managedFields": [{"manager": "m", "operation": "Update", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}, "time": "2024-06-19T15:22:45Z"}],
        },
        "spec": {
            "nodeName": "node", "hostNetwork": false, "priority": 0, "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "c", "image": "i", "command": ["a", "b"],
                "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}],
                "env": [{"name": "E", "value": ""}, {"name": "F", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                "envFrom": [{"configMapRef": {"name": "cm", "optional": true}}],
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "0"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": "http", "scheme": "HTTP"}, "periodSeconds": 3},
                "readinessProbe": {"tcpSocket": {"port": 80}},
                "startupProbe": {"exec": {"command": ["true"]}},
                "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "securityContext": {"capabilities": {"drop": ["ALL"]}, "runAsUser": 0},
            }],
            "ephemeralContainers": [{"name": "e", "image": "busybox", "targetContainerName": "c",
                "env": [{"name": "E", "value": "1"}]}],
            "volumes": [
                {"name": "a", "emptyDir": {}},
                {"name": "b", "configMap": {"name": "cm", "defaultMode": 420}},
                {"name": "c", "secret": {"secretName": "s"}},
                {"name": "d", "persistentVolumeClaim": {"claimName": "pvc"}},
                {"name": "e", "projected": {"sources": [{"configMap": {"name": "ca"}}]}},
                {"name": "f", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"x": "y"}}, "spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
            ],
            "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}},
            "overhead": {"cpu": "10m"},
            "imagePullSecrets": [{"name": "pull"}],
        },
        "status": {
            "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "startTime": "2024-06-19T15:22:46Z",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2024-06-19T15:22:47Z"}],
            "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": "2024-06-19T15:22:48Z"}},
                "lastState": {"terminated": {"exitCode": 0, "signal": 9, "finishedAt": "1969-12-31T23:59:59Z"}}}],
        },
    })
}

#[test]
fn a_pod_with_everything_goes_there_and_back() {
    let bytes = check::<core::Pod>(pod());
    let pod = pb::core::v1::Pod::decode(bytes.as_slice()).unwrap();
    let (metadata, spec, status) = (pod.metadata.unwrap(), pod.spec.unwrap(), pod.status.unwrap());
    assert_eq!((metadata.name(), metadata.generation, metadata.labels["empty"].as_str()), ("p", Some(0), ""));
    assert_eq!(metadata.creation_timestamp.unwrap().seconds, Some(1_718_810_565));
    assert_eq!(
        metadata.managed_fields[0].fields_v1.as_ref().unwrap().raw(),
        br#"{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}"#
    );
    let container = &spec.containers[0];
    let secret = container.env[1].value_from.as_ref().unwrap().secret_key_ref.as_ref().unwrap();
    assert_eq!(secret.local_object_reference.as_ref().unwrap().name(), "s");
    assert_eq!(container.resources.as_ref().unwrap().limits["memory"].string(), "1Gi");
    let probe = |probe: &Option<pb::core::v1::Probe>| probe.clone().unwrap().handler.unwrap();
    let named = probe(&container.liveness_probe).http_get.unwrap().port.unwrap();
    assert_eq!((named.r#type, named.int_val, named.str_val()), (Some(1), Some(0), "http"));
    assert_eq!(probe(&container.readiness_probe).tcp_socket.unwrap().port.unwrap().int_val, Some(80));
    assert_eq!(spec.ephemeral_containers[0].ephemeral_container_common.as_ref().unwrap().name(), "e");
    assert!(spec.volumes[0].volume_source.as_ref().unwrap().empty_dir.is_some());
    assert_eq!((spec.host_network, spec.priority, spec.active_deadline_seconds), (Some(false), Some(0), None));
    assert_eq!(spec.tolerations[0].toleration_seconds, Some(0));
    let terminated = status.container_statuses[0].last_state.as_ref().unwrap().terminated.clone().unwrap();
    assert_eq!((terminated.exit_code, terminated.finished_at.unwrap().seconds), (Some(0), Some(-1)));
}

#[test]
fn other_special_forms_go_there_and_back() {
    let bytes = check::<HorizontalPodAutoscaler>(json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
        "spec": {"maxReplicas": 5, "minReplicas": 0, "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "metrics": [{"type": "Pods", "pods": {"metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}},
                "target": {"type": "AverageValue", "averageValue": "250"}}}]},
    }));
    let autoscaler = pb::autoscaling::v2::HorizontalPodAutoscaler::decode(bytes.as_slice()).unwrap();
    let spec = autoscaler.spec.unwrap();
    assert_eq!(spec.min_replicas, Some(0));
    assert_eq!(
        spec.metrics[0].pods.as_ref().unwrap().target.as_ref().unwrap().average_value.as_ref().unwrap().string(),
        "250"
    );

    let bytes = check::<Ingress>(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"},
        "spec": {"rules": [{"host": "h", "http": {"paths": [{"path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]},
    }));
    let ingress = pb::networking::v1::Ingress::decode(bytes.as_slice()).unwrap();
    let rule = ingress.spec.unwrap().rules[0].ingress_rule_value.clone().unwrap();
    assert_eq!(rule.http.unwrap().paths[0].path(), "/");

    let bytes = check::<core::PersistentVolume>(json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"capacity": {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "h", "readOnly": false},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{}]}}},
    }));
    let volume = pb::core::v1::PersistentVolume::decode(bytes.as_slice()).unwrap();
    assert_eq!(volume.spec.unwrap().persistent_volume_source.unwrap().csi.unwrap().driver(), "d");

    let bytes = check::<CertificateSigningRequest>(json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "c"},
        "spec": {"request": "AAEC/w==", "signerName": "s", "extra": {"k": ["a", "b"], "none": []}},
        "status": {"certificate": ""},
    }));
    let request = pb::certificates::v1::CertificateSigningRequest::decode(bytes.as_slice()).unwrap();
    let spec = request.spec.unwrap();
    assert_eq!(
        (spec.request(), spec.extra["k"].items.as_slice()),
        (&[0, 1, 2, 255][..], &["a".to_owned(), "b".to_owned()][..])
    );

    check::<ValidatingWebhookConfiguration>(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "w"},
        "webhooks": [{"name": "x", "clientConfig": {"caBundle": "AAE=", "service": {"name": "s", "namespace": "n"}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "matchConditions": [{"name": "m", "expression": "true"}]}],
    }));
    check::<NetworkPolicy>(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "p"},
        "spec": {"podSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
            "egress": [{"ports": [{"port": 53, "protocol": "UDP"}, {"port": "dns"}]}]},
    }));
    check::<core::Secret>(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "AQI=", "b": ""},
    }));
}

#[test]
fn embedded_objects_lose_their_kind_as_in_go() {
    let bytes = encode(&json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"},
        "spec": {"volumeClaimTemplates": [
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}]},
    }));
    let set = resources::by_plural("statefulsets").unwrap();
    let claims = json!([{"metadata": {"name": "data"}}]);
    assert_eq!(to_json(set.message(), &bytes)["spec"]["volumeClaimTemplates"], claims);
}

#[test]
fn schemas_of_custom_resources_go_there_and_back() {
    check::<CustomResourceDefinition>(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true, "maximum": 1.5,
                "properties": {
                    "list": {"type": "array", "items": {"type": "string", "default": "x"}, "enum": ["a", 1, null, {"b": []}]},
                    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "open": {"additionalProperties": true},
                    "closed": {"additionalProperties": false},
                }}}}]},
    }));
}

#[test]
fn every_object_of_a_sample_survives_a_second_encoding() {
    let cluster = crate::Cluster::sample(&SampleOptions::new(200, 1));
    for resource in resources::RESOURCES {
        for object in cluster.collection(resource).snapshot(None).objects {
            let json = to_json(resource.message(), &object.bytes);
            let again = to_json(resource.message(), &to_protobuf(resource.message(), &json).unwrap());
            assert_eq!(again, json, "{} {:?}", resource.kind, object.key);
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let error = |change: &dyn Fn(&mut Value)| {
        let mut pod = pod();
        change(&mut pod);
        to_protobuf(resources::by_plural("pods").unwrap().message(), &pod).unwrap_err().to_string()
    };
    assert_eq!(error(&|pod| pod["spec"] = json!([])), "spec: expected an object, found a list");
    assert_eq!(error(&|pod| pod["stats"] = json!({})), "stats: unknown field");
    assert_eq!(
        error(&|pod| pod["spec"]["volumes"][1]["configmap"] = json!({})),
        "spec.volumes[1].configmap: unknown field"
    );
    assert_eq!(
        error(&|pod| pod["metadata"]["labels"]["a"] = json!(1)),
        "metadata.labels[a]: expected a string, found a number"
    );
    assert_eq!(
        error(&|pod| pod["spec"]["priority"] = json!(1_i64 << 40)),
        "spec.priority: 1099511627776 is out of range"
    );
    assert_eq!(error(&|pod| pod["status"]["startTime"] = json!("now")), "status.startTime: `now` is not a time");
    assert_eq!(
        error(&|pod| pod["spec"]["overhead"]["cpu"] = json!("1 GB")),
        "spec.overhead[cpu]: `1 GB` is not a quantity"
    );
    assert_eq!(error(&|pod| *pod = json!(3)), "object: expected an object, found a number");
}

#[test]
fn zeros_are_kept_and_nulls_are_not() {
    let kept = json!({"spec": {"replicas": 0, "paused": false, "template": {"spec": {"hostname": ""}}}});
    let message = resources::by_plural("deployments").unwrap().message();
    assert_eq!(to_json(message, &to_protobuf(message, &kept).unwrap()), kept);
    assert!(to_protobuf(message, &json!({"spec": null, "status": null})).unwrap().is_empty());
}

#[test]
fn micro_times_have_six_digits() {
    let lease = json!({"spec": {"renewTime": "2024-06-19T15:22:45.000120Z"}});
    let message = resources::by_plural("leases").unwrap().message();
    assert_eq!(to_json(message, &to_protobuf(message, &lease).unwrap()), lease);
}

#[test]
fn the_zero_time_is_an_empty_message_and_null_in_json() {
    let message = resources::by_plural("leases").unwrap().message();
    let lease = json!({"metadata": {"creationTimestamp": "0001-01-01T00:00:00Z"}, "spec": {"renewTime": "0001-01-01T00:00:00Z"}});
    let bytes = to_protobuf(message, &lease).unwrap();
    assert_eq!(bytes, [0x0a, 2, 0x42, 0, 0x12, 2, 0x22, 0]);
    assert_eq!(to_json(message, &bytes), json!({"metadata": {"creationTimestamp": null}, "spec": {"renewTime": null}}));
}

#[test]
fn structs_embedded_in_go_are_flat_in_json() {
    let embedded = |message: &str, field: u32| {
        let message = schema::message(message).unwrap();
        message.by_number(field).unwrap().shape == schema::Shape::Embedded
    };
    assert!(embedded("k8s.io.api.core.v1.Volume", 2));
    assert!(embedded("k8s.io.api.core.v1.Probe", 1));
    assert!(embedded("k8s.io.api.core.v1.PersistentVolumeSpec", 2));
    assert!(embedded("k8s.io.api.core.v1.EphemeralContainer", 1));
    assert!(embedded("k8s.io.api.admissionregistration.v1.RuleWithOperations", 2));
    assert!(!embedded("k8s.io.api.core.v1.Pod", 2));
}

//! Compositions that no overlay has: every component with every layout it is for, other namespaces, other numbers of shards.
//!
//! Invariant: what a composition is for is seen in what it renders to.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::render::{self, Kustomize};
use super::{generated, metrics};

/// Numbers of static shards that are tried beside that of the overlay.
const SHARDS: [u32; 2] = [2, 12];

/// Renders them all, in folders of `scratch`; each by what it is.
pub fn render(kustomize: &Kustomize, scratch: &Path) -> Result<Vec<(String, Vec<Value>)>> {
    let mut rendered = Vec::new();
    for overlay in ["small", "hash-sharded", "static-shards", "per-node"] {
        let mut compose_as = |suffix: &str, namespace: &str, components: &[&str]| -> Result<Vec<Value>> {
            let what = format!("{overlay}{suffix} with {}", components.join(", "));
            let folder = scratch.join(format!("composition-{}", rendered.len()));
            let objects = kustomize.render_text(&folder, &text(overlay, suffix, namespace, components))?;
            rendered.push((what, objects.clone()));
            Ok(objects)
        };
        for monitor in ["prometheus-operator", "pod-monitor"] {
            let mut components = vec![monitor, "scrape-rights", "network-policy", "scrape-parts", "trial", "tls-auth"];
            components.extend(autoscalers(overlay));
            components.push("../monitoring");
            let objects = compose_as("-b", "team", &components)?;
            renamed(&objects, "-b").with_context(|| overlay.to_owned())?;
        }
        let mut compose = |namespace: &str, components: &[&str]| compose_as("", namespace, components);
        let all = compose(
            "team",
            &["prometheus-operator", "scrape-rights", "network-policy", "scrape-parts", "trial", "tls-auth"],
        )?;
        moved(&all, "team").with_context(|| overlay.to_owned())?;
        jobs(&all, 4).with_context(|| overlay.to_owned())?;
        jobs(&compose("team", &["prometheus-operator", "trial"])?, 1).with_context(|| overlay.to_owned())?;
        let all = compose("team", &["pod-monitor", "scrape-parts", "trial", "tls-auth"])?;
        jobs(&all, 4).with_context(|| overlay.to_owned())?;
        guarded(&all).with_context(|| overlay.to_owned())?;
        jobs(&compose("team", &["pod-monitor", "trial"])?, 1).with_context(|| overlay.to_owned())?;
        let by_slices = compose("team", &["prometheus-operator", "endpoint-slices"])?;
        discovery(&by_slices, &json!("EndpointSlice")).with_context(|| overlay.to_owned())?;
        discovery(&compose("team", &["prometheus-operator"])?, &Value::Null).with_context(|| overlay.to_owned())?;
        without_operator(&compose("team", &["../monitoring/dashboards"])?).with_context(|| overlay.to_owned())?;
        without_secrets(&compose("team", &["without-secrets"])?).with_context(|| overlay.to_owned())?;
    }
    let folder = scratch.join("prometheus-config");
    let text = "namespace: prometheus\nresources:\n  - {root}/deploy/prometheus-config\n";
    let objects = kustomize.render_text(&folder, text)?;
    scrapes(&objects, "prometheus").context("deploy/prometheus-config")?;
    scrapes(&kustomize.render(render::PROMETHEUS_CONFIG)?, "monitoring").context("deploy/prometheus-config")?;
    rendered.push(("deploy/prometheus-config in another namespace".to_owned(), objects));
    for shards in SHARDS {
        let folder = scratch.join(format!("static-{shards}"));
        for (path, text) in generated::static_overlay(shards) {
            let place = folder.join(&path).parent().map(Path::to_owned).context("a file has a folder")?;
            std::fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
            let root = format!("{}/deploy", render::way_to_root(&place)?);
            let text = text.replace("../../components", &format!("{root}/components"));
            let text = text.replace("../shard\n", &format!("{root}/overlays/static-shards/shard\n"));
            let text = text.replace("- common\n", &format!("- {root}/overlays/static-shards/common\n"));
            std::fs::write(folder.join(&path), text).with_context(|| path.clone())?;
        }
        let objects = kustomize.render(&folder.display().to_string())?;
        let deployments = objects.iter().filter(|object| object["kind"] == "Deployment").count();
        ensure!(deployments == shards as usize, "{shards} static shards are {deployments} Deployments");
        rendered.push((format!("{shards} static shards"), objects));
    }
    Ok(rendered)
}

/// The autoscalers of an overlay's workloads.
fn autoscalers(overlay: &str) -> &'static [&'static str] {
    match overlay {
        "small" => &["vertical-autoscaling/ksm-shard"],
        "hash-sharded" => &["vertical-autoscaling/ksm-shard-auto"],
        "static-shards" => &["vertical-autoscaling/static-shards"],
        _ => {
            &["vertical-autoscaling/ksm-node", "vertical-autoscaling/ksm-unscheduled", "vertical-autoscaling/ksm-rest"]
        }
    }
}

fn text(overlay: &str, suffix: &str, namespace: &str, components: &[&str]) -> String {
    let components: Vec<String> = components.iter().map(|name| format!("{{root}}/deploy/components/{name}")).collect();
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": namespace,
        "nameSuffix": suffix,
        "resources": [format!("{{root}}/deploy/overlays/{overlay}")],
        "components": components,
    })
    .to_string()
}

/// One ConfigMap with every file, where Prometheus is, that looks where the exporters are.
fn scrapes(objects: &[Value], namespace: &str) -> Result<()> {
    let [map] = objects else { anyhow::bail!("it is {} objects", objects.len()) };
    moved(objects, namespace)?;
    ensure!(map["metadata"]["namespace"] == namespace && map["kind"] == "ConfigMap", "it is no ConfigMap there");
    for name in ["scrape", "scrape-parts", "scrape-tls", "scrape-parts-tls"] {
        let text = map["data"][format!("{name}.yaml")].as_str().with_context(|| format!("it has no {name}.yaml"))?;
        let config: Value = serde_norway::from_str(text).with_context(|| format!("{name}.yaml"))?;
        for job in config["scrape_configs"].as_array().context("a scrape configuration has jobs")? {
            let looks = &job["kubernetes_sd_configs"][0]["namespaces"]["names"];
            ensure!(*looks == json!(["kube-state-metrics"]), "{name}.yaml looks in {looks}");
        }
    }
    let rules = map["data"]["rules.yaml"].as_str().context("it has no rules.yaml")?;
    let rules: Value = serde_norway::from_str(rules).context("rules.yaml")?;
    ensure!(rules == metrics::rules()?, "rules.yaml is not that of deploy/monitoring");
    Ok(())
}

/// Every object has a name of its own, so that another copy in the cluster takes none of them away. That each still finds what
/// it names is checked of everything that is rendered.
fn renamed(objects: &[Value], suffix: &str) -> Result<()> {
    for object in objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        // The name of a generated one ends with its digest.
        let is_other = name.ends_with(suffix) || name.contains(&format!("{suffix}-"));
        ensure!(is_other, "{} {name} has the name of another copy's", object["kind"]);
    }
    Ok(())
}

/// By what a ServiceMonitor finds its targets, if it says so. Older operators do not know the field.
fn discovery(objects: &[Value], role: &Value) -> Result<()> {
    let monitor = objects.iter().find(|object| object["kind"] == "ServiceMonitor").context("there is a monitor")?;
    let found = &monitor["spec"]["serviceDiscoveryRole"];
    ensure!(found == role, "targets are found by {found}, not by {role}");
    Ok(())
}

/// Nothing that only the operator defines, and dashboards.
fn without_operator(objects: &[Value]) -> Result<()> {
    let theirs = objects.iter().find(|object| {
        object["apiVersion"].as_str().is_some_and(|version| version.starts_with("monitoring.coreos.com/"))
    });
    ensure!(theirs.is_none(), "it has an object of the operator: {theirs:?}");
    let dashboards = objects.iter().filter(|object| object["metadata"]["labels"]["grafana_dashboard"] == "1").count();
    ensure!(dashboards == 2, "{dashboards} dashboards are there, not 2");
    Ok(())
}

/// A PodMonitor scrapes over TLS with a token from a Secret, for it may name no file.
fn guarded(objects: &[Value]) -> Result<()> {
    let monitor = objects.iter().find(|object| object["kind"] == "PodMonitor").context("there is a monitor")?;
    let token = json!({"credentials": {"name": "kube-state-metrics-sharded-token", "key": "token"}});
    for endpoint in monitor["spec"]["podMetricsEndpoints"].as_array().context("a monitor has endpoints")? {
        let known = endpoint["scheme"] == "https"
            && endpoint["authorization"] == token
            && endpoint["tlsConfig"]["serverName"].is_string();
        ensure!(known, "the PodMonitor scrapes without TLS or token: {endpoint}");
    }
    Ok(())
}

/// Whatever lives in a namespace is in that one.
fn moved(objects: &[Value], namespace: &str) -> Result<()> {
    for object in objects {
        let placed = &object["metadata"]["namespace"];
        ensure!(placed.is_null() || placed == namespace, "{} is in {placed}", object["metadata"]["name"]);
        ensure!(object["kind"] != "Namespace", "it has a Namespace");
    }
    Ok(())
}

/// All parts of a trial are of its job, and the exporters themselves of theirs.
fn jobs(objects: &[Value], parts: usize) -> Result<()> {
    let endpoints = objects.iter().find_map(|object| match object["kind"].as_str()? {
        "ServiceMonitor" => object["spec"]["endpoints"].as_array(),
        "PodMonitor" => object["spec"]["podMetricsEndpoints"].as_array(),
        _ => None,
    });
    let mut found = 0;
    for endpoint in endpoints.context("there is a monitor with endpoints")? {
        let rules = endpoint["relabelings"].as_array().context("an endpoint has relabelings")?;
        let job = rules.iter().find(|rule| rule["targetLabel"] == "job").map(|rule| &rule["replacement"]);
        let of_cluster = endpoint["port"] == "metrics";
        found += usize::from(of_cluster);
        let wanted = if of_cluster { "kube-state-metrics-trial" } else { "kube-state-metrics-sharded" };
        ensure!(job == Some(&json!(wanted)), "the job of port {} is {job:?}", endpoint["port"]);
    }
    ensure!(found == parts, "{found} endpoints scrape the cluster, not {parts}");
    Ok(())
}

/// No right to Secrets is left, and no workload that reads more than pods asks for them.
fn without_secrets(objects: &[Value]) -> Result<()> {
    for role in objects.iter().filter(|object| object["kind"] == "ClusterRole") {
        ensure!(!role["rules"].to_string().contains("\"secrets\""), "{} may read Secrets", role["metadata"]["name"]);
    }
    let of_pods = ["ksm-node", "ksm-unscheduled"];
    for workload in objects.iter().filter(|object| object.pointer("/spec/template").is_some()) {
        let name = workload["metadata"]["name"].as_str().unwrap_or_default();
        let arguments = workload.pointer("/spec/template/spec/containers/0/args").and_then(Value::as_array);
        let resources =
            arguments.into_iter().flatten().find_map(|argument| argument.as_str()?.strip_prefix("--resources="));
        let asks = resources.is_none_or(|list| list.split(',').any(|resource| resource == "secrets"));
        ensure!(of_pods.contains(&name) || !asks, "{name} asks for Secrets");
    }
    Ok(())
}

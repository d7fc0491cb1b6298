//! What rendered objects must be to each other: selectors that find, ports that are there, rights of those who run.
//!
//! Invariant: pure but for the figures and defaults in `docs/`. What an API server knows itself, such as whether a field
//! exists, is asked of one in the scenario `manifests` of `cargo xtask e2e`.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cargo;

/// The ports of a container, and the option whose default each is.
const PORTS: [(&str, &str); 2] = [("metrics", "--port"), ("telemetry", "--telemetry-port")];

/// Whether a pod is told to stop, and what controls it.
const TERMINATING: [&str; 2] =
    ["__meta_kubernetes_endpointslice_endpoint_conditions_terminating", "__meta_kubernetes_pod_controller_kind"];

/// Seconds that answers in progress may take once a process stops.
const GRACE: u64 = 25;

/// The most that a request may be above what was measured.
const SLACK: u64 = 3;

/// Checks what a folder renders to.
pub fn check(folder: &str, objects: &[Value]) -> Result<()> {
    let checks = [namespaces, pods, services, monitors, policies, budgets, autoscalers, accounts, shards];
    checks.iter().try_for_each(|check| check(objects)).with_context(|| folder.to_owned())?;
    let is_namespace = objects.iter().all(|object| object["kind"] == "Namespace");
    ensure!(
        folder.starts_with("deploy/base/") || is_namespace || objects.iter().all(is_placed),
        "{folder}: an object is in no namespace"
    );
    if folder.starts_with("deploy/base/") {
        requests(objects).with_context(|| folder.to_owned())?;
    }
    Ok(())
}

/// Objects of a kind.
fn of<'a>(objects: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

fn workloads(objects: &[Value]) -> impl Iterator<Item = &Value> {
    objects.iter().filter(|object| object.pointer("/spec/template").is_some())
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_placed(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    kind.starts_with("Cluster") || kind == "Namespace" || object["metadata"]["namespace"].is_string()
}

/// Whether all labels of a selector are among those of an object.
fn selects(selector: &Value, labels: &Value) -> bool {
    let wanted = selector.as_object().filter(|wanted| !wanted.is_empty());
    wanted.is_some_and(|wanted| wanted.iter().all(|(key, value)| labels[key] == *value))
}

fn pod_labels(workload: &Value) -> &Value {
    &workload["spec"]["template"]["metadata"]["labels"]
}

fn container(workload: &Value) -> Result<&Value> {
    let [container] = list(workload, "/spec/template/spec/containers") else {
        anyhow::bail!("{} has not one container", name(workload));
    };
    Ok(container)
}

/// An overlay that is moved must not take a namespace along, nor delete it.
fn namespaces(objects: &[Value]) -> Result<()> {
    let mixed = of(objects, "Namespace").count() > 0 && objects.len() > 1;
    ensure!(!mixed, "a Namespace is among other objects: with another `namespace:` it would be a foreign one");
    Ok(())
}

/// Nobody's rights, nothing to write, and the ports that binaries listen on by default.
fn pods(objects: &[Value]) -> Result<()> {
    for workload in workloads(objects) {
        let (pod, container) = (&workload["spec"]["template"]["spec"], container(workload)?);
        for (holder, pointer, wanted) in [
            (pod, "/securityContext/runAsNonRoot", json!(true)),
            (pod, "/securityContext/seccompProfile/type", json!("RuntimeDefault")),
            (pod, "/automountServiceAccountToken", json!(true)),
            (pod, "/enableServiceLinks", json!(false)),
            (pod, "/nodeSelector/kubernetes.io~1os", json!("linux")),
            (container, "/securityContext/readOnlyRootFilesystem", json!(true)),
            (container, "/securityContext/allowPrivilegeEscalation", json!(false)),
            (container, "/securityContext/capabilities/drop", json!(["ALL"])),
        ] {
            ensure!(holder.pointer(pointer) == Some(&wanted), "{}: {pointer} is not {wanted}", name(workload));
        }
        // The image has one, and where namespaces have ranges of users (OpenShift) no other is let in.
        for holder in [pod, container] {
            for field in ["runAsUser", "runAsGroup", "fsGroup"] {
                ensure!(holder["securityContext"].get(field).is_none(), "{}: {field} is given", name(workload));
            }
        }
        for (port, option) in PORTS {
            let number = default_of(option)?;
            let ports = list(container, "/ports");
            let found = ports.iter().find(|found| found["name"] == port).map(|found| &found["containerPort"]);
            ensure!(
                found == Some(&json!(number)),
                "{}: the port {port} is {found:?}, and {option} is {number} by default",
                name(workload)
            );
        }
        stopping(workload)?;
        ensure!(container.pointer("/resources/limits/cpu").is_none(), "{}: CPU has a limit", name(workload));
        for spread in list(pod, "/topologySpreadConstraints") {
            let selector = &spread["labelSelector"]["matchLabels"];
            ensure!(selects(selector, pod_labels(workload)), "{}: it is spread among others", name(workload));
        }
    }
    Ok(())
}

/// A pod that has a successor serves on until Prometheus has let go of it, and has time for what is in progress then. Pods of
/// a StatefulSet hand over instead.
fn stopping(workload: &Value) -> Result<()> {
    let delay = list(container(workload)?, "/args").iter().find_map(|argument| {
        argument.as_str()?.strip_prefix("--shutdown-delay=")?.strip_suffix('s')?.parse::<u64>().ok()
    });
    let hands_over = workload["kind"] == "StatefulSet";
    ensure!(
        hands_over == delay.is_none(),
        "{}: --shutdown-delay is for workloads but StatefulSets, in seconds",
        name(workload)
    );
    let grace = workload.pointer("/spec/template/spec/terminationGracePeriodSeconds").and_then(Value::as_u64);
    let needed = delay.unwrap_or_default() + GRACE;
    ensure!(
        grace.unwrap_or(30) > needed,
        "{}: it is killed after {grace:?} s, and takes up to {needed} s to stop",
        name(workload)
    );
    Ok(())
}

/// The default of an option, as the binaries say.
fn default_of(option: &str) -> Result<u64> {
    let path = cargo::workspace_root().join("docs/options.md");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = text.lines().find(|line| line.starts_with(&format!("| `{option}=")));
    let default = line.and_then(|line| line.split("[default: ").nth(1)?.split(']').next()?.parse().ok());
    default.with_context(|| format!("docs/options.md has no number as the default of {option}"))
}

/// Each workload has one Service, which leads to ports that it has.
fn services(objects: &[Value]) -> Result<()> {
    for service in of(objects, "Service") {
        let selector = &service["spec"]["selector"];
        let found: Vec<&Value> =
            workloads(objects).filter(|workload| selects(selector, pod_labels(workload))).collect();
        ensure!(!found.is_empty(), "the Service {} selects no pods", name(service));
        for port in list(service, "/spec/ports") {
            for workload in &found {
                let ports = list(container(workload)?, "/ports");
                let led = ports.iter().find(|target| target["name"] == port["targetPort"]);
                ensure!(
                    led.is_some_and(|target| target["containerPort"] == port["port"] && target["name"] == port["name"]),
                    "the Service {} leads to no port {} of {}",
                    name(service),
                    port["targetPort"],
                    name(workload)
                );
            }
        }
    }
    let wanted = usize::from(of(objects, "PodMonitor").next().is_none());
    for workload in workloads(objects) {
        let leading =
            of(objects, "Service").filter(|service| selects(&service["spec"]["selector"], pod_labels(workload)));
        ensure!(leading.count() == wanted, "not {wanted} Services select the pods of {}", name(workload));
        let set = workload["spec"]["serviceName"].as_str();
        let there = set.is_none_or(|set| of(objects, "Service").any(|service| name(service) == set));
        ensure!(there || wanted == 0, "{} names a Service that is not there", name(workload));
    }
    Ok(())
}

/// A monitor finds every Service or pod and its ports, whichever way, and lends samples about the cluster none of its own
/// labels.
fn monitors(objects: &[Value]) -> Result<()> {
    for monitor in of(objects, "ServiceMonitor") {
        let selector = &monitor["spec"]["selector"]["matchLabels"];
        for service in of(objects, "Service") {
            ensure!(
                selects(selector, &service["metadata"]["labels"]),
                "the monitor selects no Service {}",
                name(service)
            );
            let ports: Vec<&Value> = list(service, "/spec/ports").iter().map(|port| &port["name"]).collect();
            endpoints(list(monitor, "/spec/endpoints"), &ports).with_context(|| name(service).to_owned())?;
        }
        for endpoint in list(monitor, "/spec/endpoints") {
            // A pod of a StatefulSet that is told to stop has no successor yet, and others have one.
            let leaves_out = list(endpoint, "/relabelings").iter().any(|rule| {
                rule["action"] == "drop"
                    && rule["sourceLabels"] == json!(TERMINATING)
                    && rule["regex"] == "true;(ReplicaSet|DaemonSet)"
            });
            ensure!(leaves_out, "the monitor's port {}: pods that are told to stop stay targets", endpoint["port"]);
        }
    }
    for monitor in of(objects, "PodMonitor") {
        let selector = &monitor["spec"]["selector"]["matchLabels"];
        for workload in workloads(objects) {
            ensure!(selects(selector, pod_labels(workload)), "the monitor selects no pods of {}", name(workload));
            let ports: Vec<&Value> = list(container(workload)?, "/ports").iter().map(|port| &port["name"]).collect();
            endpoints(list(monitor, "/spec/podMetricsEndpoints"), &ports).with_context(|| name(workload).to_owned())?;
        }
        for endpoint in list(monitor, "/spec/podMetricsEndpoints") {
            let known = endpoint.get("bearerTokenFile").is_none() && !endpoint.to_string().contains("endpointslice");
            ensure!(known, "the PodMonitor has what only a ServiceMonitor may have: {endpoint}");
        }
    }
    Ok(())
}

/// What a monitor scrapes of something that has these ports.
fn endpoints(endpoints: &[Value], ports: &[&Value]) -> Result<()> {
    let mut scraped = BTreeSet::new();
    for endpoint in endpoints {
        let port = endpoint["port"].as_str().unwrap_or_default();
        scraped.insert(port);
        ensure!(ports.contains(&&endpoint["port"]), "it has no port {port}, which the monitor scrapes");
        let of_cluster = port == "metrics";
        ensure!(
            endpoint["honorLabels"].as_bool().unwrap_or_default() == of_cluster,
            "the monitor's port {port}: honorLabels is to be {of_cluster}"
        );
        let rules = list(endpoint, "/relabelings");
        let dropped: BTreeSet<&str> = rules
            .iter()
            .filter(|rule| rule["action"] == "labeldrop")
            .flat_map(|rule| rule["regex"].as_str().unwrap_or_default().split('|'))
            .collect();
        let wanted = if of_cluster {
            BTreeSet::from(["namespace", "service", "pod", "container", "endpoint", "node"])
        } else {
            BTreeSet::from(["service", "endpoint"])
        };
        ensure!(dropped == wanted, "the monitor's port {port} drops the labels {dropped:?}, not {wanted:?}");
        for rule in rules.iter().filter(|rule| rule["action"] != "drop") {
            // A drop without its label drops nothing; all else has to work with Endpoints, EndpointSlices and pods.
            let sources = list(rule, "/sourceLabels").iter().filter_map(Value::as_str);
            let known = ["__meta_kubernetes_namespace", "__meta_kubernetes_pod_"];
            let mut others = sources.filter(|label| !known.iter().any(|known| label.starts_with(known)));
            ensure!(others.next().is_none(), "the monitor's port {port}: not every discovery has the labels of {rule}");
        }
    }
    ensure!(scraped == BTreeSet::from(PORTS.map(|(port, _)| port)), "the monitor scrapes {scraped:?}");
    Ok(())
}

/// A policy is about every pod, lets in what the pods serve, and lets out what they ask.
fn policies(objects: &[Value]) -> Result<()> {
    for policy in of(objects, "NetworkPolicy") {
        for workload in workloads(objects) {
            ensure!(
                selects(&policy["spec"]["podSelector"]["matchLabels"], pod_labels(workload)),
                "the policy is not about {}",
                name(workload)
            );
            let open: BTreeSet<&str> = list(policy, "/spec/ingress")
                .iter()
                .flat_map(|rule| list(rule, "/ports"))
                .filter_map(|port| port["port"].as_str())
                .collect();
            let served: BTreeSet<&str> =
                list(container(workload)?, "/ports").iter().filter_map(|port| port["name"].as_str()).collect();
            ensure!(open == served, "the policy opens {open:?}, and {} serves {served:?}", name(workload));
        }
        let out: BTreeSet<(&str, u64)> = list(policy, "/spec/egress")
            .iter()
            .flat_map(|rule| list(rule, "/ports"))
            .filter_map(|port| Some((port["protocol"].as_str()?, port["port"].as_u64()?)))
            .collect();
        let dns = [("UDP", 53), ("TCP", 53), ("UDP", 5353), ("TCP", 5353)];
        for wanted in dns.into_iter().chain([443, 6443, 8443, 16443].map(|port| ("TCP", port))) {
            ensure!(out.contains(&wanted), "the policy lets nobody out to {wanted:?}");
        }
    }
    Ok(())
}

fn budgets(objects: &[Value]) -> Result<()> {
    for budget in of(objects, "PodDisruptionBudget") {
        let selector = &budget["spec"]["selector"]["matchLabels"];
        let pods = workloads(objects)
            .filter(|workload| selects(selector, pod_labels(workload)))
            .map(|workload| workload["spec"]["replicas"].as_u64().unwrap_or(1));
        ensure!(pods.sum::<u64>() > 1, "the budget is not about several pods");
        // Shards that find their place by themselves serve on while they are not ready, others are only starting then.
        let wanted = if of(objects, "StatefulSet").next().is_some() { "IfHealthyBudget" } else { "AlwaysAllow" };
        let found = &budget["spec"]["unhealthyPodEvictionPolicy"];
        ensure!(found == wanted, "the budget's policy about pods that are not ready is {found}, not {wanted}");
    }
    Ok(())
}

fn autoscalers(objects: &[Value]) -> Result<()> {
    for autoscaler in of(objects, "VerticalPodAutoscaler") {
        let target = &autoscaler["spec"]["targetRef"];
        let there = workloads(objects).any(|workload| {
            workload["apiVersion"] == target["apiVersion"]
                && workload["kind"] == target["kind"]
                && workload["metadata"]["name"] == target["name"]
        });
        ensure!(there, "the autoscaler {} has no target {target}", name(autoscaler));
    }
    Ok(())
}

/// Each workload runs as an account of its namespace, and bindings of ours lead from roles to accounts that are there.
fn accounts(objects: &[Value]) -> Result<()> {
    for workload in workloads(objects) {
        let account = &workload["spec"]["template"]["spec"]["serviceAccountName"];
        let there = of(objects, "ServiceAccount").any(|found| {
            found["metadata"]["name"] == *account && found["metadata"]["namespace"] == workload["metadata"]["namespace"]
        });
        ensure!(there, "{} runs as {account}, which is not there", name(workload));
    }
    for rule in of(objects, "Role").flat_map(|role| list(role, "/rules")) {
        for named in list(rule, "/resourceNames") {
            let there = workloads(objects).any(|workload| workload["metadata"]["name"] == *named);
            ensure!(there, "a Role is about {named}, which is not there");
        }
    }
    for binding in of(objects, "RoleBinding").chain(of(objects, "ClusterRoleBinding")) {
        let role = &binding["roleRef"];
        let there =
            objects.iter().any(|found| found["kind"] == role["kind"] && found["metadata"]["name"] == role["name"]);
        ensure!(there, "{} binds a role that is not there: {role}", name(binding));
        for subject in list(binding, "/subjects").iter().filter(|subject| subject["namespace"] != "monitoring") {
            let there = of(objects, "ServiceAccount").any(|account| {
                let namespace = account["metadata"]["namespace"].as_str().unwrap_or("default");
                account["metadata"]["name"] == subject["name"] && subject["namespace"] == namespace
            });
            ensure!(there, "{} binds an account that is not there: {subject}", name(binding));
        }
    }
    Ok(())
}

/// Static shards are 0 to N - 1 of N, each once.
fn shards(objects: &[Value]) -> Result<()> {
    let number = |workload: &Value, option: &str| -> Option<u64> {
        let arguments = list(container(workload).ok()?, "/args");
        arguments.iter().find_map(|argument| argument.as_str()?.strip_prefix(option)?.parse().ok())
    };
    let mut found: Vec<(u64, Option<u64>)> = workloads(objects)
        .filter_map(|workload| Some((number(workload, "--shard=")?, number(workload, "--total-shards="))))
        .collect();
    found.sort_unstable();
    let total = found.len() as u64;
    let wanted: Vec<(u64, Option<u64>)> = (0..total).map(|shard| (shard, Some(total))).collect();
    ensure!(found == wanted, "the static shards are {found:?}");
    Ok(())
}

/// Requests for memory are what was measured, and not much more.
fn requests(objects: &[Value]) -> Result<()> {
    let path = cargo::workspace_root().join("docs/benchmarks.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let figures: Value = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    for workload in workloads(objects) {
        let used = measured(&figures, name(workload))?;
        let requested = container(workload)?.pointer("/resources/requests/memory").and_then(Value::as_str);
        let requested = requested.and_then(mebibytes).context("memory is requested in Mi")?;
        ensure!(
            (used..=used * SLACK).contains(&requested),
            "{} requests {requested} bytes, and took {used} when it was measured",
            name(workload)
        );
    }
    Ok(())
}

/// Peak bytes of a workload, of the cluster of 10 000 pods or of the fullest node of a benchmark.
fn measured(figures: &Value, workload: &str) -> Result<u64> {
    let peak = |pods: u64, pods_only: bool| {
        let of_size = |size: &&Value| size["pods"] == pods && size["pods_only"] == pods_only;
        list(figures, "/sizes").iter().find(of_size)?.pointer("/lives/ours/settled/peak")?.as_u64()
    };
    let found = match workload {
        "ksm-node" => {
            list(figures, "/node").iter().filter_map(|node| node.pointer("/sides/ours/memory/peak")?.as_u64()).max()
        }
        "ksm-unscheduled" => peak(10_000, true),
        // What is not pods, and what a process takes in any case.
        "ksm-rest" => (|| Some(peak(10_000, false)?.checked_sub(peak(10_000, true)?)? + peak(1_000, true)?))(),
        _ => peak(10_000, false),
    };
    found.with_context(|| format!("docs/benchmarks.json has no figure for {workload}: run `cargo xtask bench`"))
}

fn mebibytes(text: &str) -> Option<u64> {
    Some(text.strip_suffix("Mi")?.parse::<u64>().ok()? << 20)
}

#[cfg(test)]
mod tests;

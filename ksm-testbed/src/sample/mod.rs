//! Sample clusters of any size: the same options make the same objects, byte for byte.
//!
//! A [`plan`] decides names, owners, nodes and states; the other modules turn it into objects. Pods of one workload in
//! the same state differ in a few values of fixed length, so they are stamped from a [`template`], not encoded one by
//! one.

mod cluster;
mod managed;
mod network;
mod nodes;
pub(crate) mod plan;
pub(crate) mod pods;
mod policy;
mod storage;
mod template;
mod workloads;

use std::{collections::HashMap, thread};

use plan::{Plan, State, Workload, WorkloadKind};
use serde_json::Value;
use template::Template;

use crate::{
    cluster::Cluster,
    codec,
    resources::{self, Resource},
};

/// The size of a sample cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleOptions {
    /// Pods, exactly.
    pub pods: usize,
    /// Nodes, exactly; at least 1.
    pub nodes: usize,
    /// Namespaces, `default` and the two of the system included; at least 4.
    pub namespaces: usize,
    /// The same seed makes the same objects.
    pub seed: u64,
}

impl SampleOptions {
    /// A cluster with this many pods and a usual number of nodes and namespaces for them.
    pub fn new(pods: usize, seed: u64) -> Self {
        Self { pods, nodes: (pods / 40).max(3), namespaces: (pods / 200).clamp(4, 200), seed }
    }
}

/// Encoded objects of one resource.
struct Encoded {
    resource: &'static Resource,
    objects: Vec<Vec<u8>>,
}

impl Cluster {
    /// A cluster with sample objects in it.
    pub fn sample(options: &SampleOptions) -> Self {
        let cluster = Self::new(crate::DEFAULT_HISTORY, options.seed);
        cluster.fill(options);
        cluster
    }

    /// Adds the sample objects, without events.
    pub(crate) fn fill(&self, options: &SampleOptions) {
        let plan = Plan::new(options);
        let mut objects = cluster::objects(&plan);
        objects.extend(nodes::objects(&plan));
        objects.extend(policy::objects(&plan));
        self.load_all(encode(objects));
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let share = plan.workloads.len().div_ceil(workers).max(1);
        thread::scope(|scope| {
            let encode = |workloads| {
                let plan = &plan;
                scope.spawn(move || encode_workloads(plan, workloads))
            };
            let tasks: Vec<_> = plan.workloads.chunks(share).map(encode).collect();
            for task in tasks {
                let (pods, others) = task.join().expect("encoding a valid plan cannot panic");
                self.load_all(others);
                self.load_all(vec![Encoded { resource: resource("Pod", "v1"), objects: pods }]);
            }
        });
    }

    fn load_all(&self, encoded: Vec<Encoded>) {
        for Encoded { resource, objects } in encoded {
            self.collection(resource).load(objects);
        }
    }
}

fn resource(kind: &str, api_version: &str) -> &'static Resource {
    resources::by_kind(api_version, kind).expect("samples are of served kinds")
}

/// Encodes objects, kind by kind.
fn encode(objects: Vec<Value>) -> Vec<Encoded> {
    let mut encoded: Vec<Encoded> = Vec::new();
    for object in objects {
        let text = |key: &str| object[key].as_str().expect("samples name their kind");
        let resource = resource(text("kind"), text("apiVersion"));
        let bytes = codec::to_protobuf(resource.message(), &object)
            .unwrap_or_else(|error| panic!("sample {}: {error}", text("kind")));
        match encoded.iter_mut().find(|encoded| std::ptr::eq(encoded.resource, resource)) {
            Some(found) => found.objects.push(bytes),
            None => encoded.push(Encoded { resource, objects: vec![bytes] }),
        }
    }
    encoded
}

/// The pods of some workloads, and everything else that belongs to them.
fn encode_workloads(plan: &Plan, workloads: &[Workload]) -> (Vec<Vec<u8>>, Vec<Encoded>) {
    let (mut pods, mut others) = (Vec::new(), Vec::new());
    for workload in workloads {
        let planned = plan.pods_of(workload);
        others.extend(workloads::objects(plan, workload, planned));
        others.extend(network::objects(plan, workload, planned));
        others.extend(storage::objects(plan, workload, planned));
        let mut templates: HashMap<State, Template> = HashMap::new();
        for pod in planned {
            pods.push(match workload.kind {
                // Names of one length only: a random suffix.
                WorkloadKind::Deployment { .. } | WorkloadKind::DaemonSet | WorkloadKind::Job { .. } => {
                    templates.entry(pod.state).or_insert_with(|| Template::new(plan, workload, pod)).stamp(plan, pod)
                }
                _ => encode_pod(&pods::pod(workload, &pods::Identity::of(plan, pod))),
            });
        }
    }
    (pods, encode(others))
}

fn encode_pod(pod: &Value) -> Vec<u8> {
    codec::to_protobuf(resource("Pod", "v1").message(), pod).unwrap_or_else(|error| panic!("sample pod: {error}"))
}

#[cfg(test)]
mod tests;

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
mod pod_status;
pub(crate) mod pods;
mod policy;
mod storage;
mod template;
mod workloads;

use std::{collections::HashMap, sync::mpsc, thread};

use plan::{Plan, State, Workload, WorkloadKind};
use serde_json::Value;
use template::{Bases, Template};

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
        thread::scope(|scope| {
            // Every worker takes its turn, so that the order does not depend on their number or speed. Channels are
            // short: what is encoded is stored at once, not piled up.
            let channels: Vec<_> = (0..workers)
                .map(|worker| {
                    let (sender, receiver) = mpsc::sync_channel(4);
                    let plan = &plan;
                    scope.spawn(move || {
                        let share = plan.workloads.iter().skip(worker).step_by(workers);
                        share
                            .map(|workload| encode_workload(plan, workload))
                            .all(|encoded| sender.send(encoded).is_ok())
                    });
                    receiver
                })
                .collect();
            for index in 0..plan.workloads.len() {
                self.load_all(channels[index % workers].recv().expect("encoding a valid plan cannot panic"));
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

/// A workload with its pods and everything else that belongs to it.
fn encode_workload(plan: &Plan, workload: &Workload) -> Vec<Encoded> {
    let planned = plan.pods_of(workload);
    let mut others = workloads::objects(plan, workload, planned);
    others.extend(network::objects(plan, workload, planned));
    others.extend(storage::objects(plan, workload, planned));
    let (mut templates, mut bases) = (HashMap::<State, Template>::new(), Bases::default());
    let pods = planned.iter().map(|pod| match workload.kind {
        WorkloadKind::Static | WorkloadKind::Bare => pods::encode(workload, &pods::Identity::of(plan, pod)),
        // Names of one length only: they differ in a suffix or a digit.
        _ => templates
            .entry(pod.state)
            .or_insert_with(|| Template::new(plan, workload, pod, &mut bases))
            .stamp(plan, pod),
    });
    let mut encoded = vec![Encoded { resource: resource("Pod", "v1"), objects: pods.collect() }];
    encoded.extend(encode(others));
    encoded
}

#[cfg(test)]
mod tests;

//! Sample clusters: the same for a seed, consistent in themselves, of the size asked for.

use std::collections::BTreeSet;

use super::*;

#[test]
fn the_same_options_make_the_same_bytes() {
    let cluster = || Cluster::sample(&SampleOptions::new(300, 7));
    let bytes = |cluster: &Cluster| -> Vec<_> {
        let snapshot = |resource| cluster.collection(resource).snapshot(None).objects;
        resources::RESOURCES.iter().flat_map(snapshot).map(|object| object.bytes.clone()).collect()
    };
    assert!(bytes(&cluster()) == bytes(&cluster()));
    assert!(bytes(&cluster()) != bytes(&Cluster::sample(&SampleOptions::new(300, 8))));
}

#[test]
fn counts_are_exact_and_every_resource_has_an_object() {
    for pods in [0, 1, 10, 57, 300] {
        let cluster = Cluster::sample(&SampleOptions::new(pods, 1));
        assert_eq!(cluster.count("pods").unwrap(), pods);
        assert_eq!(cluster.count("nodes").unwrap(), SampleOptions::new(pods, 1).nodes);
    }
    let counts = Cluster::sample(&SampleOptions::new(2000, 1)).counts();
    let missing: Vec<_> =
        resources::RESOURCES.iter().map(|r| r.plural).filter(|name| !counts.contains_key(name)).collect();
    assert_eq!(missing, ["customresourcedefinitions"]);
}

#[test]
fn a_stamped_pod_is_the_pod_encoded_by_itself() {
    let plan = Plan::new(&SampleOptions::new(500, 3));
    let mut states = BTreeSet::new();
    for workload in &plan.workloads {
        let mut bases = Bases::default();
        if !matches!(workload.kind, WorkloadKind::Static | WorkloadKind::Bare) {
            for pod in plan.pods_of(workload) {
                let template = Template::new(&plan, workload, pod, &mut bases);
                let alone = pods::encode(workload, &pods::Identity::of(&plan, pod));
                assert!(template.stamp(&plan, pod) == alone, "{} {:?}", pod.name, pod.state);
                states.insert(format!("{:?}", pod.state));
            }
        }
    }
    assert_eq!(states.len(), 13, "{states:?}");
}

#[test]
fn no_two_of_a_hundred_thousand_pods_share_a_name() {
    let plan = Plan::new(&SampleOptions::new(100_000, 1));
    let names: BTreeSet<&str> = plan.pods.iter().map(|pod| pod.name.as_str()).collect();
    assert_eq!((plan.pods.len(), names.len()), (100_000, 100_000));
}

#[test]
fn names_and_uids_are_unique_and_pods_have_a_real_size() {
    let cluster = Cluster::sample(&SampleOptions::new(2000, 1));
    let mut uids = BTreeSet::new();
    for resource in resources::RESOURCES {
        for object in cluster.collection(resource).snapshot(None).objects {
            assert!(uids.insert(object.uid.clone()), "{} {:?}", resource.kind, object.key);
        }
    }
    let pods = cluster.collection(resource("Pod", "v1")).snapshot(None).objects;
    let average = pods.iter().map(|pod| pod.bytes.len()).sum::<usize>() / pods.len();
    assert!((7000..8800).contains(&average), "{average}");
}

//! A sample cluster's pods, encoded as the API server sends them, and a store to put them in.

use ksm_core::family::Plan;
use ksm_core::resource::{AnyResource, Rendered};
use ksm_core::resources;
use ksm_core::store::{ObjectKey, Store};
use ksm_core::view::Encoding;
use ksm_testbed::{Cluster, SampleOptions};

/// Pods and what is rendered of them.
pub struct Sample {
    /// The resource.
    pub resource: &'static dyn AnyResource,
    /// Families served without flags.
    pub plan: Plan,
    /// Each in protobuf, in order of namespace and name.
    pub pods: Vec<Vec<u8>>,
}

impl Sample {
    /// That many pods.
    pub fn new(pods: usize) -> Self {
        let cluster = Cluster::sample(&SampleOptions::new(pods, 1));
        let resource = resources::find("pods").expect("pods are served");
        let plan = Plan::by_default(&resource.families());
        let pods = cluster.list("pods").expect("pods are in the sample");
        let pods = pods.iter().map(|pod| ksm_testbed::encode(pod).expect("a pod encodes")).collect();
        Self { resource, plan, pods }
    }

    /// Renders one pod; returns its key.
    pub fn render(&self, pod: &[u8], out: &mut Rendered) -> ObjectKey {
        let mut key = None;
        let mut admit = |meta: &ksm_core::view::ObjectMeta| {
            key = Some(ObjectKey::new(meta));
            true
        };
        let rendered = self.resource.render(Encoding::Protobuf, pod, &self.plan, &mut admit, out);
        assert!(rendered.expect("a sample pod decodes"));
        key.expect("a pod has metadata")
    }

    /// A store with all pods, as a first list leaves it.
    pub fn store(&self) -> Store {
        let mut store = Store::new(self.plan.families().len());
        let (mut relist, mut rendered) = (store.relist(), Rendered::default());
        for pod in &self.pods {
            let key = self.render(pod, &mut rendered);
            store.relist_apply(&mut relist, key, &rendered);
        }
        store.replace(relist);
        store
    }

    /// The text of a pod with another value, one digit, in the first non-empty families.
    #[allow(dead_code, reason = "not every program changes pods")]
    pub fn changed(&self, rendered: &Rendered, families: usize, value: u8) -> Rendered {
        let mut out = Rendered::default();
        let (mut start, mut left) = (0, families);
        for family in 0..self.plan.families().len() {
            let end = rendered.ends[family] as usize;
            out.text.extend_from_slice(&rendered.text[start..end]);
            if end > start && left > 0 {
                let digit = out.text.len() - 2;
                out.text[digit] = b'0' + value;
                left -= 1;
            }
            out.ends.push(u32::try_from(out.text.len()).expect("a pod has little text"));
            out.samples.push(rendered.samples[family]);
            start = end;
        }
        out
    }
}

//! Live changes.
pub(crate) async fn run(_cluster: crate::Cluster, _per_second: f64) {}

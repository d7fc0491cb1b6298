//! ksm-node.
fn main() {}

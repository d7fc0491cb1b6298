//! ksm-shard.
fn main() {}

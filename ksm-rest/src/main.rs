//! ksm-rest.
fn main() {}

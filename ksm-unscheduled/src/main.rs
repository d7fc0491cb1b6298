//! ksm-unscheduled.
fn main() {}

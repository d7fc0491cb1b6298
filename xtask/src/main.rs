//! Builds, tests and measures the workspace.
fn main() {}

//! Kubeconfig files for clients of a test API server.
//!
//! Invariant: the file is JSON, which every YAML reader takes, so no YAML writer is needed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

/// Writes a kubeconfig with one cluster and one user to `path`, and returns the path.
pub fn write(path: PathBuf, server: &str, authority: &Path, token: &str) -> Result<PathBuf> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": authority}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    });
    fs::write(&path, config.to_string()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

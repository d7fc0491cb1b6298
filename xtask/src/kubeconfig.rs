//! Kubeconfig files for clients of a test API server.
//!
//! Invariant: the file is JSON, which every YAML reader takes, so no YAML writer is needed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Writes a kubeconfig for a server with TLS, whose certificate `authority` (PEM) signed, and a user with `token`.
pub fn write(path: PathBuf, server: &str, authority: &Path, token: &str) -> Result<PathBuf> {
    save(path, &json!({"server": server, "certificate-authority": authority}), &json!({"token": token}))
}

/// Writes a kubeconfig for a server without TLS and without users.
pub fn write_plain(path: PathBuf, server: &str) -> Result<PathBuf> {
    save(path, &json!({"server": server}), &json!({}))
}

fn save(path: PathBuf, cluster: &Value, user: &Value) -> Result<PathBuf> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    });
    let text = config.to_string();
    // Exporters may watch the file and start over when it is written, even with the same text.
    if fs::read_to_string(&path).is_ok_and(|present| present == text) {
        return Ok(path);
    }
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

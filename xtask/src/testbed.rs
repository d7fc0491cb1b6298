//! The embedded API server as a child process.
//!
//! Invariant: it listens on a free port of 127.0.0.1 and ends with its owner.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::cargo::TESTBED;
use crate::process::Process;

/// Time to make the sample cluster, if there is to be one.
const LIMIT: Duration = Duration::from_secs(120);

/// Pods of the demo cluster.
pub const DEMO_PODS: u32 = 1000;

/// Changes a second in the demo cluster.
pub const DEMO_CHURN: u32 = 20;

/// A running test bed.
pub struct Testbed {
    /// The child.
    pub process: Process,
    /// How to reach it.
    pub kubeconfig: PathBuf,
    /// `http://127.0.0.1:<port>`.
    pub address: String,
}

impl Testbed {
    /// Starts `binary` with a sample cluster that makes `churn` changes a second and filters for shards.
    pub fn start_lively(binary: &Path, pods: u32, churn: u32, folder: &Path) -> Result<Self> {
        Self::start(
            binary,
            &["--sharded-list-watch", "--pods", &pods.to_string(), "--churn", &churn.to_string()],
            folder,
        )
    }

    /// Starts `binary` with `arguments` of `serve`; kubeconfig and logs go to `folder`.
    pub fn start(binary: &Path, arguments: &[&str], folder: &Path) -> Result<Self> {
        let kubeconfig = folder.join("kubeconfig");
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).arg("--write-kubeconfig").arg(&kubeconfig);
        let mut process = Process::start(TESTBED, command, folder)?;
        let address = process.wait_for_line("listening on ", LIMIT)?;
        Ok(Self { process, kubeconfig, address })
    }
}

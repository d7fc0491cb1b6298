//! A simulated API server, for tests that run a binary and know nothing of async.

#![allow(dead_code, reason = "each test file uses a part of it")]

use ksm_testbed::{Builder, Testbed};

use super::program::Running;

/// A running API server. It has threads of its own.
pub struct ApiServer {
    pub testbed: Testbed,
}

impl ApiServer {
    /// An empty one.
    pub fn start() -> Self {
        Self::start_with(Testbed::builder())
    }

    /// One that was set up.
    pub fn start_with(builder: Builder) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let testbed = runtime.block_on(builder.start()).expect("the API server starts");
        Self { testbed }
    }

    /// Creates or changes an object.
    pub fn apply(&self, object: serde_json::Value) {
        self.testbed.cluster().apply(object).expect("the object is valid");
    }

    /// Closes all connections; new ones are accepted right away.
    pub fn cut(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
        runtime.block_on(async {
            self.testbed.down().await;
            self.testbed.up().await;
        });
    }

    /// Starts a program that reads from it, on free ports of the loopback.
    pub fn program(&self, program: &str, options: &[&str]) -> Running {
        let url = format!("--apiserver={}", self.testbed.url());
        let place = ["--host=127.0.0.1", "--port=0", "--telemetry-host=127.0.0.1", "--telemetry-port=0", &url];
        Running::start(program, &[&place[..], options].concat())
    }
}

//! `--load`: a Docker or Podman on this machine.
//!
//! Invariant: an engine is taken only if it answers, which is asked before anything is built.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::platform::Platform;

/// The engines, in the order in which they are tried, and what each is asked to see whether it answers.
const ENGINES: [(&str, &[&str]); 2] =
    [("docker", &["version", "--format", "{{.Server.Version}}"]), ("podman", &["info"])];

/// An engine that answers.
pub struct Engine {
    /// Its program.
    pub name: &'static str,
}

impl Engine {
    /// The first engine that answers.
    ///
    /// # Errors
    /// None does, and the message says why for each; or no image is for this machine.
    pub fn find(platforms: &[Platform]) -> Result<Self> {
        let own = Platform::of_this_machine()?;
        ensure!(
            platforms.contains(&own),
            "--load takes the image for this machine: add linux/{} to --platform",
            own.architecture()
        );
        Self::first(&ENGINES)
    }

    fn first(engines: &[(&'static str, &[&str])]) -> Result<Self> {
        let mut why = Vec::new();
        for (name, question) in engines {
            match Command::new(name).args(*question).stdin(Stdio::null()).output() {
                Ok(output) if output.status.success() => return Ok(Self { name }),
                Ok(output) => why.push(format!("{name}: {}", last_line(&output.stderr))),
                Err(_) => why.push(format!("{name}: is not on the PATH")),
            }
        }
        bail!(
            "--load needs a Docker or Podman that runs ({}); without one, `skopeo copy` takes the OCI layouts",
            why.join("; ")
        )
    }

    /// Loads an archive; returns the names that it has there.
    pub fn load(&self, archive: &Path) -> Result<String> {
        let output = Command::new(self.name).arg("load").arg("--input").arg(archive).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot run {}", self.name))?;
        ensure!(
            output.status.success(),
            "{} does not load {}: {}",
            self.name,
            archive.display(),
            last_line(&output.stderr)
        );
        let said = String::from_utf8_lossy(&output.stdout);
        let names = said.lines().filter_map(|line| Some(line.split_once("Loaded image")?.1.split_once(": ")?.1.trim()));
        Ok(names.collect::<Vec<_>>().join(", "))
    }
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_answers_is_taken() {
        assert_eq!(Engine::first(&[("ksm-no-such-engine", &[]), ("true", &[])]).unwrap().name, "true");
    }

    #[test]
    fn without_an_engine_each_is_named_with_its_reason() {
        let error = Engine::first(&[("ksm-no-such-engine", &[]), ("false", &[])]).err().unwrap().to_string();
        let reasons = "(ksm-no-such-engine: is not on the PATH; false: it says nothing)";
        assert!(error.contains(reasons), "{error}");
    }

    #[test]
    fn the_platform_of_this_machine_has_to_be_there() {
        let other = match Platform::of_this_machine().unwrap() {
            Platform::Amd64 => Platform::Arm64,
            Platform::Arm64 => Platform::Amd64,
        };
        let error = Engine::find(&[other]).err().unwrap().to_string();
        assert!(error.starts_with("--load takes the image for this machine: add linux/"), "{error}");
    }
}

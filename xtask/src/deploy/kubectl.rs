//! kubectl, as the user has it: their version, their kubeconfig, their ways to log in.
//!
//! Invariant: what kubectl says of a failure becomes one line.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::leftovers::Leftover;
use super::overlay::Workload;
use crate::process::{Process, Scratch};
use crate::progress::Progress;
use crate::wait;

/// The manager of what is applied: that of `kubectl apply`, so that both may be used in turn.
const MANAGER: &str = "--field-manager=kubectl";

/// The longest that one request may take.
const REQUEST_LIMIT: &str = "--request-timeout=60s";

/// What kubectl says of a kind that the API server does not have.
const UNKNOWN_TYPE: &str = "the server doesn't have a resource type";

/// A kubectl on the PATH.
pub struct Kubectl(());

/// The same with a cluster to talk to.
pub struct Server {
    /// The name in the kubeconfig.
    pub context: String,
}

impl Kubectl {
    /// Looks for it.
    pub fn new() -> Result<Self> {
        let found = Command::new("kubectl").args(["version", "--client"]).stdin(Stdio::null()).output();
        let output = found.map_err(|error| {
            anyhow::anyhow!("cannot run kubectl: {error}: install it, https://kubernetes.io/docs/tasks/tools/ says how")
        })?;
        ensure!(output.status.success(), "kubectl does not work: {}", failure(&output));
        Ok(Self(()))
    }

    /// What a folder renders to, as YAML.
    pub fn render(&self, folder: &Path) -> Result<String> {
        let mut command = Command::new("kubectl");
        command.arg("kustomize").arg(folder);
        run(command).with_context(|| format!("{} does not render", folder.display()))
    }

    /// The cluster of a context, by default of the current one.
    pub fn server(&self, context: Option<&str>) -> Result<Server> {
        let config = |arguments: &[&str]| {
            let mut command = Command::new("kubectl");
            command.arg("config").args(arguments);
            run(command)
        };
        let known = config(&["get-contexts", "--output", "name"])?;
        let known: Vec<&str> = known.split_whitespace().collect();
        let listed = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let context = match context {
            Some(given) => given.to_owned(),
            None => match config(&["current-context"]) {
                Ok(current) => current.trim().to_owned(),
                Err(_) => bail!("no context is current: name one with --context; the kubeconfig has {listed}"),
            },
        };
        ensure!(known.contains(&context.as_str()), "there is no context `{context}`; the kubeconfig has {listed}");
        Ok(Server { context })
    }
}

impl Server {
    fn kubectl(&self, verb: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(["--context", &self.context]).args(verb);
        command
    }

    /// Whether it has a namespace; also the first look whether it answers at all.
    pub fn has_namespace(&self, name: &str) -> Result<bool> {
        let arguments = ["get", "namespace", name, "--ignore-not-found", "--output", "name", REQUEST_LIMIT];
        let found = run(self.kubectl(&arguments)).with_context(|| format!("cannot ask {}", self.context))?;
        Ok(!found.trim().is_empty())
    }

    /// Objects of these kinds with a label, in a namespace or in the whole cluster; none of a kind that is not there.
    pub fn list(&self, kinds: &str, namespace: Option<&str>, selector: &str) -> Result<Vec<Value>> {
        let mut command = self.kubectl(&["get", kinds, "--selector", selector, "--output", "json", REQUEST_LIMIT]);
        if let Some(namespace) = namespace {
            command.args(["--namespace", namespace]);
        }
        let text = match run(command) {
            Err(error) if error.to_string().contains(UNKNOWN_TYPE) => return Ok(Vec::new()),
            text => text.with_context(|| format!("cannot ask {} for {kinds}", self.context))?,
        };
        let list: Value = serde_json::from_str(&text).context("what kubectl prints is no JSON")?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Where the accounts are that a ClusterRoleBinding is about, if it is there.
    pub fn bound(&self, binding: &str) -> Result<BTreeSet<String>> {
        let arguments = ["get", "clusterrolebinding", binding, "--ignore-not-found", "--output", "json", REQUEST_LIMIT];
        let text = run(self.kubectl(&arguments)).with_context(|| format!("cannot ask {}", self.context))?;
        if text.trim().is_empty() {
            return Ok(BTreeSet::new());
        }
        let found: Value = serde_json::from_str(&text).context("what kubectl prints is no JSON")?;
        let subjects = found["subjects"].as_array().into_iter().flatten();
        Ok(subjects.filter_map(|subject| subject["namespace"].as_str().map(str::to_owned)).collect())
    }

    /// Deletes an object; returns a line about it. What it looks after goes in its own time.
    pub fn delete(&self, leftover: &Leftover) -> Result<String> {
        let mut command = self.kubectl(&["delete", "--ignore-not-found", REQUEST_LIMIT]);
        command.args(leftover.arguments());
        run(command).with_context(|| format!("cannot delete {leftover}"))
    }

    /// The command that deletes an object, for somebody to run.
    pub fn deleting(&self, leftover: &Leftover) -> String {
        format!("kubectl --context {} delete {}", self.context, leftover.arguments().join(" "))
    }

    /// Has the API server check every object to the last field, as if it were applied.
    pub fn try_out(&self, scratch: &Scratch, objects: &[Value]) -> Result<()> {
        // Who else manages a field is a matter of applying.
        let arguments = ["--dry-run=server", "--validate=strict", "--force-conflicts"];
        let tried = run(self.with_objects(&["apply", "--server-side"], &arguments, scratch, objects)?);
        tried.map_err(|error| match unknown_kind(&error.to_string()) {
            Some(kind) => anyhow::anyhow!("nothing is applied: {} has {kind}", self.context),
            None => error.context(format!("nothing is applied: {} rejects it", self.context)),
        })?;
        Ok(())
    }

    /// What would change, as a diff; empty if nothing would.
    pub fn diff(&self, scratch: &Scratch, objects: &[Value], force: bool) -> Result<String> {
        let mut command = self.with_objects(&["diff", "--server-side"], forced(force), scratch, objects)?;
        let output = command.stdin(Stdio::null()).output().context("cannot run kubectl")?;
        // 1 says that there are differences.
        ensure!(matches!(output.status.code(), Some(0 | 1)), "nothing is applied: {}", failure(&output));
        // And yet kubectl may end so for other reasons, of which it then says more.
        let difference = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success() || !difference.is_empty(),
            "nothing is applied: kubectl diff: {}",
            failure(&output)
        );
        Ok(difference)
    }

    /// Applies objects; returns a line for each.
    pub fn apply(&self, scratch: &Scratch, objects: &[Value], force: bool) -> Result<String> {
        run(self.with_objects(&["apply", "--server-side"], forced(force), scratch, objects)?)
            .context("applied in part only")
    }

    fn with_objects(&self, verb: &[&str], flags: &[&str], scratch: &Scratch, objects: &[Value]) -> Result<Command> {
        let path = scratch.path().join("objects.json");
        std::fs::write(&path, super::list(objects).to_string())
            .with_context(|| format!("cannot write {}", path.display()))?;
        let mut command = self.kubectl(verb);
        command.args([MANAGER, REQUEST_LIMIT]).args(flags).arg("--filename").arg(path);
        Ok(command)
    }

    /// Waits until a workload is rolled out; returns what kubectl said last if that does not happen in time.
    pub fn rollout(
        &self,
        scratch: &Scratch,
        workload: &Workload,
        deadline: Instant,
        progress: &Progress,
    ) -> Result<Option<String>> {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        let mut command = self.kubectl(&["rollout", "status", "--namespace", &workload.namespace]);
        command.arg(workload.reference()).arg(format!("--timeout={}s", left.as_secs()));
        let mut process = Process::start("kubectl-rollout", command, scratch.path())?;
        let printed = scratch.path().join("kubectl-rollout.out");
        let last = || {
            let text = std::fs::read_to_string(&printed).unwrap_or_default();
            text.lines().last().map(|line| line.trim_end_matches('.').to_owned())
        };
        // kubectl has the same limit, and a little time to say what it waits for.
        let status = wait::until("kubectl rollout status", left + Duration::from_secs(30), || {
            if let Some(line) = last() {
                progress.note(&line);
            }
            process.exit_status()
        })?;
        if status.success() {
            return Ok(None);
        }
        Ok(Some(last().unwrap_or_else(|| one_line(&process.log()))))
    }
}

fn forced(force: bool) -> &'static [&'static str] {
    if force { &["--force-conflicts"] } else { &[] }
}

/// What a command prints.
fn run(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("cannot run kubectl")?;
    ensure!(output.status.success(), "{}", failure(&output));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn failure(output: &Output) -> String {
    one_line(&String::from_utf8_lossy(&output.stderr))
}

/// The line that says what is wrong, among those of a log; further ones are counted.
fn one_line(log: &str) -> String {
    let is_error = |line: &&str| line.to_lowercase().starts_with("error");
    let errors: Vec<&str> = log.lines().map(str::trim).filter(is_error).collect();
    let first = match errors.first() {
        Some(line) => line.strip_prefix("error: ").unwrap_or(line),
        None => log.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it says nothing"),
    };
    match errors.len() {
        0 | 1 => first.to_owned(),
        more => format!("{first} (and {} more)", more - 1),
    }
}

/// What is missing, if the API server does not know a kind.
fn unknown_kind(error: &str) -> Option<String> {
    let mut quoted = error.split_once("no matches for kind ")?.1.split('"');
    let (kind, version) = (quoted.nth(1)?, quoted.nth(1)?);
    let brought_by = match version.split('/').next() {
        Some("monitoring.coreos.com") => "the Prometheus Operator",
        Some("autoscaling.k8s.io") => "the VerticalPodAutoscaler",
        _ => "what defines it",
    };
    Some(format!(
        "no kind {kind} ({version}): install {brought_by} there, or leave the component with it out of the overlay"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_there_is_named_with_what_brings_it() {
        let said = "resource mapping not found for name: \"a\" namespace: \"b\" from \"/tmp/objects.json\": no matches for kind \
                    \"ServiceMonitor\" in version \"monitoring.coreos.com/v1\"";
        let line = unknown_kind(said).unwrap();
        assert!(
            line.starts_with("no kind ServiceMonitor (monitoring.coreos.com/v1): install the Prometheus Operator"),
            "{line}"
        );
        assert!(
            unknown_kind("no matches for kind \"VerticalPodAutoscaler\" in version \"autoscaling.k8s.io/v1\"")
                .unwrap()
                .contains("the VerticalPodAutoscaler")
        );
        assert_eq!(unknown_kind("spec.replicas: Invalid value"), None);
    }

    #[test]
    fn a_log_becomes_the_line_that_says_what_is_wrong() {
        let log = "W1201 a warning\nError from server (Invalid): spec is bad\nError from server (NotFound): gone\n";
        assert_eq!(one_line(log), "Error from server (Invalid): spec is bad (and 1 more)");
        assert_eq!(one_line("error: no such thing\nsee help\n"), "no such thing");
        assert_eq!(one_line("E1201 noise\nThe connection was refused\n\n"), "The connection was refused");
        assert_eq!(one_line(""), "it says nothing");
    }
}

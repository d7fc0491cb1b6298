//! `cargo xtask deploy`: shows what would change, asks, applies and waits; what it cannot do changes nothing.
//!
//! No controller runs, so a rollout is what this scenario says of it.
//!
//! Invariant: what a run creates it deletes, but for the namespaces.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::cluster::ADMIN_TOKEN;
use crate::e2e::world::World;
use crate::manifests::render;
use crate::{kubeconfig, ports, tools};

/// The namespace of this run.
const NAMESPACE: &str = "ksm-e2e-deploy";

/// Where that has the one workload of the overlay.
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/ksm-e2e-deploy/deployments/ksm-shard";

/// Where it has the workload of another.
const SET: &str = "/apis/apps/v1/namespaces/ksm-e2e-deploy/statefulsets/ksm-shard-auto";

/// The namespace of a second copy.
const SECOND: &str = "ksm-e2e-deploy-b";

/// Where images are said to be.
const IMAGES: &str = "registry.example.com/monitoring";

/// A terminal around a program: what it is told comes from standard input.
const TERMINAL: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// Runs the scenario.
pub fn run(world: &mut World) -> Result<String> {
    let deploy = Deploy::new(world)?;
    let outcome = deploy.check(world);
    let cleaned = deploy.clean_up();
    let refused = outcome?;
    cleaned?;
    Ok(format!(
        "{refused} refusals in one line changed nothing; a no at the terminal neither; applied, changed and found unchanged; a \
         rollout was waited for, and one that does not end was given up; fields of kubectl apply taken over; a second copy got \
         names of its own; what another overlay lacked was named, and deleted once it was rolled out"
    ))
}

/// How the command is called.
struct Deploy {
    kubeconfig: PathBuf,
    path: std::ffi::OsString,
    kubectl: PathBuf,
    /// The overlay of this run, and the folder of others that are wrong.
    overlay: PathBuf,
    others: PathBuf,
}

impl Deploy {
    fn new(world: &World) -> Result<Self> {
        let kubectl = tools::ensure(&tools::KUBECTL)?;
        let mut folders: Vec<PathBuf> = kubectl.parent().map(Path::to_owned).into_iter().collect();
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let others = world.scratch.folder("overlays")?;
        let overlay = write_overlay(&others, "good", "small", NAMESPACE, "")?;
        let kubeconfig = world.api.kubeconfig(ADMIN_TOKEN)?;
        Ok(Self { kubeconfig, path: std::env::join_paths(folders)?, kubectl, overlay, others })
    }

    fn command(&self, overlay: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(own_path()?);
        command.args(["deploy", "--overlay", overlay]).args(arguments);
        command.env("KUBECONFIG", &self.kubeconfig).env("PATH", &self.path);
        Ok(command)
    }

    fn good(&self, arguments: &[&str]) -> Result<Command> {
        self.command(&self.overlay.display().to_string(), arguments)
    }

    fn images(tag: &str) -> String {
        format!("{IMAGES}:{tag}")
    }

    fn check(&self, world: &World) -> Result<usize> {
        let refused = self.check_refusals(world)?;
        let client = world.api.client()?;
        let image = || -> Result<String> {
            let found = client.get_json(DEPLOYMENT)?;
            let image = found.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str);
            Ok(image.context("a Deployment has an image")?.to_owned())
        };
        let first = Self::images("v1");

        let said = at_terminal(self.good(&["--images", &first, "--no-wait", "--create-namespace"])?, "n")?;
        ensure!(!said.status.success(), "a no was taken for a yes");
        let text = String::from_utf8_lossy(&said.stdout);
        for word in [
            "+kind: Namespace",
            "+kind: Deployment",
            "registry.example.com/monitoring/ksm-shard:v1",
            "apply this to test?",
            "nothing is applied",
        ] {
            ensure!(text.contains(word), "the terminal does not show `{word}`:\n{text}");
        }
        self.check_untouched(world)?;

        let said = at_terminal(self.good(&["--images", &first, "--no-wait", "--create-namespace"])?, "y")?;
        ensure!(said.status.success(), "a yes at the terminal: {}", String::from_utf8_lossy(&said.stdout));
        ensure!(image()? == format!("{IMAGES}/ksm-shard:v1"), "the image is {}", image()?);

        let again = succeed(self.good(&["--images", &first, "--no-wait"])?)?;
        ensure!(again == "nothing to change in test\n", "the second time it says: {again}");

        let second = Self::images("v2");
        let slow = fail(self.good(&["--images", &second, "--yes", "--timeout", "1"])?)?;
        ensure!(slow.contains("ksm-shard is not rolled out after 1 s") && slow.contains("describe pods"), "{slow}");
        ensure!(image()? == format!("{IMAGES}/ksm-shard:v2"), "the image is {}", image()?);
        roll_out(world)?;
        succeed(self.good(&["--images", &second])?)?;

        // What `kubectl apply -k` owns, this command changes all the same.
        let images = format!(
            "images:\n  - name: registry.invalid/kube-state-metrics-sharded/ksm-shard\n    newName: {IMAGES}/ksm-shard\n    newTag: v3\n"
        );
        let third = write_overlay(&self.others, "third", "small", NAMESPACE, &images)?;
        let mut apply = Command::new(&self.kubectl);
        apply.env("KUBECONFIG", &self.kubeconfig).args(["apply", "-k"]).arg(&third);
        succeed(apply)?;
        ensure!(image()? == format!("{IMAGES}/ksm-shard:v3"), "the image is {}", image()?);
        let changed = succeed(self.good(&["--images", &Self::images("v4"), "--yes", "--no-wait"])?)?;
        for line in ["ksm-shard:v3", "ksm-shard:v4"] {
            ensure!(changed.contains(line), "the diff does not show {line}:\n{changed}");
        }
        ensure!(image()? == format!("{IMAGES}/ksm-shard:v4"), "the image is {}", image()?);
        self.check_second_copy(world)?;
        self.check_pruning(world)?;
        Ok(refused + 1)
    }

    /// A copy in another namespace takes no rights away, and may have names of its own.
    fn check_second_copy(&self, world: &World) -> Result<()> {
        let client = world.api.client()?;
        let images = Self::images("v1");
        let yes = ["--images", &images, "--yes", "--no-wait", "--create-namespace"];
        let second = write_overlay(&self.others, "second", "small", SECOND, "")?;
        let line = fail(self.command(&second.display().to_string(), &yes)?)?;
        for word in ["nothing is applied", "ClusterRoleBinding ksm-shard", NAMESPACE, "nameSuffix"] {
            ensure!(line.contains(word), "the refusal of a second copy does not mention `{word}`: {line}");
        }
        let status = client.get(&format!("/api/v1/namespaces/{SECOND}/serviceaccounts/ksm-shard"), None)?.status;
        ensure!(status == 404, "a second copy was applied in part");
        let second = write_overlay(&self.others, "second", "small", SECOND, "nameSuffix: -b\n")?;
        succeed(self.command(&second.display().to_string(), &yes)?)?;
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        for (name, namespace) in [("ksm-shard", NAMESPACE), ("ksm-shard-b", SECOND)] {
            let found = client.get_json(&format!("{path}/{name}"))?;
            ensure!(found["subjects"][0]["namespace"] == namespace, "{name} is about {}", found["subjects"]);
        }
        Ok(())
    }

    /// Another overlay in the same namespace: what it lacks is named, and goes only once it is rolled out, if told to.
    fn check_pruning(&self, world: &World) -> Result<()> {
        let client = world.api.client()?;
        let there = |path: &str| -> Result<bool> {
            let status = client.get(path, None)?.status;
            ensure!([200, 404].contains(&status), "{path} answers {status}");
            Ok(status == 200)
        };
        // Of somebody else.
        let mut other = client.get_json(DEPLOYMENT)?;
        let template = other["spec"].take();
        let foreign =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "other"}, "spec": template});
        client.send_json("POST", &format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments"), &foreign)?;

        let overlay = write_overlay(&self.others, "sharded", "hash-sharded", NAMESPACE, "")?.display().to_string();
        let images = Self::images("v4");
        let mut first = self.command(&overlay, &["--images", &images, "--yes", "--no-wait"])?;
        let output = first.stdin(Stdio::null()).output().context("cannot run it")?;
        let warned = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "another overlay is not applied: {warned}");
        let command = format!("kubectl --context test delete --namespace {NAMESPACE} deployment.apps/ksm-shard");
        for word in ["warning: Deployment/ksm-e2e-deploy/ksm-shard", "twice", "--prune", &command] {
            ensure!(warned.contains(word), "the warning does not mention `{word}`: {warned}");
        }
        ensure!(!warned.contains("/other"), "a workload of somebody else is meant too: {warned}");
        ensure!(there(DEPLOYMENT)?, "it is gone without --prune");

        let prune = ["--images", &images, "--yes", "--prune"];
        let slow = fail(self.command(&overlay, &[prune.as_slice(), &["--timeout", "1"]].concat())?)?;
        ensure!(slow.contains("ksm-shard-auto is not rolled out"), "{slow}");
        ensure!(there(DEPLOYMENT)?, "it is gone before its successor is ready");

        let generation = client.get_json(SET)?["metadata"]["generation"].clone();
        let status = json!({"status": {
            "observedGeneration": generation, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "currentReplicas": 3, "updatedReplicas": 3, "currentRevision": "a", "updateRevision": "a",
        }});
        client.send_json("PATCH", &format!("{SET}/status"), &status)?;
        let said = succeed(self.command(&overlay, &prune)?)?;
        let rights = "/apis/rbac.authorization.k8s.io/v1";
        for (object, path) in [
            ("Deployment/ksm-e2e-deploy/ksm-shard", DEPLOYMENT.to_owned()),
            ("Service/ksm-e2e-deploy/ksm-shard", format!("/api/v1/namespaces/{NAMESPACE}/services/ksm-shard")),
            (
                "ServiceAccount/ksm-e2e-deploy/ksm-shard",
                format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/ksm-shard"),
            ),
            ("ClusterRole/ksm-shard", format!("{rights}/clusterroles/ksm-shard")),
            ("ClusterRoleBinding/ksm-shard", format!("{rights}/clusterrolebindings/ksm-shard")),
        ] {
            ensure!(said.contains(&format!("--- {object}\n+++ /dev/null\n")), "{object} is not shown:\n{said}");
            ensure!(!there(&path)?, "{object} is still there:\n{said}");
        }
        for path in [
            SET.to_owned(),
            format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/other"),
            format!("/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/kube-state-metrics-sharded"),
            format!("/apis/apps/v1/namespaces/{SECOND}/deployments/ksm-shard-b"),
            format!("{rights}/clusterrolebindings/ksm-shard-b"),
        ] {
            ensure!(there(&path)?, "{path} was deleted:\n{said}");
        }
        let again = succeed(self.command(&overlay, &prune)?)?;
        ensure!(again.starts_with("nothing to change in test\n"), "the second time it says: {again}");
        client.send_json("DELETE", &format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/other"), &json!({}))?;
        Ok(())
    }

    fn check_refusals(&self, world: &World) -> Result<usize> {
        let images = Self::images("v1");
        let yes = ["--images", &images, "--yes", "--no-wait", "--create-namespace"];
        let mut count = 0;
        let mut refuse = |what: &str, command: Command, mentions: &[&str]| -> Result<()> {
            count += 1;
            let line = fail(command).with_context(|| what.to_owned())?;
            for word in mentions {
                ensure!(line.contains(word), "{what}: its message does not mention `{word}`: {line}");
            }
            self.check_untouched(world).with_context(|| what.to_owned())
        };
        refuse("unknown overlay", self.command("huge", &yes)?, &["`huge`", "small", "per-node", "hash-sharded"])?;
        let context = [yes.as_slice(), &["--context", "prod"]].concat();
        refuse("unknown context", self.good(&context)?, &["`prod`", "the kubeconfig has test"])?;
        let mut without = self.good(&yes)?;
        without.env("PATH", world.scratch.folder("no-programs")?);
        refuse("no kubectl", without, &["kubectl", "install"])?;
        refuse("placeholders", self.good(&["--yes"])?, &["placeholder", "--images"])?;
        refuse(
            "no terminal",
            self.good(&["--images", &images, "--create-namespace"])?,
            &["nothing is applied", "--yes"],
        )?;
        refuse("no tag", self.good(&["--images", IMAGES, "--yes"])?, &["was pushed from this checkout", IMAGES])?;

        let nowhere = format!("http://127.0.0.1:{}", ports::free()?);
        let away = kubeconfig::write_plain(world.scratch.path().join("away.kubeconfig"), &nowhere)?;
        let mut unreachable = self.good(&yes)?;
        unreachable.env("KUBECONFIG", away);
        refuse("no server", unreachable, &["cannot ask test", "refused"])?;

        let patch = |operation: &str| {
            format!("patches:\n  - target: {{kind: Deployment}}\n    patch: |\n      - {operation}\n")
        };
        for (name, operation, mentions) in [
            ("misspelt", "{op: add, path: /spec/template/spec/nodeSelektor, value: {}}", "nodeSelektor"),
            ("invalid", "{op: add, path: /spec/replicas, value: -1}", "spec.replicas"),
        ] {
            let overlay = write_overlay(&self.others, name, "small", NAMESPACE, &patch(operation))?;
            let command = self.command(&overlay.display().to_string(), &yes)?;
            refuse(name, command, &["nothing is applied", "rejects", mentions])?;
        }
        let homeless = write_overlay(&self.others, "homeless", "small", "ksm-e2e-nowhere", "")?;
        let command = self.command(&homeless.display().to_string(), &yes[..4])?;
        refuse("no namespace", command, &["no namespace ksm-e2e-nowhere", "--create-namespace"])?;
        Ok(count)
    }

    /// Nothing of the overlay is there, in its namespace or beside it.
    fn check_untouched(&self, world: &World) -> Result<()> {
        let client = world.api.client()?;
        for path in [
            "/api/v1/namespaces/ksm-e2e-deploy/serviceaccounts/ksm-shard",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/ksm-shard",
            DEPLOYMENT,
        ] {
            let status = client.get(path, None)?.status;
            ensure!(status == 404, "{path} answers {status}: something was applied");
        }
        Ok(())
    }

    /// The namespaces stay: they could not go without a controller.
    fn clean_up(&self) -> Result<()> {
        let kinds = "deployments,statefulsets,poddisruptionbudgets,services,serviceaccounts,roles,rolebindings,clusterroles,\
                     clusterrolebindings";
        for namespace in [NAMESPACE, SECOND] {
            let mut delete = Command::new(&self.kubectl);
            delete.env("KUBECONFIG", &self.kubeconfig).args(["delete", kinds, "--namespace", namespace]);
            delete.args(["--selector", "app.kubernetes.io/part-of=kube-state-metrics-sharded", "--ignore-not-found"]);
            succeed(delete)?;
        }
        Ok(())
    }
}

/// An overlay of an overlay, in a folder of its own.
fn write_overlay(parent: &Path, name: &str, of: &str, namespace: &str, rest: &str) -> Result<PathBuf> {
    let folder = parent.join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = format!("{}/deploy/overlays/{of}", render::way_to_root(&folder)?);
    let text = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: {namespace}\nresources:\n  - {path}\n{rest}"
    );
    fs::write(folder.join("kustomization.yaml"), text).context("cannot write an overlay")?;
    Ok(folder)
}

/// Says of the Deployment what its controller would say once all is well.
fn roll_out(world: &World) -> Result<()> {
    let client = world.api.client()?;
    let generation = client.get_json(DEPLOYMENT)?["metadata"]["generation"].clone();
    let status = json!({"status": {
        "observedGeneration": generation,
        "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
    }});
    client.send_json("PATCH", &format!("{DEPLOYMENT}/status"), &status)?;
    Ok(())
}

/// Runs a command at a terminal, at which `answer` is typed.
fn at_terminal(command: Command, answer: &str) -> Result<Output> {
    let mut terminal = Command::new("python3");
    terminal.args(["-c", TERMINAL]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        terminal.env(name, value.unwrap_or_default());
    }
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = terminal.spawn().context("cannot run python3")?;
    let mut input = child.stdin.take().context("it has an input")?;
    writeln!(input, "{answer}").context("cannot type an answer")?;
    drop(input);
    child.wait_with_output().context("cannot wait for the terminal")
}

/// Runs a command; returns what it printed.
fn succeed(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("cannot run it")?;
    if !output.status.success() {
        bail!("it ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command that must fail; returns the one line with its error.
fn fail(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("cannot run it")?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(1), "it ended with {}, want exit code 1; it said:\n{log}", output.status);
    let lines: Vec<&str> = log.lines().filter(|line| line.starts_with("error")).collect();
    let [line] = lines.as_slice() else { bail!("{} lines with an error, want one; it said:\n{log}", lines.len()) };
    Ok((*line).to_owned())
}

/// Where this program is. While it runs, cargo may have put the same program built for another selection in its place,
/// and then the system says that it was deleted.
fn own_path() -> Result<PathBuf> {
    let path = std::env::current_exe().context("xtask has a path")?;
    let known = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(known.filter(|known| known.is_file()).unwrap_or(path))
}

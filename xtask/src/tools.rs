//! `cargo xtask tools`: the real components of the end-to-end tests, built from pinned Go modules into a cache.
//!
//! Invariant: a binary in the cache is complete and of the version its folder names: it is built under another name
//! and renamed. Versions stand in `xtask/tools/<module>/go.mod` and nowhere else.

mod gomod;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;

use crate::cli::ToolsArgs;
use crate::process::Process;
use crate::progress::{Progress, elapsed};
use crate::{cargo, wait};

/// The longest build of one component, with a cold cache and at the lowest priority beside builds of others.
const BUILD_LIMIT: std::time::Duration = std::time::Duration::from_secs(4 * 60 * 60);

/// A program built from a Go module.
#[derive(Debug)]
pub struct Component {
    /// The name of its binary.
    pub name: &'static str,
    /// The folder of its `go.mod` in `xtask/tools`. Several components may share one.
    folder: &'static str,
    /// The Go module that has the version.
    module: &'static str,
    /// The Go package of the program.
    package: &'static str,
    /// The source file of a program of our own, in its folder; it counts for the version.
    source: Option<&'static str>,
    /// Go build tags.
    tags: &'static str,
    /// Kubernetes components learn their version at link time; without it, clients see v0.0.0.
    stamped: bool,
    /// A rough time for a cold build on two cores, in minutes, so that users know what they wait for.
    minutes: u32,
}

/// The store below the API server.
pub const ETCD: Component = Component {
    name: "etcd",
    folder: "etcd",
    module: "go.etcd.io/etcd/server/v3",
    package: "go.etcd.io/etcd/server/v3",
    source: None,
    tags: "",
    stamped: false,
    minutes: 2,
};

/// The API server.
pub const KUBE_APISERVER: Component = Component {
    name: "kube-apiserver",
    folder: "kubernetes",
    module: "k8s.io/kubernetes",
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    source: None,
    tags: "",
    stamped: true,
    minutes: 9,
};

/// What makes pods of workloads, endpoints of Services, and so on.
pub const KUBE_CONTROLLER_MANAGER: Component = Component {
    name: "kube-controller-manager",
    folder: "kubernetes",
    module: "k8s.io/kubernetes",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    source: None,
    tags: "",
    stamped: true,
    minutes: 4,
};

/// What binds pods to nodes.
pub const KUBE_SCHEDULER: Component = Component {
    name: "kube-scheduler",
    folder: "kubernetes",
    module: "k8s.io/kubernetes",
    package: "k8s.io/kubernetes/cmd/kube-scheduler",
    source: None,
    tags: "",
    stamped: true,
    minutes: 2,
};

/// What plays kubelets.
pub const KWOK: Component = Component {
    name: "kwok",
    folder: "kwok",
    module: "sigs.k8s.io/kwok",
    package: "sigs.k8s.io/kwok/cmd/kwok",
    source: None,
    tags: "",
    stamped: false,
    minutes: 2,
};

/// The reference.
pub const REFERENCE: Component = Component {
    name: "kube-state-metrics",
    folder: "kube-state-metrics",
    module: "k8s.io/kube-state-metrics/v2",
    package: "k8s.io/kube-state-metrics/v2",
    source: None,
    tags: "",
    stamped: false,
    minutes: 4,
};

/// Leaves out the service discoveries and their cloud SDKs, which take longer to build than all the rest.
const ONLY_STATIC_TARGETS: &str = "remove_all_sd";

/// The same, but for the discovery that our scrape configurations use.
const ONLY_KUBERNETES_TARGETS: &str = "remove_all_sd,enable_kubernetes_sd";

/// The scraper.
pub const PROMETHEUS: Component = Component {
    name: "prometheus",
    folder: "prometheus",
    module: "github.com/prometheus/prometheus",
    package: "github.com/prometheus/prometheus/cmd/prometheus",
    source: None,
    tags: ONLY_KUBERNETES_TARGETS,
    stamped: false,
    minutes: 5,
};

/// Its linter.
pub const PROMTOOL: Component = Component {
    name: "promtool",
    folder: "prometheus",
    module: "github.com/prometheus/prometheus",
    package: "github.com/prometheus/prometheus/cmd/promtool",
    source: None,
    tags: ONLY_STATIC_TARGETS,
    stamped: false,
    minutes: 1,
};

/// Its parsers, behind a small program of our own.
pub const PARSE_EXPOSITION: Component = Component {
    name: "parse-exposition",
    folder: "prometheus",
    module: "github.com/prometheus/prometheus",
    package: "./parse-exposition",
    source: Some("parse-exposition/main.go"),
    tags: ONLY_STATIC_TARGETS,
    stamped: false,
    minutes: 1,
};

/// What renders `deploy/`.
pub const KUSTOMIZE: Component = Component {
    name: "kustomize",
    folder: "kustomize",
    module: "sigs.k8s.io/kustomize/kustomize/v5",
    package: "sigs.k8s.io/kustomize/kustomize/v5",
    source: None,
    tags: "",
    stamped: false,
    minutes: 1,
};

/// What `cargo xtask deploy` is tried with.
pub const KUBECTL: Component = Component {
    name: "kubectl",
    folder: "kubernetes",
    module: "k8s.io/kubernetes",
    package: "k8s.io/kubernetes/cmd/kubectl",
    source: None,
    tags: "",
    stamped: true,
    minutes: 1,
};

/// A registry of images: the one of the distribution project, behind a small program of our own.
pub const REGISTRY: Component = Component {
    name: "serve-registry",
    folder: "registry",
    module: "github.com/distribution/distribution/v3",
    package: "./serve-registry",
    source: Some("serve-registry/main.go"),
    tags: "",
    stamped: false,
    minutes: 1,
};

/// Everything that `cargo xtask tools` builds, in this order.
const COMPONENTS: [&Component; 12] = [
    &ETCD,
    &REFERENCE,
    &KUBE_APISERVER,
    &KUBE_SCHEDULER,
    &KUBE_CONTROLLER_MANAGER,
    &KWOK,
    &PROMETHEUS,
    &PROMTOOL,
    &PARSE_EXPOSITION,
    &KUSTOMIZE,
    &KUBECTL,
    &REGISTRY,
];

/// The values of `--only`.
pub fn component_names() -> PossibleValuesParser {
    PossibleValuesParser::new(COMPONENTS.map(|component| component.name))
}

/// Runs the command.
pub fn run(arguments: &ToolsArgs) -> Result<()> {
    if arguments.print_dir {
        println!("{}", cache_dir()?.display());
        return Ok(());
    }
    for component in COMPONENTS {
        if arguments.only.as_deref().is_none_or(|only| only == component.name) {
            let path = ensure(component)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

/// The path of a component's binary, built now if it is not there yet.
pub fn ensure(component: &Component) -> Result<PathBuf> {
    let folder = folder(component);
    let version = component_version(component, &folder)?;
    if let Some(given) = from_assets(component, &version)? {
        return Ok(given);
    }
    let home = cache_dir()?.join(component.name).join(&version);
    let binary = home.join(component.name);
    if !binary.is_file() {
        build(component, &version, &folder, &home)?;
    }
    Ok(binary)
}

/// The pinned version of a component.
pub fn version(component: &Component) -> Result<String> {
    component_version(component, &folder(component))
}

/// Where its `go.mod` is.
fn folder(component: &Component) -> PathBuf {
    cargo::workspace_root().join("xtask/tools").join(component.folder)
}

/// `$KSM_TOOLS_DIR`, else `ksm-tools` in the user's cache folder.
fn cache_dir() -> Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    choose_cache_dir(variable).context(
        "neither KSM_TOOLS_DIR nor XDG_CACHE_HOME nor HOME is set: set KSM_TOOLS_DIR to a folder for the tools",
    )
}

fn choose_cache_dir(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable("KSM_TOOLS_DIR").map(PathBuf::from).or_else(|| {
        let caches = variable("XDG_CACHE_HOME").map(PathBuf::from);
        Some(caches.or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")))?.join("ksm-tools"))
    })
}

/// The version of its module and, where more than that decides what is built, the start of the digest of its build tags
/// and of the source of a program of our own.
fn component_version(component: &Component, folder: &Path) -> Result<String> {
    let version = pinned_version(folder, component.module)?;
    if component.tags.is_empty() && component.source.is_none() {
        return Ok(version);
    }
    let mut text = component.tags.as_bytes().to_vec();
    if let Some(source) = component.source {
        let path = folder.join(source);
        text.extend(std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?);
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, &text);
    let start: String = digest.as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{version}-{start}"))
}

fn pinned_version(folder: &Path, module: &str) -> Result<String> {
    let path = folder.join("go.mod");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    gomod::required_version(&text, module)
        .with_context(|| format!("{} requires no {module}: run `go get -tool` there", path.display()))
}

/// The binary in `$KUBEBUILDER_ASSETS`, if that folder has it.
fn from_assets(component: &Component, pinned: &str) -> Result<Option<PathBuf>> {
    let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS") else { return Ok(None) };
    let path = Path::new(&assets).join(component.name);
    if ![ETCD.name, KUBE_APISERVER.name].contains(&component.name) || !path.is_file() {
        return Ok(None);
    }
    let output = Command::new(&path).arg("--version").output();
    let output = output.with_context(|| format!("KUBEBUILDER_ASSETS: cannot run {}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found = gomod::printed_version(&text)
        .with_context(|| format!("KUBEBUILDER_ASSETS: {} --version printed no version", path.display()))?;
    let remark = if found == pinned { String::new() } else { format!(" (the tests are written for {pinned})") };
    eprintln!("  using {} {found} from KUBEBUILDER_ASSETS{remark}", component.name);
    Ok(Some(path))
}

fn build(component: &Component, version: &str, folder: &Path, home: &Path) -> Result<()> {
    let name = component.name;
    let go = go_version()?;
    std::fs::create_dir_all(home).with_context(|| format!("cannot create {}", home.display()))?;
    let unfinished = home.join(format!(".{name}.{}", std::process::id()));
    let mut command = Command::new("go");
    command.current_dir(folder).arg("build").arg("-o").arg(&unfinished);
    // The folder is no release of the component, so its commit would only mislead.
    let flags = std::env::var("GOFLAGS").unwrap_or_default();
    command.env("GOFLAGS", format!("{flags} -buildvcs=false").trim_start()).env("GOWORK", "off");
    if component.stamped {
        command.arg("-ldflags").arg(gomod::link_flags(version)?);
    }
    if !component.tags.is_empty() {
        command.arg("-tags").arg(component.tags);
    }
    command.arg(component.package);

    let minutes = component.minutes;
    let progress =
        Progress::start(format!("building {name} {version} with {go}, about {minutes} min if nothing is cached"));
    // Its own process group, so that Ctrl-C stops the compilers with it.
    let mut process = Process::start(&format!("build-{name}"), command, home)?;
    let outcome = wait::until(&format!("the build of {name}"), BUILD_LIMIT, || process.exit_status());
    if !outcome.as_ref().is_ok_and(std::process::ExitStatus::success) {
        let _ = std::fs::remove_file(&unfinished);
    }
    if !outcome?.success() {
        bail!("go build of {name} in {} failed:\n{}", folder.display(), process.log_tail());
    }
    std::fs::rename(&unfinished, home.join(name)).with_context(|| format!("cannot rename {}", unfinished.display()))?;
    for output in ["log", "out"] {
        let _ = std::fs::remove_file(home.join(format!("build-{name}.{output}")));
    }
    let took = progress.done("");
    eprintln!("        {name} {version} is in {} after {}", home.display(), elapsed(took));
    Ok(())
}

/// The first words of `go version`, or what to do without Go.
fn go_version() -> Result<String> {
    let output = Command::new("go").arg("version").stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| {
        anyhow::anyhow!(
            "cannot run `go`: {error}. Building the real components needs Go 1.26 or later on the PATH: \
             install it from https://go.dev/dl/, or put ready-made binaries into the folder that \
             `cargo xtask tools --print-dir` names"
        )
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split_whitespace().nth(2).unwrap_or("an unknown Go").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Option<PathBuf> {
        choose_cache_dir(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_cache_folder_follows_the_environment() {
        assert_eq!(chosen(&[("KSM_TOOLS_DIR", "t"), ("HOME", "h")]), Some("t".into()));
        assert_eq!(chosen(&[("XDG_CACHE_HOME", "x"), ("HOME", "h")]), Some("x/ksm-tools".into()));
        assert_eq!(chosen(&[("HOME", "h")]), Some("h/.cache/ksm-tools".into()));
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn every_component_has_a_pinned_version() {
        for component in COMPONENTS {
            let version = version(component).unwrap();
            assert!(version.starts_with('v'), "{}: {version}", component.name);
            let more = component.source.is_some() || !component.tags.is_empty();
            assert_eq!(version.contains('-'), more, "{}: {version}", component.name);
        }
    }
}

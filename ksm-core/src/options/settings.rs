//! Settings: everything a run needs to know, resolved and checked.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{KeyFilters, Patterns, SharedArgs, UsageError, entries};
use crate::autoshard::Autoshard;
use crate::family::{FamilyInfo, KeyFilter, Plan};
use crate::resource::AnyResource;
use crate::shard::Shard;

/// The only resource that can be selected by node.
const PODS: &str = "pods";

/// What a process is to do.
#[derive(Clone)]
pub struct Settings {
    /// How to reach the API server.
    pub connection: Connection,
    /// Where metrics are served.
    pub metrics: Address,
    /// Where self-metrics are served.
    pub telemetry: Address,
    /// Which objects of the cluster this process is about, before sharding.
    pub part: Part,
    /// Which of these objects are this process's.
    pub shard: Shard,
    /// How that is found out instead, if it is.
    pub autoshard: Option<Autoshard>,
    /// Resources to serve, in the order of the registry.
    pub resources: Vec<Enabled>,
    /// Namespaces to read, without repetition; empty for all.
    pub namespaces: Vec<String>,
    /// Metrics are sent as gzip to clients that take it.
    pub enable_gzip_encoding: bool,
    /// Lists may come from the API server's cache.
    pub use_apiserver_cache: bool,
    /// How much to log, from 0 to 10.
    pub verbosity: u8,
    /// What to warn of once there is a log; one line each.
    pub warnings: Vec<String>,
}

/// How to reach the API server; without either, with the pod's service account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// A kubeconfig file.
    pub kubeconfig: Option<PathBuf>,
    /// A URL that outdoes the kubeconfig's.
    pub apiserver: Option<String>,
}

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// IP address or name.
    pub host: String,
    /// Port, 0 for any free one.
    pub port: u16,
}

/// Which objects of the cluster a process is about. Node, unscheduled and rest together are everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Every resource.
    Everything,
    /// Pods bound to this node.
    Node(String),
    /// Pods bound to no node.
    Unscheduled,
    /// Every resource but pods.
    Rest,
}

impl Part {
    /// Whether it can serve the resource with that plural name.
    pub fn admits(&self, plural: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Node(_) | Self::Unscheduled => plural == PODS,
            Self::Rest => plural != PODS,
        }
    }

    /// The field selector for the resource with that plural name, which the part admits.
    pub fn field_selector(&self, plural: &str) -> Option<String> {
        match self {
            Self::Node(node) if plural == PODS => Some(format!("spec.nodeName={node}")),
            Self::Unscheduled if plural == PODS => Some("spec.nodeName=".to_owned()),
            _ => None,
        }
    }
}

/// A resource to serve.
#[derive(Clone)]
pub struct Enabled {
    /// The resource.
    pub resource: &'static dyn AnyResource,
    /// Its families, and the labels and annotations to copy.
    pub plan: Plan,
}

impl Settings {
    /// Applies defaults and checks; `registry` has every resource there is.
    ///
    /// # Errors
    /// Something makes no sense.
    pub fn resolve(
        args: &SharedArgs,
        part: Part,
        shard: Shard,
        registry: &[&'static dyn AnyResource],
    ) -> Result<Self, UsageError> {
        if let Part::Node(node) = &part {
            check_node(node)?;
        }
        let known: Vec<&str> = registry.iter().map(|resource| resource.descriptor().plural).collect();
        let families = Families::new(args)?;
        let (labels, mut warnings) =
            KeyFilters::parse("--metric-labels-allowlist", args.metrics.metric_labels_allowlist.as_deref(), &known)?;
        let (annotations, more) = KeyFilters::parse(
            "--metric-annotations-allowlist",
            args.metrics.metric_annotations_allowlist.as_deref(),
            &known,
        )?;
        warnings.extend(more);
        let mut resources = Vec::new();
        for resource in enabled_resources(&args.watch.resources, &part, registry)? {
            let plural = resource.descriptor().plural;
            let plan = families.plan(resource, labels.of(plural), annotations.of(plural))?;
            resources.push(Enabled { resource, plan });
        }
        Ok(Self {
            connection: connection(args)?,
            metrics: address(args.serving.host.as_deref(), args.serving.port, 8080),
            telemetry: address(args.serving.telemetry_host.as_deref(), args.serving.telemetry_port, 8081),
            part,
            shard,
            autoshard: None,
            resources,
            namespaces: namespaces(&args.watch.namespaces)?,
            enable_gzip_encoding: args.serving.enable_gzip_encoding.unwrap_or(false),
            use_apiserver_cache: args.connection.use_apiserver_cache.unwrap_or(false),
            verbosity: u8::try_from(args.log.verbosity.unwrap_or(0).clamp(0, 10)).expect("0 to 10 fits"),
            warnings,
        })
    }
}

fn address(host: Option<&str>, port: Option<u16>, default_port: u16) -> Address {
    let host = host.map(str::trim).filter(|host| !host.is_empty()).unwrap_or("::");
    Address { host: host.to_owned(), port: port.unwrap_or(default_port) }
}

fn connection(args: &SharedArgs) -> Result<Connection, UsageError> {
    let kubeconfig = args.connection.kubeconfig.clone().filter(|path| !path.is_empty()).map(PathBuf::from);
    let apiserver = args.connection.apiserver.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let apiserver = apiserver.map(|url| absolute_url(url, kubeconfig.is_some())).transpose()?;
    Ok(Connection { kubeconfig, apiserver })
}

/// `url` with a scheme: where it has none, https if a kubeconfig brings credentials and http if not.
fn absolute_url(url: &str, secure: bool) -> Result<String, UsageError> {
    let url =
        if url.contains("://") { url.to_owned() } else { format!("{}://{url}", if secure { "https" } else { "http" }) };
    let parsed: http::Uri =
        url.parse().map_err(|error| UsageError::new(format!("--apiserver: {url:?} is no URL: {error}")))?;
    match (parsed.scheme_str(), parsed.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(url),
        _ => Err(UsageError::new(format!("--apiserver: {url:?} is no URL with http or https and a host"))),
    }
}

/// Node names are DNS subdomains, so they need no escaping in a field selector.
fn check_node(node: &str) -> Result<(), UsageError> {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if node.chars().all(valid) {
        return Ok(());
    }
    Err(UsageError::new(format!("--node: {node:?} is no node name (lower-case letters, digits, - and .)")))
}

fn namespaces(values: &[String]) -> Result<Vec<String>, UsageError> {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let mut namespaces = Vec::new();
    for name in entries(values) {
        if !name.chars().all(valid) {
            return Err(UsageError::new(format!(
                "--namespaces: {name:?} is no namespace (lower-case letters, digits and -)"
            )));
        }
        if !namespaces.iter().any(|other| other == name) {
            namespaces.push(name.to_owned());
        }
    }
    Ok(namespaces)
}

fn enabled_resources(
    values: &[String],
    part: &Part,
    registry: &[&'static dyn AnyResource],
) -> Result<Vec<&'static dyn AnyResource>, UsageError> {
    let admitted: Vec<_> = registry.iter().copied().filter(|r| part.admits(r.descriptor().plural)).collect();
    let asked: BTreeSet<&str> = entries(values).collect();
    for name in &asked {
        if admitted.iter().any(|resource| resource.descriptor().plural == *name) {
            continue;
        }
        let reason = if registry.iter().all(|resource| resource.descriptor().plural != *name) {
            "no such resource"
        } else if *part == Part::Rest {
            "pods are served by another binary of the set"
        } else {
            "only pods can be selected by node"
        };
        let list: Vec<&str> = admitted.iter().map(|resource| resource.descriptor().plural).collect();
        return Err(UsageError::new(format!("--resources: {name:?}: {reason}; there is {}", list.join(", "))));
    }
    let enabled: Vec<_> = admitted
        .into_iter()
        .filter(|resource| {
            let descriptor = resource.descriptor();
            if asked.is_empty() { descriptor.enabled_by_default } else { asked.contains(descriptor.plural) }
        })
        .collect();
    if enabled.is_empty() {
        return Err(UsageError::new("--resources: nothing to serve"));
    }
    Ok(enabled)
}

/// Which families are served.
struct Families {
    allow: Patterns,
    deny: Patterns,
    opt_in: Patterns,
}

impl Families {
    fn new(args: &SharedArgs) -> Result<Self, UsageError> {
        let allow = Patterns::compile("--metric-allowlist", &args.metrics.metric_allowlist)?;
        let deny = Patterns::compile("--metric-denylist", &args.metrics.metric_denylist)?;
        let opt_in = Patterns::compile("--metric-opt-in-list", &args.metrics.metric_opt_in_list)?;
        if !allow.is_empty() && !deny.is_empty() {
            return Err(UsageError::new("--metric-allowlist and --metric-denylist exclude each other"));
        }
        Ok(Self { allow, deny, opt_in })
    }

    fn plan(&self, resource: &dyn AnyResource, labels: KeyFilter, annotations: KeyFilter) -> Result<Plan, UsageError> {
        let table = resource.families();
        let mut served = BTreeSet::new();
        for family in &table {
            if self.serves(family)? {
                served.insert(family.name);
            }
        }
        Ok(Plan::new(&table, |family| served.contains(family.name), labels, annotations))
    }

    fn serves(&self, family: &FamilyInfo<'_>) -> Result<bool, UsageError> {
        Ok((self.allow.is_empty() || self.allow.matches(family.name)?)
            && !self.deny.matches(family.name)?
            && (!family.opt_in || self.opt_in.matches(family.name)?))
    }
}

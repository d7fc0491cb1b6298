//! Settings: everything a run needs to know, resolved and checked.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{KeyFilters, Patterns, ServingArgs, SharedArgs, UsageError, entries};
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
    /// Which families are served, by name.
    pub lists: Lists,
    /// Resources to serve, in the order of the registry.
    pub resources: Vec<Enabled>,
    /// Namespaces to read, without repetition; empty for all.
    pub namespaces: Vec<String>,
    /// Namespaces whose objects are not read; none of them is in `namespaces`.
    pub excluded_namespaces: Vec<String>,
    /// Objects that a list may have at most.
    pub object_limit: Option<usize>,
    /// How long clients may take.
    pub timeouts: Timeouts,
    /// How long to go on serving when told to stop.
    pub shutdown_delay: Duration,
    /// A web configuration file, for TLS and passwords.
    pub web_file: Option<PathBuf>,
    /// The API server is asked whether a client may read.
    pub auth_filter: bool,
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
    /// A URL that overrides the kubeconfig's.
    pub apiserver: Option<String>,
}

/// How long clients may take, `None` for any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the header of a request.
    pub header: Option<Duration>,
    /// For reading a response.
    pub response: Option<Duration>,
    /// Between two requests.
    pub idle: Option<Duration>,
}

impl Timeouts {
    /// Those of kube-state-metrics: a scrape has a minute, and Prometheus drops idle connections after five.
    pub const DEFAULT: Self = Self {
        header: Some(Duration::from_secs(5)),
        response: Some(Duration::from_secs(60)),
        idle: Some(Duration::from_secs(300)),
    };

    /// As Go's server has it: where header or idle time are zero, that of the whole request counts, which also bounds
    /// the header (<https://pkg.go.dev/net/http#Server>).
    fn resolve(args: &ServingArgs) -> Self {
        let given = |time: Option<Duration>, default: Option<Duration>| match time {
            None => default,
            Some(time) => Some(time).filter(|time| !time.is_zero()),
        };
        let request = given(args.server_read_timeout, Some(Duration::from_secs(60)));
        let header = given(args.server_read_header_timeout, Self::DEFAULT.header);
        Self {
            header: header.into_iter().chain(request).min(),
            response: given(args.server_write_timeout, Self::DEFAULT.response),
            idle: given(args.server_idle_timeout, Self::DEFAULT.idle).or(request),
        }
    }
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
    pub resource: Arc<dyn AnyResource>,
    /// Its families, and the labels and annotations to copy.
    pub plan: Plan,
}

impl Settings {
    /// Applies defaults and checks; `registry` has every resource that can be served.
    ///
    /// # Errors
    /// Something makes no sense.
    pub fn resolve(
        args: &SharedArgs,
        part: Part,
        shard: Shard,
        registry: &[Arc<dyn AnyResource>],
    ) -> Result<Self, UsageError> {
        if let Part::Node(node) = &part {
            check_node(node)?;
        }
        args.custom_resources.check()?;
        let known = known(registry);
        let names: Vec<&str> = registry.iter().map(|resource| resource.descriptor().plural).collect();
        let served: Vec<&str> = names.into_iter().filter(|plural| part.admits(plural)).collect();
        let families = Lists::new(args)?;
        let key_filters = |flag, text| KeyFilters::parse(flag, text, &known, &served);
        let (labels, mut warnings) =
            key_filters("--metric-labels-allowlist", args.metrics.metric_labels_allowlist.as_deref())?;
        let (annotations, more) =
            key_filters("--metric-annotations-allowlist", args.metrics.metric_annotations_allowlist.as_deref())?;
        warnings.extend(more);
        warnings.extend(args.inert.warnings());
        let (namespaces, excluded_namespaces) = namespaces(args)?;
        let object_limit = object_limit(args.watch.object_limit)?;
        if let Some(limit) = object_limit {
            warnings.push(format!("--object-limit={limit}: what is served may be partial"));
        }
        let mut resources = Vec::new();
        for resource in enabled_resources(&args.watch.resources, &part, registry)? {
            let plural = resource.descriptor().plural;
            let plan = families.plan(&*resource, labels.of(plural), annotations.of(plural))?;
            resources.push(Enabled { resource, plan });
        }
        if resources.iter().all(|enabled| enabled.plan.families().is_empty()) {
            let list = if families.allow.is_empty() { "--metric-denylist" } else { "--metric-allowlist" };
            warnings.push(format!("{list} leaves no family of the resources served: every scrape will be empty"));
        }
        Ok(Self {
            connection: connection(args)?,
            metrics: address(args.serving.host.as_deref(), args.serving.port, 8080),
            telemetry: address(args.serving.telemetry_host.as_deref(), args.serving.telemetry_port, 8081),
            part,
            shard,
            autoshard: None,
            lists: families,
            resources,
            namespaces,
            excluded_namespaces,
            object_limit,
            timeouts: Timeouts::resolve(&args.serving),
            shutdown_delay: args.serving.shutdown_delay.unwrap_or_default(),
            web_file: args.guard.tls_config.clone().filter(|path| !path.is_empty()).map(PathBuf::from),
            auth_filter: args.guard.auth_filter.unwrap_or(false),
            enable_gzip_encoding: args.serving.enable_gzip_encoding.unwrap_or(false),
            use_apiserver_cache: args.connection.use_apiserver_cache.unwrap_or(false),
            verbosity: u8::try_from(args.log.verbosity.unwrap_or(0).clamp(0, 10)).expect("0 to 10 fits"),
            warnings,
        })
    }
}

/// Plural names that options may hold: those of other binaries as well, so that all can be given the same arguments.
fn known(registry: &[Arc<dyn AnyResource>]) -> Vec<&str> {
    let served = registry.iter().map(|resource| resource.descriptor().plural);
    let mut known: Vec<&str> = crate::resources::PLURALS.into_iter().chain(served).collect();
    known.sort_unstable();
    known.dedup();
    known
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

/// The namespaces to read, and those not to read.
fn namespaces(args: &SharedArgs) -> Result<(Vec<String>, Vec<String>), UsageError> {
    let mut asked = namespace_list("--namespaces", &args.watch.namespaces)?;
    let excluded = namespace_list("--namespaces-denylist", &args.watch.namespaces_denylist)?;
    let all = asked.is_empty();
    asked.retain(|name| !excluded.contains(name));
    if asked.is_empty() && !all {
        // An empty list would mean all of them.
        return Err(UsageError::new("--namespaces-denylist: it leaves none of --namespaces"));
    }
    Ok((asked, excluded))
}

fn namespace_list(flag: &str, values: &[String]) -> Result<Vec<String>, UsageError> {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let mut namespaces = Vec::new();
    for name in entries(values) {
        if !name.chars().all(valid) {
            return Err(UsageError::new(format!(
                "{flag}: {name:?} is no namespace (lower-case letters, digits and -)"
            )));
        }
        if !namespaces.iter().any(|other| other == name) {
            namespaces.push(name.to_owned());
        }
    }
    Ok(namespaces)
}

fn object_limit(limit: Option<i64>) -> Result<Option<usize>, UsageError> {
    let limit = limit.unwrap_or(0);
    let count = usize::try_from(limit)
        .map_err(|_| UsageError::new(format!("--object-limit={limit}: expected 0, for no limit, or more")))?;
    Ok((count > 0).then_some(count))
}

fn enabled_resources(
    values: &[String],
    part: &Part,
    registry: &[Arc<dyn AnyResource>],
) -> Result<Vec<Arc<dyn AnyResource>>, UsageError> {
    let admitted: Vec<_> = registry.iter().filter(|r| part.admits(r.descriptor().plural)).collect();
    let asked: BTreeSet<&str> = entries(values).collect();
    for name in &asked {
        if admitted.iter().any(|resource| resource.descriptor().plural == *name) {
            continue;
        }
        let reason = if !known(registry).contains(name) {
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
        .cloned()
        .collect();
    if enabled.is_empty() {
        return Err(UsageError::new("--resources: nothing to serve"));
    }
    Ok(enabled)
}

/// Which families are served: allow-, deny- and opt-in list.
#[derive(Clone, Debug)]
pub struct Lists {
    allow: Patterns,
    deny: Patterns,
    opt_in: Patterns,
}

impl Lists {
    /// The lists of these arguments.
    ///
    /// # Errors
    /// A pattern does not compile, or lists exclude each other.
    pub fn new(args: &SharedArgs) -> Result<Self, UsageError> {
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
        Ok(self.admits(family.name)? && self.opts_in(family)?)
    }

    /// Whether there is an allow- or a denylist.
    pub fn has_any(&self) -> bool {
        !self.allow.is_empty() || !self.deny.is_empty()
    }

    /// Whether allow- and denylist admit a family of that name.
    ///
    /// # Errors
    /// A pattern backtracks for too long.
    pub fn admits(&self, name: &str) -> Result<bool, UsageError> {
        Ok((self.allow.is_empty() || self.allow.matches(name)?) && !self.deny.matches(name)?)
    }

    /// Whether a family is served as far as the opt-in list goes.
    ///
    /// # Errors
    /// A pattern backtracks for too long.
    pub fn opts_in(&self, family: &FamilyInfo<'_>) -> Result<bool, UsageError> {
        Ok(!family.opt_in || self.opt_in.matches(family.name)?)
    }
}

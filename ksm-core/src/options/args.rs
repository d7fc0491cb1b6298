//! Argument groups, by topic; each binary flattens the ones that make sense for it.
//!
//! A field is `None` or empty when it was not given: defaults belong to [`Settings`].
//! Names and meaning are those of kube-state-metrics, so that arguments can be kept.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::reshard::{Overlap, up_to_an_hour};
use super::{CustomResourceArgs, InertArgs, Part, Settings, UsageError, duration};
use crate::autoshard::{self, Autoshard};
use crate::shard::{Scheme, Shard};
use crate::{resource, resources};

/// Twice the usual time between scrapes.
const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// What every binary takes.
#[derive(Args, Clone, Debug, Default)]
pub struct SharedArgs {
    /// How to reach the API server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Where to listen.
    #[command(flatten)]
    pub serving: ServingArgs,
    /// Which objects to read.
    #[command(flatten)]
    pub watch: WatchArgs,
    /// Which families to serve.
    #[command(flatten)]
    pub metrics: MetricArgs,
    /// Who may read, and over what.
    #[command(flatten)]
    pub guard: GuardArgs,
    /// The configuration file.
    #[command(flatten)]
    pub file: FileArgs,
    /// What to log.
    #[command(flatten)]
    pub log: LogArgs,
    /// Refused.
    #[command(flatten)]
    pub custom_resources: CustomResourceArgs,
    /// Without effect.
    #[command(flatten)]
    pub inert: InertArgs,
}

impl SharedArgs {
    /// Settings of a program that serves everything but pods.
    ///
    /// # Errors
    /// An option that makes no sense.
    pub fn rest_settings(&self) -> Result<Settings, UsageError> {
        Settings::resolve(self, Part::Rest, Shard::WHOLE, &resource::shared(resources::all()))
    }

    /// Settings of a program that serves pods without a node, and nothing else.
    ///
    /// # Errors
    /// An option that makes no sense.
    pub fn unscheduled_settings(&self) -> Result<Settings, UsageError> {
        Settings::resolve(self, Part::Unscheduled, Shard::WHOLE, &resource::shared(resources::pods()))
    }
}

/// How to reach the API server.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "API server")]
pub struct ConnectionArgs {
    /// Connect as this kubeconfig file says; without it and --apiserver, with the pod's service account
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<OsString>,

    /// Connect to this URL, whatever the kubeconfig names
    #[arg(long, value_name = "URL")]
    pub apiserver: Option<String>,

    /// Let the API server answer lists from its cache (resourceVersion=0): cheaper for it, perhaps a moment behind
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = boolean)]
    pub use_apiserver_cache: Option<bool>,
}

/// Where to listen.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Serving")]
pub struct ServingArgs {
    /// Address or name to serve metrics on; :: is every address of both IP versions [default: ::]
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,

    /// Port to serve metrics on, 0 for any free one [default: 8080]
    #[arg(long, value_name = "PORT", allow_negative_numbers = true)]
    pub port: Option<u16>,

    /// Address or name to serve self-metrics on [default: ::]
    #[arg(long, value_name = "HOST")]
    pub telemetry_host: Option<String>,

    /// Port to serve self-metrics on, 0 for any free one [default: 8081]
    #[arg(long, value_name = "PORT", allow_negative_numbers = true)]
    pub telemetry_port: Option<u16>,

    /// Send metrics as gzip to clients that take it [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = boolean)]
    pub enable_gzip_encoding: Option<bool>,

    /// How long a request may take to arrive, 0 for any time [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub server_read_timeout: Option<Duration>,

    /// How long a response may take to be read, 0 for any time; at least the scrape timeout of who reads [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub server_write_timeout: Option<Duration>,

    /// How long a connection may rest between two requests, 0 for as long as a request may take [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub server_idle_timeout: Option<Duration>,

    /// How long the header of a request may take to arrive, 0 for as long as the request [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub server_read_header_timeout: Option<Duration>,

    /// For how long to go on serving when told to stop, not ready any more, so that whoever scrapes learns of it before
    /// a scrape fails; a second signal ends it at once [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = up_to_an_hour)]
    pub shutdown_delay: Option<Duration>,
}

/// Who may read, and over what.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Guards")]
pub struct GuardArgs {
    /// Serve TLS, or ask for passwords, as this web configuration file of the Prometheus exporter toolkit says, on both
    /// ports; it and its certificates are read again when they change; passwords (basic_auth_users) exclude --auth-filter
    #[arg(long, value_name = "FILE")]
    pub tls_config: Option<OsString>,

    /// Serve only to bearer tokens that the API server knows and that may `get` the path, on both ports; not together with
    /// passwords (basic_auth_users) of --tls-config
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = boolean)]
    pub auth_filter: Option<bool>,
}

/// The configuration file.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Configuration file")]
pub struct FileArgs {
    /// Take options from this YAML file too, before any others; it is read again when it changes
    #[arg(long, value_name = "FILE")]
    pub config: Option<OsString>,

    /// Start though the file is not there or makes no sense, and take it once it does
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = boolean)]
    pub continue_without_config: Option<bool>,
}

/// Which objects to read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What to watch")]
pub struct WatchArgs {
    /// Serve these resources only, by plural name
    #[arg(long, value_name = "LIST", action = ArgAction::Append)]
    pub resources: Vec<String>,

    /// Read these namespaces only; resources without a namespace are read all the same
    #[arg(long, value_name = "LIST", action = ArgAction::Append)]
    pub namespaces: Vec<String>,

    /// Read no objects of these namespaces; the namespaces themselves are read all the same
    #[arg(long, value_name = "LIST", action = ArgAction::Append)]
    pub namespaces_denylist: Vec<String>,

    /// List at most this many objects of a resource (and namespace, with --namespaces), 0 for all; what is served is
    /// then partial [default: 0]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    pub object_limit: Option<i64>,
}

/// Which families and labels to serve.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Metrics")]
pub struct MetricArgs {
    /// Serve only families whose name one of these regular expressions matches anywhere
    #[arg(long, value_name = "LIST", action = ArgAction::Append)]
    pub metric_allowlist: Vec<String>,

    /// Serve no family whose name one of these regular expressions matches anywhere
    #[arg(long, value_name = "LIST", action = ArgAction::Append)]
    pub metric_denylist: Vec<String>,

    /// Serve opt-in families too whose name one of these regular expressions matches anywhere
    #[arg(long, value_name = "LIST", action = ArgAction::Append)]
    pub metric_opt_in_list: Vec<String>,

    /// Which labels of objects to copy, as in `pods=[app,team],nodes=[*]`.
    #[arg(
        long,
        value_name = "MAP",
        help = "Copy these labels of objects, as in pods=[app,team],nodes=[*]; the resource * is every one served, and \
                a key may hold one *; of repeated flags the last one counts"
    )]
    pub metric_labels_allowlist: Option<String>,

    /// Copy these annotations of objects, written likewise
    #[arg(long, value_name = "MAP")]
    pub metric_annotations_allowlist: Option<String>,
}

/// What to log.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Logging")]
pub struct LogArgs {
    /// How much to log to stderr: 0 to 3 what an operator needs, 4 reconnects and relists, 6 and more every event,
    /// 8 and more the HTTP client as well [default: 0]
    #[arg(short = 'v', long = "v", value_name = "LEVEL", allow_negative_numbers = true)]
    pub verbosity: Option<i32>,
}

/// Which shard of a set this is.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Sharding")]
pub struct ShardArgs {
    /// Serve this shard of the set, counted from 0 [default: 0]
    #[arg(long, value_name = "ORDINAL", allow_negative_numbers = true)]
    pub shard: Option<i64>,

    /// How many shards the set has; 1 is no sharding [default: 1]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    pub total_shards: Option<i64>,

    /// How objects are spread, the same for the whole set: range lets the API server do it where it can, md5 is always
    /// done here and moves fewer objects when a set is doubled [default: range]
    #[arg(long, value_name = "SCHEME")]
    pub shard_by: Option<Scheme>,

    /// Find out the shard from this pod and the StatefulSet that controls it, and follow the set as it is scaled;
    /// --shard and --total-shards then do not count
    #[arg(long, value_name = "NAME")]
    pub pod: Option<String>,

    /// Namespace of the pod and its StatefulSet
    #[arg(long, value_name = "NAME")]
    pub pod_namespace: Option<String>,

    /// Whether objects are served by both their old and their new shard while a set is scaled (on), or rather by none
    /// for a while (off) [default: on]
    #[arg(long, value_name = "on|off")]
    pub reshard_overlap: Option<Overlap>,

    /// For how long all shards must have been ready before what was given away is dropped; more than the time between
    /// scrapes and than an unready pod takes to be noticed [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = up_to_an_hour)]
    pub reshard_grace: Option<Duration>,

    /// Serve pods of this node only
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,

    /// Serve only pods that no node has yet, whatever --node says
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = boolean)]
    pub track_unscheduled_pods: Option<bool>,
}

impl ShardArgs {
    /// Settings for one shard of a set.
    ///
    /// # Errors
    /// An option that makes no sense.
    pub fn settings(&self, shared: &SharedArgs) -> Result<Settings, UsageError> {
        let part = match self.node.as_deref() {
            _ if self.track_unscheduled_pods == Some(true) => Part::Unscheduled,
            None | Some("") => Part::Everything,
            Some(node) => Part::Node(node.to_owned()),
        };
        let mut settings = Settings::resolve(shared, part, self.shard()?, &resource::shared(resources::all()))?;
        settings.autoshard = self.autoshard()?;
        if settings.autoshard.is_some() && (self.shard.is_some() || self.total_shards.is_some()) {
            settings.warnings.push("--pod finds out the shard: --shard and --total-shards do not count".to_owned());
        }
        if let Some(grace) = settings.autoshard.as_ref().and_then(|autoshard| autoshard.overlap)
            && grace < autoshard::NOTICE
        {
            settings.warnings.push(format!(
                "--reshard-grace={grace:?}: a shard may take {:?} to learn that its set was scaled, and as long as a \
                 readiness probe to show that it lists; objects may be missing for a while unless this is more",
                autoshard::NOTICE
            ));
        }
        Ok(settings)
    }

    /// How the shard is found out, if it is not said.
    ///
    /// # Errors
    /// Half of what is needed is there.
    fn autoshard(&self) -> Result<Option<Autoshard>, UsageError> {
        let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        let (pod, namespace) = match (given(&self.pod), given(&self.pod_namespace)) {
            (None, None) => return Ok(None),
            (Some(pod), Some(namespace)) => (pod, namespace),
            (Some(_), None) => return Err(UsageError::new("--pod needs --pod-namespace")),
            (None, Some(_)) => return Err(UsageError::new("--pod-namespace needs --pod")),
        };
        let overlap = match self.reshard_overlap.unwrap_or_default() {
            Overlap::On => Some(self.reshard_grace.unwrap_or(DEFAULT_GRACE)),
            Overlap::Off => None,
        };
        Ok(Some(Autoshard::new(pod, namespace, self.shard_by.unwrap_or_default(), overlap)))
    }

    /// The shard.
    ///
    /// # Errors
    /// It is not in its set, or the set is empty.
    pub fn shard(&self) -> Result<Shard, UsageError> {
        let (ordinal, total) = (self.shard.unwrap_or(0), self.total_shards.unwrap_or(1));
        let total = u32::try_from(total).map_err(|_| {
            let limit = if total < 1 { "at least 1".to_owned() } else { format!("at most {}", u32::MAX) };
            UsageError::new(format!("--total-shards={total}: the total number of shards must be {limit}"))
        })?;
        // No ordinal this large is in any set, and the error below says which are.
        let in_range = u32::try_from(ordinal).unwrap_or(u32::MAX);
        Shard::new(in_range, total, self.shard_by.unwrap_or_default()).map_err(|_| match total {
            0 => UsageError::new("--total-shards=0: the total number of shards must be at least 1"),
            1 => {
                UsageError::new(format!("--shard={ordinal}: out of range, one shard of one is 0 (see --total-shards)"))
            }
            _ => UsageError::new(format!(
                "--shard={ordinal}: out of range, with {total} shards it is 0 to {}",
                total - 1
            )),
        })
    }
}

/// Which node to serve.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What to watch")]
pub struct NodeArgs {
    /// Serve the pods of this node
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub node: Option<String>,
}

impl NodeArgs {
    /// Settings for the pods of the node. Without one, the name is empty: whether that will do depends on what is done.
    ///
    /// # Errors
    /// An option that makes no sense.
    pub fn settings(&self, shared: &SharedArgs) -> Result<Settings, UsageError> {
        let node = self.node.clone().unwrap_or_default();
        Settings::resolve(shared, Part::Node(node), Shard::WHOLE, &resource::shared(resources::pods()))
    }
}

/// A boolean as Go's `strconv.ParseBool` takes it.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

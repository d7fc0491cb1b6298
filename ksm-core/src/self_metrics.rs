//! Self-metrics: name, type, labels and help of every family in which a process speaks of itself.
//!
//! Invariant: `telemetry` writes these families and no others, as its tests show; `docs/self-metrics.md` is made from
//! this table.

/// A family of self-metrics.
#[derive(Clone, Copy, Debug)]
pub struct SelfMetric {
    /// Of a counter without `_total`.
    pub name: &'static str,
    /// What its samples are.
    pub kind: SelfKind,
    /// Names of labels, in the order in which they are written.
    pub labels: &'static [&'static str],
    /// What it says, and when it says nothing.
    pub help: &'static str,
}

/// The types that self-metrics have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfKind {
    /// A value that only goes up; its samples end in `_total`.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// Observations by size; its samples end in `_bucket`, `_count` and `_sum`.
    Histogram,
}

impl SelfKind {
    /// The word of the `# TYPE` line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl SelfMetric {
    /// The name as queries have it; of a histogram what its samples begin with.
    pub fn full_name(&self) -> String {
        let end = if self.kind == SelfKind::Counter { "_total" } else { "" };
        format!("{}{end}", self.name)
    }
}

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> SelfMetric {
    SelfMetric { name, kind: SelfKind::Counter, labels, help }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> SelfMetric {
    SelfMetric { name, kind: SelfKind::Gauge, labels, help }
}

const RESOURCE: &[&str] = &["resource"];
const RESULT: &[&str] = &["resource", "result"];
const FILE: &[&str] = &["type", "filename"];

/// Topics, and the families of each.
pub const TOPICS: &[(&str, &[SelfMetric])] = &[
    ("The program and its requests", &[BUILD_INFO, REQUEST_DURATION]),
    (
        "Lists and watches",
        &[
            LIST,
            WATCH,
            LIST_OBJECTS,
            LIST_OBJECTS_LIMIT,
            SYNCED,
            SYNC_DURATION,
            REFUSED,
            NOT_FOUND,
            EVENTS,
            WATCH_CUTS,
            RELISTS,
            READ_BYTES,
            OBJECT_ERRORS,
            LAST_EVENT,
            LAST_LIST,
        ],
    ),
    ("What is kept", &[OBJECTS, TEXT_BYTES, PACKED_BYTES, BEHIND, FOLDS, FOLD_TIME]),
    (
        "Sharding",
        &[
            SHARD_ORDINAL,
            TOTAL_SHARDS,
            SCHEME_INFO,
            SERVER_SIDE,
            FOREIGN_OBJECTS,
            RESHARDING,
            RESHARD_OVERLAP,
            RESHARDS,
            RESHARD_TIME,
            GIVEN_AWAY,
        ],
    ),
    ("Files", &[CONFIG_HASH, RELOAD_SUCCESSFUL, RELOAD_TIME, RELOAD_WAITING, RESTART_NEEDED]),
    (
        "The process",
        &[
            START_TIME,
            CPU_TIME,
            RESIDENT_MEMORY,
            VIRTUAL_MEMORY,
            VIRTUAL_MEMORY_MAX,
            OPEN_FDS,
            MAX_FDS,
            NETWORK_RECEIVE,
            NETWORK_TRANSMIT,
        ],
    ),
];

/// Version.
pub const BUILD_INFO: SelfMetric = gauge(
    "kube_state_metrics_build_info",
    &["program", "version", "revision", "date", "os", "arch"],
    "What was built, as labels; always 1.",
);
/// Scrapes.
pub const REQUEST_DURATION: SelfMetric = SelfMetric {
    name: "http_request_duration_seconds",
    kind: SelfKind::Histogram,
    labels: &["handler", "method"],
    help: "Time from the head of a request to the last byte of the body, by handler and method.",
};

/// Lists.
pub const LIST: SelfMetric =
    counter("kube_state_metrics_list", RESULT, "Lists by resource and result, refused ones being errors.");
/// Watches.
pub const WATCH: SelfMetric =
    counter("kube_state_metrics_watch", RESULT, "Watches that were opened or could not be, by resource and result.");
/// Objects of the last list.
pub const LIST_OBJECTS: SelfMetric = gauge(
    "kube_state_metrics_list_objects",
    RESOURCE,
    "Objects that the last list took, all namespaces together; no sample without --object-limit.",
);
/// The most that a list takes.
pub const LIST_OBJECTS_LIMIT: SelfMetric = gauge(
    "kube_state_metrics_list_objects_limit",
    RESOURCE,
    "Objects that a list may take at most; no sample without --object-limit.",
);
/// Whether there was a first list.
pub const SYNCED: SelfMetric =
    gauge("kube_state_metrics_sharded_synced", RESOURCE, "Whether the initial list is complete, in every namespace.");
/// How long it took.
pub const SYNC_DURATION: SelfMetric = gauge(
    "kube_state_metrics_sharded_sync_duration_seconds",
    RESOURCE,
    "How long the initial list took, the slowest namespace's; no sample before.",
);
/// Rights that lack, or a resource that does.
pub const REFUSED: SelfMetric = gauge(
    "kube_state_metrics_sharded_refused",
    RESOURCE,
    "Whether the API server refuses lists (403, 404), in any namespace.",
);
/// A resource that lacks.
pub const NOT_FOUND: SelfMetric = gauge(
    "kube_state_metrics_sharded_not_found",
    RESOURCE,
    "Whether the API server answers lists with 404, in every namespace: it has no such resource in this version.",
);
/// Events.
pub const EVENTS: SelfMetric = counter("kube_state_metrics_sharded_events", RESOURCE, "Events applied.");
/// Watches that broke off.
pub const WATCH_CUTS: SelfMetric = counter(
    "kube_state_metrics_sharded_watch_cuts",
    RESOURCE,
    "Watches that broke off, otherwise than by the API server's time limit or 410.",
);
/// Relists.
pub const RELISTS: SelfMetric =
    counter("kube_state_metrics_sharded_relists", RESOURCE, "Lists after the first that replaced what was served.");
/// Bytes read.
pub const READ_BYTES: SelfMetric =
    counter("kube_state_metrics_sharded_read_bytes", RESOURCE, "Bytes of bodies read from the API server.");
/// Objects left out.
pub const OBJECT_ERRORS: SelfMetric = counter(
    "kube_state_metrics_sharded_object_errors",
    RESOURCE,
    "Objects that did not decode or render; each has the samples it had before, or none.",
);
/// The last sign of life.
pub const LAST_EVENT: SelfMetric = gauge(
    "kube_state_metrics_sharded_last_event_timestamp_seconds",
    RESOURCE,
    "When the last event or bookmark arrived, since the Unix epoch; no sample before.",
);
/// The last list.
pub const LAST_LIST: SelfMetric = gauge(
    "kube_state_metrics_sharded_last_list_timestamp_seconds",
    RESOURCE,
    "When the last list was complete, since the Unix epoch; no sample before.",
);

/// Objects kept.
pub const OBJECTS: SelfMetric =
    gauge("kube_state_metrics_sharded_objects", RESOURCE, "Objects kept, those of this shard.");
/// Text served.
pub const TEXT_BYTES: SelfMetric = gauge(
    "kube_state_metrics_sharded_text_bytes",
    RESOURCE,
    "Bytes of sample text served, as it is without compression.",
);
/// Text kept.
pub const PACKED_BYTES: SelfMetric =
    gauge("kube_state_metrics_sharded_packed_bytes", RESOURCE, "Bytes of sample text kept in packed form.");
/// Freshness.
pub const BEHIND: SelfMetric = gauge(
    "kube_state_metrics_sharded_behind_seconds",
    RESOURCE,
    "For how long changes have been read that a scrape does not show yet, the longest of all namespaces.",
);
/// Folds.
pub const FOLDS: SelfMetric =
    counter("kube_state_metrics_sharded_folds", RESOURCE, "Passes that folded changes into packed text.");
/// How long they took.
pub const FOLD_TIME: SelfMetric =
    counter("kube_state_metrics_sharded_fold_seconds", RESOURCE, "Time that folding changes into packed text took.");

/// The place in the set.
pub const SHARD_ORDINAL: SelfMetric =
    gauge("kube_state_metrics_shard_ordinal", &["shard_ordinal"], "Which shard of the set this is, counted from 0.");
/// The size of the set.
pub const TOTAL_SHARDS: SelfMetric = gauge("kube_state_metrics_total_shards", &[], "How many shards the set has.");
/// The scheme.
pub const SCHEME_INFO: SelfMetric = gauge(
    "kube_state_metrics_sharded_scheme_info",
    &["scheme"],
    "How objects are spread over shards, as a label; always 1.",
);
/// Who filters.
pub const SERVER_SIDE: SelfMetric = gauge(
    "kube_state_metrics_sharded_server_side",
    RESOURCE,
    "Whether the API server sends this shard's objects only; no sample while nothing is filtered.",
);
/// Objects of others.
pub const FOREIGN_OBJECTS: SelfMetric =
    counter("kube_state_metrics_sharded_foreign_objects", RESOURCE, "Objects received that another shard owns.");
/// Lists of what was gained.
pub const RESHARDING: SelfMetric = gauge(
    "kube_state_metrics_sharded_resharding",
    RESOURCE,
    "Whether a list of what the share has gained is not complete yet, in any namespace.",
);
/// Objects of others that are served.
pub const RESHARD_OVERLAP: SelfMetric = gauge(
    "kube_state_metrics_sharded_reshard_overlap",
    &[],
    "Whether objects that were given away to other shards are served still.",
);
/// Changes of the place.
pub const RESHARDS: SelfMetric =
    counter("kube_state_metrics_sharded_reshards", &[], "Changes of the place in the set that were carried through.");
/// How long they took.
pub const RESHARD_TIME: SelfMetric = counter(
    "kube_state_metrics_sharded_reshard_seconds",
    &[],
    "Time from each such change until nothing more was to do for it.",
);
/// Objects that others have now.
pub const GIVEN_AWAY: SelfMetric = counter(
    "kube_state_metrics_sharded_given_away_objects",
    &[],
    "Objects that other shards own by now and that are no longer served.",
);

/// The content of a file.
pub const CONFIG_HASH: SelfMetric =
    gauge("kube_state_metrics_config_hash", FILE, "Hash of the content that is in use of a file.");
/// Whether a change was taken.
pub const RELOAD_SUCCESSFUL: SelfMetric = gauge(
    "kube_state_metrics_last_config_reload_successful",
    FILE,
    "Whether a file is in use as it was when it last changed.",
);
/// When it was.
pub const RELOAD_TIME: SelfMetric = gauge(
    "kube_state_metrics_last_config_reload_success_timestamp_seconds",
    FILE,
    "When the content in use of a file was taken, since the Unix epoch.",
);
/// What a change waits for.
pub const RELOAD_WAITING: SelfMetric = gauge(
    "kube_state_metrics_sharded_reload_waiting",
    RESOURCE,
    "List/watches that a new configuration waits for before it is used; no sample while there is none.",
);
/// What waits for a new start.
pub const RESTART_NEEDED: SelfMetric = gauge(
    "kube_state_metrics_sharded_restart_needed",
    &["key"],
    "Keys of the configuration file whose value is another than at the start, and counts after a new one.",
);

/// Age.
pub const START_TIME: SelfMetric = gauge("process_start_time_seconds", &[], "When the process was started.");
/// CPU time.
pub const CPU_TIME: SelfMetric = counter("process_cpu_seconds", &[], "CPU time, user and system.");
/// Memory.
pub const RESIDENT_MEMORY: SelfMetric = gauge("process_resident_memory_bytes", &[], "Memory that is resident.");
/// Address space.
pub const VIRTUAL_MEMORY: SelfMetric = gauge("process_virtual_memory_bytes", &[], "Address space in use.");
/// Its limit.
pub const VIRTUAL_MEMORY_MAX: SelfMetric =
    gauge("process_virtual_memory_max_bytes", &[], "Address space that may be in use.");
/// File descriptors.
pub const OPEN_FDS: SelfMetric = gauge("process_open_fds", &[], "Open file descriptors.");
/// Their limit.
pub const MAX_FDS: SelfMetric = gauge("process_max_fds", &[], "File descriptors that may be open.");
/// Network, in.
pub const NETWORK_RECEIVE: SelfMetric =
    counter("process_network_receive_bytes", &[], "Bytes received in the network namespace of the process.");
/// Network, out.
pub const NETWORK_TRANSMIT: SelfMetric =
    counter("process_network_transmit_bytes", &[], "Bytes sent from the network namespace of the process.");

//! Automatic shards: which shard of its StatefulSet a pod serves, followed as the set is scaled.
//!
//! The ordinal is the pod's, counted from `spec.ordinals.start`; the total is `spec.replicas`. Until both are known and
//! the set can be followed, no share is assigned, so that a missing right shows as nothing served and never as a wrong
//! share. What was assigned stays when the API server is away.

mod reshard;
mod set;

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, error, info, warn};

use self::reshard::{Resharder, Step};
use self::set::{Change, Member, Seen, SetError};
use crate::chain::chain;
use crate::shard::Scheme;
use crate::watch::{Backoff, Shares};

/// How often it is looked whether a reshard has come to its end.
const BEAT: Duration = Duration::from_millis(200);

/// How often the set is read although it is watched: a connection that died unnoticed must not cost the others the grace.
const READ_EVERY: Duration = Duration::from_secs(10);

/// Longest pause before the set is asked for again.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a process that is told to stop waits to learn whether that is because its set has shrunk.
const HINDSIGHT: Duration = Duration::from_secs(10);

/// Which pod this is, and how its set is to be resharded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Autoshard {
    /// Name of the pod.
    pub pod: String,
    /// Its namespace.
    pub namespace: String,
    /// How objects are spread.
    pub scheme: Scheme,
    /// For how long every shard must have been ready before what was given away is dropped; `None` drops it at once.
    pub overlap: Option<Duration>,
}

impl Autoshard {
    /// A share that is not known yet, for [`Autoshard::run`] to assign.
    pub fn shares(&self) -> Shares {
        Shares::unknown(self.scheme)
    }

    /// Follows the set and assigns shares, by whatever client is the last of `clients`. Ends only if the pod can have no
    /// shard, after saying so in the log.
    pub async fn run(self, clients: watch::Receiver<kube::Client>, shares: Shares) {
        let mut following = Following {
            resharder: Resharder::new(self.scheme, self.overlap, shares.clone()),
            shares,
            said: String::new(),
            backoff: Backoff::new(),
            held: None,
            clients,
            autoshard: self,
        };
        if let Err(reason) = following.run().await {
            error!(error = %chain(&reason), "no shard to serve");
        }
    }
}

/// Lets a process that is told to stop go on serving as long as its objects may have no other owner: until its set has
/// been at rest for the grace after it was scaled. From now on it is not ready, so that the other shards wait for its
/// successor and not for itself.
pub async fn linger(shares: &Shares) {
    shares.update(|status| status.stopping = true);
    if shares.status().place.is_none() {
        return;
    }
    // The signal may be here before the news of what it is about.
    shares.ask(HINDSIGHT).await;
    while shares.status().unsettled {
        sleep(BEAT).await;
    }
}

struct Following {
    autoshard: Autoshard,
    resharder: Resharder,
    shares: Shares,
    /// The complaint that the log ends with, so that none is repeated.
    said: String,
    backoff: Backoff,
    /// What was seen before it was known that the set can be followed.
    held: Option<Seen>,
    clients: watch::Receiver<kube::Client>,
}

impl Following {
    /// # Errors
    /// The pod belongs to no StatefulSet.
    async fn run(&mut self) -> Result<(), SetError> {
        let mut member = loop {
            let client = self.clients.borrow_and_update().clone();
            match set::find(client, &self.autoshard.namespace, &self.autoshard.pod).await {
                Ok(member) => break member,
                Err(reason) if reason.is_final() => return Err(reason),
                Err(reason) => self.pause(&reason).await,
            }
        };
        loop {
            let client = self.clients.borrow_and_update().clone();
            member.set_client(client, &self.autoshard.namespace);
            match self.meanwhile(member.read()).await {
                Ok((seen, version)) => {
                    // A place that was assigned already need not wait for the watch.
                    if self.resharder.is_placed() {
                        self.observe(seen);
                        self.shares.looked();
                    } else {
                        self.held = Some(seen);
                    }
                    self.follow(&member, version).await;
                }
                Err(reason) => self.pause(&reason).await,
            }
        }
    }

    /// Follows changes until the set must be read anew.
    async fn follow(&mut self, member: &Member, mut version: String) {
        loop {
            let opened = Instant::now();
            match self.changes(member, &mut version).await {
                // A watch that ends at once must not be opened again at once.
                Ok(()) if opened.elapsed() >= Duration::from_secs(1) => {}
                Ok(()) => {
                    let delay = self.backoff_delay();
                    self.wait(delay).await;
                }
                Err(SetError::Expired) => {
                    debug!("version of the StatefulSet too old, reading it anew");
                    let delay = self.backoff_delay();
                    return self.wait(delay).await;
                }
                Err(reason) => return self.pause(&reason).await,
            }
        }
    }

    async fn changes(&mut self, member: &Member, version: &mut String) -> Result<(), SetError> {
        let open = member.watch(version);
        let mut changes = self.meanwhile(open).await?;
        self.said.clear();
        if let Some(seen) = self.held.take() {
            self.observe(seen);
        }
        let mut last_read = Instant::now();
        loop {
            let (shares, mut clients) = (self.shares.clone(), self.clients.clone());
            let next = async {
                tokio::select! {
                    Ok(()) = clients.changed() => Some(Err(SetError::Expired)),
                    change = changes.next() => Some(change),
                    () = sleep_until(last_read + READ_EVERY) => None,
                    () = shares.asked() => None,
                }
            };
            match self.meanwhile(next).await {
                Some(change) => {
                    let Some(Change { seen, version: next }) = change? else { return Ok(()) };
                    if !next.is_empty() {
                        *version = next;
                    }
                    if let Some(seen) = seen {
                        self.observe(seen);
                    }
                }
                None => {
                    let (seen, read_version) = self.meanwhile(member.read()).await?;
                    last_read = Instant::now();
                    let is_news = self.observe(seen);
                    self.shares.looked();
                    if is_news {
                        debug!("the watch of the StatefulSet is behind, opening another one");
                        *version = read_version;
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Takes in what the set looks like now; true if this shard's place is another one.
    fn observe(&mut self, seen: Seen) -> bool {
        let (shard_ordinal, total_shards) = (seen.ordinal, seen.total);
        let step = self.resharder.observe(seen, Instant::now());
        match step {
            Step::Same => {}
            _ if shard_ordinal >= total_shards => {
                warn!(total_shards, "the StatefulSet has no place for this pod, which is to serve nothing");
            }
            Step::Placed => info!(shard_ordinal, total_shards, "shard found"),
            Step::Moved => info!(shard_ordinal, total_shards, "resharding"),
        }
        step != Step::Same
    }

    /// Waits for something, letting reshards come to their end meanwhile.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = sleep(BEAT), if self.resharder.is_resharding() => {
                    if let Some(duration) = self.resharder.tick(Instant::now()) {
                        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
                        info!(duration_ms, "resharded");
                    }
                }
            }
        }
    }

    /// Waits, unless somebody asks meanwhile.
    async fn wait(&mut self, delay: Duration) {
        let shares = self.shares.clone();
        let wait = async {
            tokio::select! {
                () = sleep(delay) => {}
                () = shares.asked() => {}
            }
        };
        self.meanwhile(wait).await;
    }

    fn backoff_delay(&mut self) -> Duration {
        // It is one small object, on which others wait.
        self.backoff.next(None).min(LONGEST_PAUSE)
    }

    /// Says once what is wrong, and waits.
    async fn pause(&mut self, reason: &SetError) {
        let delay = self.backoff_delay();
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        let complaint = self.complaint(reason);
        if complaint == self.said {
            debug!(delay_ms, error = %chain(reason), "StatefulSet not followed");
        } else if matches!(reason, SetError::Forbidden { .. }) {
            error!(delay_ms, "{complaint}");
        } else {
            warn!(delay_ms, "{complaint}");
        }
        self.said = complaint;
        self.wait(delay).await;
    }

    fn complaint(&self, reason: &SetError) -> String {
        let consequence = match self.resharder.is_placed() {
            true => "its last known shard stays served",
            false => "nothing is served",
        };
        let namespace = &self.autoshard.namespace;
        match reason {
            SetError::Forbidden { right, message } => format!(
                "automatic shards need the right to {} {} in namespace {namespace}, {consequence} without it: grant get on \
                 pods and get, list and watch on statefulsets to the service account, as the Role in \
                 deploy/base/ksm-shard-auto does ({message})",
                right.verb, right.resource
            ),
            reason => format!("the StatefulSet of this pod cannot be followed, {consequence}: {}", chain(reason)),
        }
    }
}

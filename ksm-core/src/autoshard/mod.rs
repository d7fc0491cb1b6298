//! Automatic shards: which shard of its StatefulSet a pod serves, followed as the set is scaled.
//!
//! The ordinal is the pod's, counted from `spec.ordinals.start`; the total is `spec.replicas`. Until both are known and
//! the set can be followed, no share is assigned, so that a missing right shows as nothing served and never as a wrong
//! share. What was assigned stays when the API server is away.

mod reshard;
mod set;

use std::time::Duration;

use futures::future::BoxFuture;
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
const READ_EVERY: Duration = Duration::from_secs(5);

/// Within this time a pod learns that its set was scaled, whatever became of its watch; a grace should be longer.
pub const NOTICE: Duration = Duration::from_secs(READ_EVERY.as_secs() + set::ANSWER_LIMIT.as_secs());

/// Longest pause before the set is asked for again.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a process that is told to stop waits to learn whether that is because its set has shrunk.
const HINDSIGHT: Duration = Duration::from_secs(10);

/// Which pod this is, and how its set is to be resharded.
#[derive(Clone, Debug)]
pub struct Autoshard {
    /// Name of the pod.
    pub pod: String,
    /// Its namespace.
    pub namespace: String,
    /// How objects are spread.
    pub scheme: Scheme,
    /// For how long every shard must have been ready before what was given away is dropped; `None` drops it at once.
    pub overlap: Option<Duration>,
    /// What follows the set. Only through it, so that a program that makes no [`Autoshard`] has none of that code in it.
    follow: Follow,
}

type Follow = fn(Autoshard, watch::Receiver<Means>, Shares) -> BoxFuture<'static, ()>;

/// What a pod that follows its set goes by, and may go by otherwise from some time on.
#[derive(Clone)]
pub struct Means {
    /// How the API server is reached.
    pub client: kube::Client,
    /// As [`Autoshard::overlap`].
    pub overlap: Option<Duration>,
}

impl PartialEq for Autoshard {
    fn eq(&self, other: &Self) -> bool {
        self.is_like(other) && self.overlap == other.overlap
    }
}

impl Autoshard {
    /// The pod of that name and namespace, with objects spread by `scheme`, and [`overlap`](Self::overlap).
    pub fn new(pod: String, namespace: String, scheme: Scheme, overlap: Option<Duration>) -> Self {
        let follow: Follow = |autoshard, means, shares| Box::pin(follow(autoshard, means, shares));
        Self { pod, namespace, scheme, overlap, follow }
    }

    /// What it means to follow the set by that client.
    pub fn means(&self, client: kube::Client) -> Means {
        Means { client, overlap: self.overlap }
    }

    /// Whether both are of the same pod and objects are spread alike, so that one goes on where the other was.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.pod, &self.namespace, self.scheme) == (&other.pod, &other.namespace, other.scheme)
    }

    /// A share that is not known yet, for [`Autoshard::run`] to assign.
    pub fn shares(&self) -> Shares {
        Shares::unknown(self.scheme)
    }

    /// Follows the set and assigns shares, by whatever is the last of `means`. Ends only if the pod can have no shard,
    /// after saying so in the log.
    pub fn run(self, means: watch::Receiver<Means>, shares: Shares) -> impl Future<Output = ()> + Send + use<> {
        (self.follow)(self, means, shares)
    }
}

async fn follow(autoshard: Autoshard, means: watch::Receiver<Means>, shares: Shares) {
    let mut following = Following::new(autoshard, means, shares);
    if let Err(reason) = following.run().await {
        error!(error = %chain(&reason), "no shard to serve");
    }
}

/// Lets a process that is told to stop go on serving as long as its objects may have no other owner: until its set has
/// been at rest for the grace after it was scaled, with all other pods ready that it has a place for. From now on it is
/// not ready, so that the other shards wait for its successor and not for itself.
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
    means: watch::Receiver<Means>,
}

impl Following {
    fn new(autoshard: Autoshard, means: watch::Receiver<Means>, shares: Shares) -> Self {
        let overlap = means.borrow().overlap;
        Self {
            resharder: Resharder::new(autoshard.scheme, overlap, shares.clone()),
            shares,
            said: String::new(),
            backoff: Backoff::new(),
            held: None,
            means,
            autoshard,
        }
    }

    /// # Errors
    /// The pod belongs to no StatefulSet.
    async fn run(&mut self) -> Result<(), SetError> {
        let mut member = loop {
            let client = self.means.borrow_and_update().client.clone();
            match set::find(client, &self.autoshard.namespace, &self.autoshard.pod).await {
                Ok(member) => break member,
                Err(reason) if reason.is_final() => return Err(reason),
                Err(reason) => self.pause(&reason).await,
            }
        };
        loop {
            let Means { client, overlap } = self.means.borrow_and_update().clone();
            member.set_client(client);
            self.resharder.set_grace(overlap);
            match self.meanwhile(member.read()).await {
                Ok((seen, version)) => {
                    // A place that was assigned already need not wait for the watch.
                    if self.resharder.is_placed() {
                        self.observe(seen);
                        self.shares.looked();
                    } else {
                        self.held = Some(seen);
                    }
                    match self.look_at_peers(&member).await {
                        Ok(()) => self.follow(&member, version).await,
                        Err(reason) => self.pause(&reason).await,
                    }
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
            let (shares, mut means) = (self.shares.clone(), self.means.clone());
            let next = async {
                tokio::select! {
                    Ok(()) = means.changed() => Some(Err(SetError::Expired)),
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
                    self.look_at_peers(member).await?;
                    if is_news {
                        debug!("the watch of the StatefulSet is behind, opening another one");
                        *version = read_version;
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Looks at the other pods of the set, if that is of any concern.
    async fn look_at_peers(&mut self, member: &Member) -> Result<(), SetError> {
        let Some(seen) = self.resharder.wants_peers().cloned() else { return Ok(()) };
        let ready = self.meanwhile(member.peers_are_ready(&seen)).await?;
        self.resharder.observe_peers(ready, Instant::now());
        Ok(())
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
        let (shares, mut means) = (self.shares.clone(), self.means.clone());
        let wait = async {
            tokio::select! {
                () = sleep(delay) => {}
                () = shares.asked() => {}
                // What failed may not fail with another client.
                Ok(()) = means.changed() => {}
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
        if matches!(reason, SetError::Gone { .. }) {
            self.resharder.dissolve();
            self.shares.looked();
        }
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

#[cfg(test)]
mod tests {
    use super::set::Right;
    use super::*;

    #[tokio::test]
    async fn a_missing_right_is_named_with_its_place_and_what_grants_it() {
        let nobody = |_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("nobody answers"))
        };
        let client = kube::Client::new(tower::service_fn(nobody), "default");
        let autoshard = Autoshard::new("ksm-0".to_owned(), "mon".to_owned(), Scheme::Range, None);
        let (shares, (_means, means)) = (autoshard.shares(), watch::channel(autoshard.means(client)));
        let following = Following::new(autoshard, means, shares);
        for (verb, resource) in [("get", "pods"), ("list", "statefulsets"), ("watch", "statefulsets")] {
            let reason = SetError::Forbidden { right: Right { verb, resource }, message: "no".to_owned() };
            assert_eq!(
                following.complaint(&reason),
                format!(
                    "automatic shards need the right to {verb} {resource} in namespace mon, nothing is served without it: \
                     grant get on pods and get, list and watch on statefulsets to the service account, as the Role in \
                     deploy/base/ksm-shard-auto does (no)"
                )
            );
        }
    }
}

//! The share of a process, given or found out, over changes of its configuration.
//!
//! A new configuration that says the same about shards keeps what is known, so that a change in the middle of a reshard
//! ends no overlap early.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::autoshard::{self, Autoshard};
use crate::options::Settings;
use crate::shard::Shard;
use crate::watch::Shares;

pub(super) struct Sharding {
    shard: Shard,
    autoshard: Option<Autoshard>,
    shares: Shares,
    clients: watch::Sender<kube::Client>,
    /// Whether the search for a shard is over, for want of one.
    ended: watch::Receiver<bool>,
    search: Option<JoinHandle<()>>,
}

impl Sharding {
    /// Takes the shard that the settings say, or starts to find it out.
    pub(super) fn start(settings: &Settings, client: &kube::Client) -> Arc<Self> {
        let autoshard = settings.autoshard.clone();
        let (clients, client) = watch::channel(client.clone());
        let (end, ended) = watch::channel(false);
        let (shares, search) = match autoshard.clone() {
            None => (settings.shard.into(), None),
            Some(autoshard) => {
                let shares = autoshard.shares();
                let following = autoshard.run(client, shares.clone());
                let search = tokio::spawn(async move {
                    following.await;
                    end.send_replace(true);
                });
                (shares, Some(search))
            }
        };
        Arc::new(Self { shard: settings.shard, autoshard, shares, clients, ended, search })
    }

    /// The same, or another one if the settings say something else about shards.
    pub(super) fn carry_on(self: &Arc<Self>, settings: &Settings, client: &kube::Client) -> Arc<Self> {
        if settings.autoshard != self.autoshard || settings.shard != self.shard {
            return Self::start(settings, client);
        }
        self.clients.send_replace(client.clone());
        Arc::clone(self)
    }

    /// The share.
    pub(super) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Waits until it turns out that there is no shard to serve.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut ended = self.ended.clone();
        async move {
            if ended.wait_for(|ended| *ended).await.is_err() {
                // The shard was given.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits as long as a process that is told to stop is to go on.
    pub(super) async fn linger(&self) {
        if self.autoshard.as_ref().is_some_and(|autoshard| autoshard.overlap.is_some()) {
            autoshard::linger(&self.shares).await;
        }
    }
}

impl Drop for Sharding {
    fn drop(&mut self) {
        if let Some(search) = &self.search {
            search.abort();
        }
    }
}

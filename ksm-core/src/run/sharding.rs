//! The share of a process, given or found out, over changes of its configuration.
//!
//! A new configuration of the same pod keeps what is known, so that a change in the middle of a reshard ends no overlap
//! early; another grace or client counts from when the configuration is in use.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::autoshard::{self, Autoshard, Means};
use crate::options::Settings;
use crate::shard::Shard;
use crate::watch::Shares;

pub(super) struct Sharding {
    shard: Shard,
    autoshard: Option<Autoshard>,
    shares: Shares,
    means: watch::Sender<Means>,
    /// Whether the search for a shard is over, for want of one.
    ended: watch::Receiver<bool>,
    search: Option<JoinHandle<()>>,
}

impl Sharding {
    /// Takes the shard that the settings say, or starts to find it out.
    pub(super) fn start(settings: &Settings, client: &kube::Client) -> Arc<Self> {
        let autoshard = settings.autoshard.clone();
        let (means, received) = watch::channel(means(settings, client));
        let (end, ended) = watch::channel(false);
        let (shares, search) = match autoshard.clone() {
            None => (settings.shard.into(), None),
            Some(autoshard) => {
                let shares = autoshard.shares();
                let following = autoshard.run(received, shares.clone());
                let search = tokio::spawn(async move {
                    following.await;
                    end.send_replace(true);
                });
                (shares, Some(search))
            }
        };
        Arc::new(Self { shard: settings.shard, autoshard, shares, means, ended, search })
    }

    /// The same, or another one if the settings are about another shard. The same one goes on as before until it is told
    /// to [take them up](Self::take_up); at once where no shard is known yet, as nothing is listed without one.
    pub(super) fn carry_on(self: &Arc<Self>, settings: &Settings, client: &kube::Client) -> Arc<Self> {
        let alike = match (&self.autoshard, &settings.autoshard) {
            (None, None) => settings.shard == self.shard,
            (Some(before), Some(now)) => now.is_like(before),
            _ => false,
        };
        if !alike {
            return Self::start(settings, client);
        }
        if self.shares.status().place.is_none() {
            self.take_up(settings, client);
        }
        Arc::clone(self)
    }

    /// Goes by these settings and this client from now on.
    pub(super) fn take_up(&self, settings: &Settings, client: &kube::Client) {
        self.means.send_replace(means(settings, client));
    }

    /// The share.
    pub(super) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Waits until it turns out that there is no shard to serve.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let (mut ended, is_given) = (self.ended.clone(), self.search.is_none());
        async move {
            // A search that is there no more without having said so has panicked.
            if ended.wait_for(|ended| *ended).await.is_err() && is_given {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits as long as a process that is told to stop is to go on, at least `delay`; it is not ready from now on.
    pub(super) async fn linger(&self, delay: Duration) {
        self.shares.update(|status| status.stopping = true);
        let delayed = tokio::time::sleep(delay);
        if self.means.borrow().overlap.is_some() {
            autoshard::linger(&self.shares).await;
        }
        delayed.await;
    }
}

fn means(settings: &Settings, client: &kube::Client) -> Means {
    Means { client: client.clone(), overlap: settings.autoshard.as_ref().and_then(|autoshard| autoshard.overlap) }
}

impl Drop for Sharding {
    fn drop(&mut self) {
        if let Some(search) = &self.search {
            search.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Part, SharedArgs};
    use crate::shard::Scheme;

    fn client() -> kube::Client {
        let nobody = |_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("nobody answers"))
        };
        kube::Client::new(tower::service_fn(nobody), "default")
    }

    fn settings(pod: &str, overlap: Option<Duration>) -> Settings {
        let resources = crate::resource::shared(crate::resources::all());
        let mut settings =
            Settings::resolve(&SharedArgs::default(), Part::Everything, Shard::WHOLE, &resources).unwrap();
        let (pod, namespace) = (pod.to_owned(), "mon".to_owned());
        settings.autoshard = Some(Autoshard::new(pod, namespace, Scheme::Range, overlap));
        settings
    }

    #[tokio::test]
    async fn another_grace_goes_on_with_the_same_shard_and_counts_when_it_is_taken_up() {
        let (short, long) = (Some(Duration::from_secs(30)), Some(Duration::from_secs(90)));
        let sharding = Sharding::start(&settings("ksm-0", short), &client());
        sharding.shares().update(|status| status.place = Some((0, 1)));
        let (next, client) = (settings("ksm-0", long), client());
        let carried = sharding.carry_on(&next, &client);
        assert!(Arc::ptr_eq(&sharding, &carried));
        assert_eq!(sharding.means.borrow().overlap, short, "lists for the new configuration are read meanwhile");
        carried.take_up(&next, &client);
        assert_eq!(sharding.means.borrow().overlap, long);
        assert!(!Arc::ptr_eq(&sharding, &sharding.carry_on(&settings("ksm-1", long), &client)));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_told_to_stop_goes_on_for_the_delay_and_is_not_ready() {
        let mut given = settings("ksm-0", None);
        given.autoshard = None;
        let sharding = Sharding::start(&given, &client());
        let started = tokio::time::Instant::now();
        let mut linger = std::pin::pin!(sharding.linger(Duration::from_secs(15)));
        assert!(tokio::time::timeout(Duration::from_secs(14), &mut linger).await.is_err());
        assert!(sharding.shares().status().stopping);
        linger.await;
        assert_eq!(started.elapsed(), Duration::from_secs(15));
    }

    #[tokio::test]
    async fn a_search_that_breaks_off_ends_and_a_shard_that_was_given_does_not() {
        let searching = Sharding::start(&settings("ksm-0", None), &client());
        searching.search.as_ref().expect("it searches").abort();
        searching.ended().await;
        let mut given = settings("ksm-0", None);
        given.autoshard = None;
        let ended = Sharding::start(&given, &client()).ended();
        assert!(tokio::time::timeout(Duration::from_millis(50), ended).await.is_err());
    }
}

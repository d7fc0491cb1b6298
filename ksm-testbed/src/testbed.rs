//! A running test bed: a cluster behind an HTTP server, on threads of its own.
//!
//! The server has its own runtime, so that tests may block, use a current-thread runtime or none. Dropping the test bed
//! stops it and closes all connections.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, runtime::Runtime};

use crate::{
    access::{Token, Tokens},
    api::{Api, Options},
    churn,
    cluster::{Cluster, DEFAULT_HISTORY},
    faults::Faults,
    local::Local,
    sample::SampleOptions,
    server::{self, Outages},
    stats::Stats,
};

/// Why a test bed could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The runtime could not be built.
    #[error("cannot start threads")]
    Runtime(#[source] io::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Building the sample cluster panicked.
    #[error("cannot build the cluster")]
    Cluster,
}

/// What a test bed is started with.
#[derive(Debug, Clone)]
pub struct Builder {
    address: SocketAddr,
    sample: Option<SampleOptions>,
    churn: f64,
    history: usize,
    options: Options,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            sample: None,
            churn: 0.0,
            history: DEFAULT_HISTORY,
            options: Options {
                sharding: false,
                watch_list: true,
                bookmark_interval: Duration::from_secs(60),
                tokens: Vec::new(),
            },
        }
    }
}

impl Builder {
    /// Where to listen; a free port of 127.0.0.1 by default.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Starts with a sample cluster instead of an empty one.
    pub fn sample(mut self, sample: SampleOptions) -> Self {
        self.sample = Some(sample);
        self
    }

    /// Changes per second that the cluster makes by itself; 0, the default, for none. Needs a sample cluster.
    pub fn churn(mut self, per_second: f64) -> Self {
        self.churn = per_second;
        self
    }

    /// Whether the server honours shard selectors (feature gate `ShardedListAndWatch`); off by default, as in 1.37.
    pub fn sharded_list_watch(mut self, on: bool) -> Self {
        self.options.sharding = on;
        self
    }

    /// Whether the server streams lists (feature gate `WatchList`); on by default.
    pub fn watch_list(mut self, on: bool) -> Self {
        self.options.watch_list = on;
        self
    }

    /// Time between bookmarks on a watch that allows them; a minute by default.
    pub fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.options.bookmark_interval = interval;
        self
    }

    /// Events kept for each resource; 10 000 by default.
    pub fn history(mut self, events: usize) -> Self {
        self.history = events;
        self
    }

    /// Requires one of the tokens added like this.
    pub fn token(mut self, token: Token) -> Self {
        self.options.tokens.push(token);
        self
    }

    /// An API server of that cluster to be called without a network, on the caller's runtime. What was said about the
    /// address, the sample, churn and history does not count.
    pub fn local(self, cluster: &Cluster) -> Local {
        Local::new(Api {
            cluster: cluster.clone(),
            tokens: Tokens::new(self.options.tokens.clone()),
            options: self.options,
            faults: Faults::default(),
            stats: Stats::default(),
            // Nobody listens to it, so there is nothing to close.
            outages: server::outages().0,
        })
    }

    /// Builds the cluster and starts serving it.
    pub async fn start(self) -> Result<Testbed, StartError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("testbed")
            .enable_all()
            .build()
            .map_err(StartError::Runtime)?;
        // From here on the runtime is stopped with the test bed, whatever happens.
        let mut testbed = Testbed {
            address: self.address,
            cluster: Cluster::new(self.history, self.sample.as_ref().map_or(0, |sample| sample.seed)),
            tokens: Tokens::new(self.options.tokens.clone()),
            faults: Faults::default(),
            stats: Stats::default(),
            outages: None,
            runtime: Some(runtime),
        };
        let runtime = testbed.runtime.as_ref().expect("set above").handle().clone();
        if let Some(sample) = self.sample {
            let cluster = testbed.cluster.clone();
            let built = runtime.spawn_blocking(move || cluster.fill(&sample)).await;
            built.map_err(|_| StartError::Cluster)?;
        }
        let address = self.address;
        let bound =
            runtime.spawn(TcpListener::bind(address)).await.unwrap_or_else(|error| Err(io::Error::other(error)));
        let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|source| StartError::Listen { address, source })?;
        testbed.address = address;
        let (outages, commands) = server::outages();
        testbed.outages = Some(outages.clone());
        let api = Api {
            cluster: testbed.cluster.clone(),
            tokens: testbed.tokens.clone(),
            options: self.options,
            faults: testbed.faults.clone(),
            stats: testbed.stats.clone(),
            outages,
        };
        runtime.spawn(server::serve(listener, Arc::new(api), commands));
        if self.churn > 0.0 {
            runtime.spawn(churn::run(testbed.cluster.clone(), self.churn));
        }
        Ok(testbed)
    }
}

/// A running simulated API server.
pub struct Testbed {
    address: SocketAddr,
    cluster: Cluster,
    tokens: Tokens,
    faults: Faults,
    stats: Stats,
    outages: Option<Outages>,
    runtime: Option<Runtime>,
}

impl Testbed {
    /// A builder for an empty cluster on a free port.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The objects.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// What clients did.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// What is to go wrong.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Accepts a token no more; watches that are open go on, as those of an API server do.
    pub fn revoke(&self, token: &str) {
        self.tokens.revoke(token);
    }

    /// Closes all connections and refuses new ones, until [`Self::up`].
    pub async fn down(&self) {
        if let Some(outages) = &self.outages {
            outages.down().await;
        }
    }

    /// Ends what [`Self::down`] has begun; the address stays the same.
    pub async fn up(&self) {
        if let Some(outages) = &self.outages {
            outages.up().await;
        }
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

//! A control plane without a network: API servers that are called, and a client that calls them.
//!
//! Nothing leaves the test's runtime, so with paused time and a seed a run repeats itself exactly.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::stream;
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use ksm_testbed::{Cluster, Local, Testbed};
use kube::client::Body;
use tokio::sync::watch;

/// Which of several API servers answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Always this one.
    Fixed(usize),
    /// Each in turn, as behind a load balancer.
    InTurn,
}

/// The link to it: what gets through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Nothing does.
    pub down: bool,
    /// How often all connections were cut.
    pub cuts: u32,
}

/// API servers of one cluster.
#[derive(Clone)]
pub struct ControlPlane {
    servers: Arc<Vec<Local>>,
    turn: Arc<AtomicUsize>,
    link: watch::Sender<Link>,
    choice: watch::Sender<Choice>,
    /// How long lists of config maps take, at most.
    latency: watch::Sender<Duration>,
}

/// Whether a request is for a whole list of config maps, and whether that is streamed.
fn list_of_config_maps(uri: &http::Uri) -> Option<bool> {
    let query = uri.query().unwrap_or_default();
    let is = |parameter: &str| query.split('&').any(|found| found == parameter);
    let (streamed, watched, probe) = (is("sendInitialEvents=true"), is("watch=true"), is("limit=1"));
    (uri.path().ends_with("/configmaps") && (streamed || !watched) && !probe).then_some(streamed)
}

impl ControlPlane {
    /// An API server for each entry, which says whether it filters by shard.
    pub fn new(cluster: &Cluster, sharding: &[bool], streamed_lists: bool) -> Self {
        let builder = |on| Testbed::builder().sharded_list_watch(on).watch_list(streamed_lists);
        let servers = sharding.iter().map(|&on| builder(on).local(cluster)).collect();
        Self {
            servers: Arc::new(servers),
            turn: Arc::default(),
            link: watch::Sender::default(),
            choice: watch::Sender::new(Choice::InTurn),
            latency: watch::Sender::default(),
        }
    }

    /// The API servers.
    pub fn servers(&self) -> &[Local] {
        &self.servers
    }

    /// Has requests answered otherwise from now on.
    pub fn choose(&self, choice: Choice) {
        self.choice.send_replace(choice);
    }

    /// Has lists of config maps take up to this long from now on: streamed ones until they are answered, others until
    /// their body comes.
    pub fn set_latency(&self, latency: Duration) {
        self.latency.send_replace(latency);
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.link.send_modify(|link| link.cuts += 1);
    }

    /// Cuts all connections and lets none be made, or lets them be made again.
    pub fn set_down(&self, down: bool) {
        self.link.send_modify(|link| {
            link.down = down;
            link.cuts += 1;
        });
    }

    /// A client that reaches it, or not. `token` is sent with each request.
    pub fn client(&self, token: Option<&str>) -> kube::Client {
        let (plane, token) = (self.clone(), token.map(|token| format!("Bearer {token}")));
        let service = tower::service_fn(move |mut request: Request<Body>| {
            if let Some(token) = &token {
                let value = token.parse().expect("a token is visible ASCII");
                request.headers_mut().insert(http::header::AUTHORIZATION, value);
            }
            let plane = plane.clone();
            async move { plane.answer(request).await }
        });
        kube::Client::new(service, "default")
    }

    async fn answer(
        &self,
        request: Request<Body>,
    ) -> Result<Response<impl http_body::Body<Data = bytes::Bytes, Error = io::Error> + use<>>, io::Error> {
        let mut link = self.link.subscribe();
        tokio::time::sleep(Duration::from_millis(2)).await;
        if link.borrow_and_update().down {
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "the link is down"));
        }
        let latency = self.latency.borrow().mul_f64(fastrand::f64());
        let mut delay = Duration::ZERO;
        match list_of_config_maps(request.uri()) {
            Some(true) => tokio::time::sleep(latency).await,
            Some(false) => delay = latency,
            None => {}
        }
        let server = match *self.choice.borrow() {
            Choice::Fixed(server) => server,
            Choice::InTurn => self.turn.fetch_add(1, Ordering::Relaxed) % self.servers.len(),
        };
        let (parts, body) = self.servers[server].call(request).await.into_parts();
        let frames =
            stream::unfold((Box::pin(body), link, delay, false), |(mut body, mut link, delay, ended)| async move {
                if ended {
                    return None;
                }
                let cut = io::Error::new(io::ErrorKind::ConnectionReset, "the connection was cut");
                let late = async {
                    if !delay.is_zero() {
                        tokio::time::sleep(delay).await;
                    }
                    body.frame().await
                };
                let frame = tokio::select! {
                    biased;
                    _ = link.changed() => Err(cut),
                    frame = late => match frame? {
                        Ok(frame) => Ok(frame),
                        Err(_) => Err(cut),
                    },
                };
                let ended = frame.is_err();
                Some((frame, (body, link, Duration::ZERO, ended)))
            });
        Ok(Response::from_parts(parts, StreamBody::new(Box::pin(frames))))
    }
}

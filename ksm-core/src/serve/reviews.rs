//! Asks the API server who a token stands for (`TokenReview`) and whether that user may `get` a path
//! (`SubjectAccessReview`).
//!
//! Answers are remembered for a short while; that there is none is not, and is no permission.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api, PostParams};
use ring::digest;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::chain::chain;

/// How long a permission holds, and so how long a token that was revoked still reads.
const ALLOWED: Duration = Duration::from_secs(60);

/// How long a refusal holds.
const REFUSED: Duration = Duration::from_secs(10);

/// Answers remembered at most; the oldest are of no use anyway when there are more.
const REMEMBERED: usize = 1000;

/// Reviews at a time: strangers with made-up tokens are not to flood the API server.
const AT_ONCE: usize = 8;

/// How long a review may take, waiting for its turn included.
const LIMIT: Duration = Duration::from_secs(5);

/// What the API server says of a token and a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    /// The token stands for nobody.
    Unknown,
    /// Whoever it stands for may not read the path.
    Forbidden,
}

/// Token and path, the former as a digest.
type Question = (Vec<u8>, String);

/// The API server as a guard.
pub struct Reviews {
    client: ArcSwap<kube::Client>,
    verdicts: Mutex<HashMap<Question, (Verdict, Instant)>>,
    places: Semaphore,
}

impl Reviews {
    /// Reviews by the API server of that client.
    pub fn new(client: kube::Client) -> Self {
        let (client, places) = (ArcSwap::from_pointee(client), Semaphore::new(AT_ONCE));
        Self { client, verdicts: Mutex::default(), places }
    }

    pub(super) fn set_client(&self, client: kube::Client) {
        self.client.store(std::sync::Arc::new(client));
    }

    /// What the API server says, `None` if it cannot be asked.
    pub(super) async fn review(&self, token: &str, path: &str) -> Option<Verdict> {
        let question = (digest::digest(&digest::SHA256, token.as_bytes()).as_ref().to_vec(), path.to_owned());
        if let Some(verdict) = self.remembered(&question) {
            return Some(verdict);
        }
        let asked = timeout(LIMIT, async {
            let _place = self.places.acquire().await.expect("the semaphore is never closed");
            match self.remembered(&question) {
                Some(verdict) => Ok(verdict),
                None => ask(kube::Client::clone(&self.client.load()), token, path).await,
            }
        });
        match asked.await {
            Ok(Ok(verdict)) => {
                self.remember(question, verdict);
                Some(verdict)
            }
            Ok(Err(error)) => {
                warn!(error = %chain(&error), "review failed, request refused");
                None
            }
            Err(_) => {
                warn!("review took too long, request refused");
                None
            }
        }
    }

    fn remembered(&self, question: &Question) -> Option<Verdict> {
        self.lock().get(question).filter(|(_, until)| Instant::now() < *until).map(|(verdict, _)| *verdict)
    }

    fn remember(&self, question: Question, verdict: Verdict) {
        let now = Instant::now();
        let mut verdicts = self.lock();
        if verdicts.len() >= REMEMBERED {
            verdicts.retain(|_, (_, until)| now < *until);
        }
        if verdicts.len() >= REMEMBERED {
            verdicts.clear();
        }
        let holds = if verdict == Verdict::Allowed { ALLOWED } else { REFUSED };
        verdicts.insert(question, (verdict, now + holds));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Question, (Verdict, Instant)>> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(client: kube::Client, token: &str, path: &str) -> Result<Verdict, kube::Error> {
    let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
    let review = TokenReview { spec, ..TokenReview::default() };
    let reviews: Api<TokenReview> = Api::all(client.clone());
    let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
    let user = match (status.authenticated, status.user) {
        (Some(true), Some(user)) => user,
        _ => return Ok(Verdict::Unknown),
    };
    let path = NonResourceAttributes { path: Some(path.to_owned()), verb: Some("get".to_owned()) };
    let spec = SubjectAccessReviewSpec {
        user: user.username,
        uid: user.uid,
        groups: user.groups,
        extra: user.extra,
        non_resource_attributes: Some(path),
        resource_attributes: None,
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
    let denied = status.denied.unwrap_or(false);
    Ok(if status.allowed && !denied { Verdict::Allowed } else { Verdict::Forbidden })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use http::{Request, Response};
    use http_body_util::Full;
    use serde_json::json;

    use super::*;

    /// An API server that knows everybody, or nobody, and how many tokens it was asked about.
    fn reviews(known: bool) -> (Reviews, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let is_token = request.uri().path().ends_with("/tokenreviews");
            counted.fetch_add(usize::from(is_token), Relaxed);
            let status = match is_token {
                true => json!({"authenticated": known, "user": {"username": "u"}}),
                false => json!({"allowed": true}),
            };
            let body = json!({"metadata": {}, "spec": {}, "status": status}).to_string();
            async move { Ok::<_, Infallible>(Response::new(Full::new(bytes::Bytes::from(body)))) }
        });
        (Reviews::new(kube::Client::new(service, "default")), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_remembered_for_their_time_and_no_longer() {
        for (known, verdict, holds) in [(true, Verdict::Allowed, ALLOWED), (false, Verdict::Unknown, REFUSED)] {
            let (reviews, asked) = reviews(known);
            for expected in [1, 2] {
                assert_eq!(reviews.review("t", "/metrics").await, Some(verdict));
                tokio::time::advance(holds - Duration::from_secs(1)).await;
                assert_eq!(reviews.review("t", "/metrics").await, Some(verdict));
                assert_eq!(asked.load(Relaxed), expected, "{verdict:?}");
                tokio::time::advance(Duration::from_secs(2)).await;
            }
            // Another path, and another token, are other questions.
            reviews.review("t", "/").await;
            reviews.review("other", "/").await;
            assert_eq!(asked.load(Relaxed), 4, "{verdict:?}");
        }
    }
}

//! Passwords against bcrypt hashes, one at a time: each takes some 50 ms of processor time.
//!
//! What was found is remembered under a keyed digest, so a scraper pays once and memory holds no password.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ring::hmac;
use tokio::task::spawn_blocking;

use super::web::Web;

/// Outcomes remembered at most; when there are more, all are forgotten.
const REMEMBERED: usize = 100;

/// Stands for a user that is not there, so that it takes as long to say no. A hash of random bytes at the usual cost.
const NOBODY: &str = "$2b$10$CwTycUXWue0Thq9StjUM0uJ4vY6tPz0hS0Ul0b1bC6m1xYwFJvFHe";

pub(super) struct Passwords {
    key: hmac::Key,
    outcomes: Arc<Mutex<HashMap<Vec<u8>, bool>>>,
    turn: tokio::sync::Mutex<()>,
}

impl Default for Passwords {
    fn default() -> Self {
        let random = ring::rand::SystemRandom::new();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random).expect("the system has random bytes");
        Self { key, outcomes: Arc::default(), turn: tokio::sync::Mutex::new(()) }
    }
}

impl Passwords {
    /// Whether that user has that password.
    pub(super) async fn verify(&self, web: &Web, user: String, password: String) -> bool {
        let (known, hash) = match web.users.get(&user) {
            Some(hash) => (true, hash.clone()),
            None => (false, NOBODY.to_owned()),
        };
        let mut digest = hmac::Context::with_key(&self.key);
        for part in [&user, &hash, &password] {
            digest.update(&part.len().to_le_bytes());
            digest.update(part.as_bytes());
        }
        let digest = digest.sign().as_ref().to_vec();
        if let Some(outcome) = self.remembered(&digest) {
            return outcome;
        }
        let _turn = self.turn.lock().await;
        // Whoever had the turn before may have asked the same.
        if let Some(outcome) = self.remembered(&digest) {
            return outcome;
        }
        let verified = spawn_blocking(move || bcrypt::verify(password, &hash).unwrap_or(false)).await.unwrap_or(false);
        let outcome = known && verified;
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        if outcomes.len() >= REMEMBERED {
            outcomes.clear();
        }
        outcomes.insert(digest, outcome);
        outcome
    }

    fn remembered(&self, digest: &[u8]) -> Option<bool> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).get(digest).copied()
    }
}

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
const NOBODY: &str = "$2b$10$CwTycUXWue0Thq9StjUM0u.dGB5P8rHB04RK2xx6P2ziLc6Ok/fQC";

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_hash_of_nobody_is_as_costly_as_any() {
        let parts: bcrypt::HashParts = NOBODY.parse().unwrap();
        assert_eq!(parts.get_cost(), 10);
        assert!(!bcrypt::verify("", NOBODY).unwrap());
    }

    #[tokio::test]
    async fn outcomes_are_remembered_by_user_hash_and_password() {
        let passwords = Passwords::default();
        let user = |password: &str| {
            let users = BTreeMap::from([("u".to_owned(), bcrypt::hash(password, 4).unwrap())]);
            Web { users, ..Web::default() }
        };
        let (first, second) = (user("first"), user("second"));
        for _ in 0..2 {
            assert!(passwords.verify(&first, "u".to_owned(), "first".to_owned()).await);
            assert!(!passwords.verify(&first, "u".to_owned(), "second".to_owned()).await);
            assert!(!passwords.verify(&second, "u".to_owned(), "first".to_owned()).await);
            assert!(!passwords.verify(&first, "ufirst".to_owned(), String::new()).await);
        }
        assert_eq!(passwords.outcomes.lock().unwrap().len(), 4);
        for i in 0..REMEMBERED {
            assert!(!passwords.verify(&first, "u".to_owned(), format!("guess {i}")).await);
        }
        assert!(passwords.outcomes.lock().unwrap().len() <= REMEMBERED);
    }
}

//! Sharding as a whole, against simulated API servers and in virtual time.
#![cfg(feature = "runtime")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod autoshard;
mod control_plane;
mod member;
mod recovery;
mod server_side;
mod simulation;
mod taking;

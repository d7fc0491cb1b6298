//! HTTP: the exposition, health, self-metrics, and a page for people.
//!
//! Invariant: a scrape calls no API and renders nothing. It takes one snapshot of each store when it starts and copies
//! stored text; no lock is shared with what updates the stores. It may ask these to show what they have read.

mod beat;
mod body;
mod crowd;
mod exposition;
mod guard;
mod landing;
mod negotiate;
mod pace;
mod pages;
mod passwords;
mod profile;
mod query;
mod reviews;
mod server;
mod tls;
mod web;

pub use body::Body;
pub use exposition::write_all;
pub use guard::Guard;
pub use pace::Limits;
pub use pages::{MetricsPages, TelemetryPages};
pub use profile::{Profiler, Profiling};
pub use reviews::Reviews;
pub use server::{Client, Handler, Server};
pub use web::{Web, WebError, WebFile};

#[cfg(test)]
mod tests;

//! HTTP: the exposition, health, self-metrics, and a page for people.
//!
//! Invariant: a scrape calls no API and renders nothing. It takes one snapshot of each store when it starts and copies
//! stored text; no lock is shared with what updates the stores. It may ask these to show what they have read.

mod beat;
mod body;
mod exposition;
mod landing;
mod negotiate;
mod pace;
mod pages;
mod query;
mod server;

pub use body::Body;
pub use pace::Limits;
pub use pages::{About, MetricsPages, TelemetryPages};
pub use server::{Client, Handler, Server};

#[cfg(test)]
mod tests;

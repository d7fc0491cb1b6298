//! Objects between their two encodings: JSON as people write it and protobuf as the API server stores and sends it.
//!
//! Everything is driven by [`schema`]: no kind is named in this module except the handful of Kubernetes types whose JSON
//! form is not the plain form of their protobuf message (times, quantities, embedded JSON and the like).

mod decode;
mod encode;
pub(crate) mod schema;
pub(crate) mod wire;

pub(crate) use decode::{to_json, write_fields, write_json};
pub(crate) use encode::to_protobuf;

#[cfg(test)]
mod tests;

//! Which objects a request is about: label, field and shard selectors.

mod field;
mod label;
mod shard;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;
pub(crate) use shard::ShardSelector;
pub use shard::{ShardRange, uid_hash};

use crate::store::Object;

/// All selectors of a request together.
#[derive(Debug, Default)]
pub(crate) struct Selector {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    /// `None` when the request names no shard or the server does not shard.
    pub(crate) shard: Option<ShardSelector>,
}

impl Selector {
    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.labels.matches(object)
            && self.fields.matches(object)
            && self.shard.as_ref().is_none_or(|shard| shard.matches(object))
    }

    /// Whether every object matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty() && self.shard.is_none()
    }
}

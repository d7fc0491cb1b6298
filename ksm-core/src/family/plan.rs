//! What is rendered of one resource: its enabled families, and the labels and annotations to copy.

use super::{FamilyInfo, KeyFilter};

/// Settles, once per configuration, what generators produce for one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    families: Vec<usize>,
    /// Object labels copied by `*_labels` families.
    pub labels: KeyFilter,
    /// Object annotations copied by `*_annotations` families.
    pub annotations: KeyFilter,
}

impl Plan {
    /// A plan with the families of `table` that `enabled` picks, in table order.
    pub fn new(
        table: &[FamilyInfo<'_>],
        enabled: impl Fn(&FamilyInfo<'_>) -> bool,
        labels: KeyFilter,
        annotations: KeyFilter,
    ) -> Self {
        let families = table.iter().enumerate().filter(|(_, family)| enabled(family)).map(|(index, _)| index).collect();
        Self { families, labels, annotations }
    }

    /// A plan with every family that is not opt-in and no copied labels: what is served without any option.
    pub fn by_default(table: &[FamilyInfo<'_>]) -> Self {
        Self::new(table, |family| !family.opt_in, KeyFilter::None, KeyFilter::None)
    }

    /// Table indices of the enabled families, ascending.
    pub fn families(&self) -> &[usize] {
        &self.families
    }
}

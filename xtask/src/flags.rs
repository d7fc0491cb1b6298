//! The flags under which exporters are compared.
//!
//! Invariant: the same arguments mean the same to ours and to the reference.

/// The flags of one comparison.
pub struct Flags {
    /// For reports.
    pub name: &'static str,
    /// Whether opt-in families and copied labels are on.
    everything: bool,
}

impl Flags {
    /// What a user gets without asking.
    pub const DEFAULT: Self = Self { name: "default flags", everything: false };

    /// All opt-in families, all labels and annotations.
    pub const EVERYTHING: Self = Self { name: "all families, * lists", everything: true };

    /// Whether nothing is left out.
    pub fn everything(&self) -> bool {
        self.everything
    }

    /// As arguments, for exporters of `resources`.
    pub fn arguments(&self, resources: &[&str]) -> Vec<String> {
        let mut arguments = Vec::new();
        if self.everything {
            let lists: Vec<String> = resources.iter().map(|resource| format!("{resource}=[*]")).collect();
            let lists = lists.join(",");
            arguments.push("--metric-opt-in-list=.*".to_owned());
            arguments.push(format!("--metric-labels-allowlist={lists}"));
            arguments.push(format!("--metric-annotations-allowlist={lists}"));
        }
        arguments
    }
}

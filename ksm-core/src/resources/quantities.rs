//! Resource names and units, as nodes and pods export them.
//!
//! A name is exported only under a unit that it is known to have, so that sums over a unit mean something.

/// What a quantity of a resource counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Cores of CPU.
    Core,
    /// Bytes.
    Byte,
    /// Whole things, such as devices.
    Integer,
}

impl Unit {
    /// The value of the label `unit`.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Byte => "byte",
            Self::Integer => "integer",
        }
    }
}

/// The units a container resource is exported under: none for a name that is not known, and two for a name that reads
/// both as huge pages (or attachable volumes) and as an extended resource.
pub(super) fn units(resource: &str) -> impl Iterator<Item = Unit> {
    let native = match resource {
        "cpu" => Some(Unit::Core),
        "memory" | "storage" | "ephemeral-storage" => Some(Unit::Byte),
        _ if resource.starts_with("hugepages-") || resource.starts_with("attachable-volumes-") => Some(Unit::Byte),
        _ => None,
    };
    native.into_iter().chain(is_extended(resource).then_some(Unit::Integer))
}

/// Whether the name is that of an extended resource, by the API server's own rules: a domain that is not Kubernetes'
/// own, and still a qualified name with the quota prefix in front.
/// Source: <https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources>.
fn is_extended(resource: &str) -> bool {
    const QUOTA_PREFIX: &str = "requests.";
    const LONGEST_DOMAIN: usize = 253;
    const LONGEST_NAME: usize = 63;
    let Some((domain, name)) = resource.split_once('/') else { return false };
    !resource.contains("kubernetes.io/")
        && !resource.starts_with(QUOTA_PREFIX)
        && QUOTA_PREFIX.len() + domain.len() <= LONGEST_DOMAIN
        && !domain.bytes().any(|byte| byte.is_ascii_uppercase())
        && domain.split('.').all(|label| is_word(label, "-"))
        && name.len() <= LONGEST_NAME
        && is_word(name, "-_.")
}

/// Whether `text` is made of ASCII letters and digits, with characters of `between` only between them.
fn is_word(text: &str, between: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || between.contains(c))
}

#[cfg(test)]
mod tests;

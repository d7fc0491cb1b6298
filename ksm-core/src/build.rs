//! Which program and version this is.

use std::fmt;

/// Which program this is; [`build!`](macro@crate::build) makes it from what cargo says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// Name of the binary.
    pub name: &'static str,
    /// Version of its package.
    pub version: &'static str,
    /// Revision of the sources, `unknown` unless `KSM_REVISION` was set when it was built.
    pub revision: &'static str,
    /// When the sources were of that revision (RFC 3339, UTC), `unknown` unless `KSM_DATE` was set when it was built.
    pub date: &'static str,
}

impl Build {
    /// Version, revision and date.
    pub fn version_line(self) -> String {
        format!("{} (revision {}, date {})", self.version, self.revision, self.date)
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version_line())
    }
}

/// The [`Build`](struct@crate::build::Build) of the package that calls it.
#[macro_export]
macro_rules! build {
    () => {
        $crate::build::Build {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            revision: match option_env!("KSM_REVISION") {
                Some(revision) => revision,
                None => "unknown",
            },
            date: match option_env!("KSM_DATE") {
                Some(date) => date,
                None => "unknown",
            },
        }
    };
}

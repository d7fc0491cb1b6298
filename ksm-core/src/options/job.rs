//! What a command line asks for: to serve, or to look at manifests once.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Settings, UsageError};

/// What to do.
pub enum Job {
    /// Serve until told to stop.
    Serve(Configuration),
    /// Print the exposition of manifests.
    Render {
        /// What would be served.
        settings: Settings,
        /// Files of manifests, `-` for stdin.
        files: Vec<OsString>,
        /// OpenMetrics instead of text.
        openmetrics: bool,
    },
    /// Print where the samples and bytes of an exposition are.
    Explain {
        /// What would be served; its lists are what the savings are computed for.
        settings: Settings,
        /// Files of manifests or of an exposition, `-` for stdin.
        files: Vec<OsString>,
        /// A running target instead.
        url: Option<String>,
    },
}

/// Settings, and where they come from.
pub struct Configuration {
    /// The settings now.
    pub settings: Settings,
    /// To resolve them again when their file changes.
    pub source: Arc<Source>,
    /// What was in the file.
    pub file: FileContent,
}

/// What was in a configuration file when settings were resolved.
#[derive(Clone, Debug, Default)]
pub struct FileContent {
    /// Its bytes, if there is a file and it could be read.
    pub bytes: Option<Vec<u8>>,
    /// Whether the settings are what it says.
    pub taken: bool,
}

/// What settings are resolved from: the command line, the environment, and a file that may change.
pub struct Source {
    pub(super) file: Option<PathBuf>,
    pub(super) optional: bool,
    pub(super) resolve: Box<Resolve>,
}

/// Settings from flags and the text of the file, if there is one.
pub(super) type Resolve = dyn Fn(Option<&str>) -> Result<Settings, UsageError> + Send + Sync;

impl Source {
    /// The configuration file, if there is to be one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether to go on without the file while it is absent or makes no sense.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// The settings with that text in the file, or without a file.
    ///
    /// # Errors
    /// Something makes no sense.
    pub fn resolve(&self, text: Option<&str>) -> Result<Settings, UsageError> {
        (self.resolve)(text)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("file", &self.file).field("optional", &self.optional).finish_non_exhaustive()
    }
}

//! `render`: the exposition of manifests, on stdout.

use std::ffi::OsString;
use std::io::{self, BufWriter};

use super::{Failure, manifests};
use crate::exposition::Format;
use crate::options::Settings;
use crate::serve;

/// Renders what is in `files`.
pub(super) fn run(settings: &Settings, files: &[OsString], openmetrics: bool) -> Result<(), Failure> {
    for warning in &settings.warnings {
        eprintln!("warning: {warning}");
    }
    let catalogue = manifests::catalogue(settings, &manifests::read(files)?)?;
    let format = if openmetrics { Format::OpenMetrics } else { Format::Text };
    match serve::write_all(&catalogue, format, &mut BufWriter::new(io::stdout().lock())) {
        // Whoever reads the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Failure::Output),
    }
}

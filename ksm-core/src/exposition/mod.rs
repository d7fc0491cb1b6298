//! Exposition formats: the one place that knows escaping, number format and what sets text 0.0.4 and OpenMetrics 1.0.0
//! apart.
//!
//! Samples are byte for byte the same in both formats, so stored text serves both; only headers and the end differ.
//! Sources: <https://prometheus.io/docs/instrumenting/exposition_formats/>,
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

mod number;

pub use number::{Number, write_number};

/// Format of one exposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Prometheus text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// Value of the `Content-Type` header of a body in this format.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// What every body in this format ends with.
    pub const fn end(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::OpenMetrics => "# EOF\n",
        }
    }
}

/// Type of a metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A value that goes up and down.
    Gauge,
    /// A value that only goes up; its samples end in `_total`.
    Counter,
    /// Facts as labels, always 1; exists in OpenMetrics only and is a gauge in text.
    Info,
    /// One sample a state, 1 for the states that hold; exists in OpenMetrics only and is a gauge in text.
    StateSet,
}

impl Kind {
    /// The word of the `# TYPE` line.
    pub const fn word(self, format: Format) -> &'static str {
        match (self, format) {
            (Self::Counter, _) => "counter",
            (Self::Info, Format::OpenMetrics) => "info",
            (Self::StateSet, Format::OpenMetrics) => "stateset",
            _ => "gauge",
        }
    }
}

/// Appends the `# HELP` and `# TYPE` lines of a family.
pub fn write_header(out: &mut Vec<u8>, format: Format, name: &str, kind: Kind, help: &str) {
    out.extend_from_slice(b"# HELP ");
    out.extend_from_slice(name.as_bytes());
    out.push(b' ');
    escape_help(out, format, help);
    out.extend_from_slice(b"\n# TYPE ");
    out.extend_from_slice(name.as_bytes());
    out.push(b' ');
    out.extend_from_slice(kind.word(format).as_bytes());
    out.push(b'\n');
}

/// Appends `name="value"`, the value escaped; the caller writes commas and braces.
pub fn write_label(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    escape_label_value(out, value);
    out.push(b'"');
}

/// Appends a label value: quote, backslash and newline escaped, all else as it is (both formats).
pub fn escape_label_value(out: &mut Vec<u8>, value: &str) {
    escape(out, value, true);
}

/// Appends help text: backslash and newline escaped, and the quote in OpenMetrics.
fn escape_help(out: &mut Vec<u8>, format: Format, help: &str) {
    escape(out, help, format == Format::OpenMetrics);
}

fn escape(out: &mut Vec<u8>, text: &str, quotes: bool) {
    let bytes = text.as_bytes();
    let mut start = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let escaped: &[u8] = match byte {
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'"' if quotes => b"\\\"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[start..i]);
        out.extend_from_slice(escaped);
        start = i + 1;
    }
    out.extend_from_slice(&bytes[start..]);
}

#[cfg(test)]
mod tests;

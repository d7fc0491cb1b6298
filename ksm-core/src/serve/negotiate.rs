//! Which format and coding a client gets (<https://www.rfc-editor.org/rfc/rfc9110#name-content-negotiation>).
//!
//! OpenMetrics 1.0.0 goes to who prefers it to text and protobuf; everyone else gets text 0.0.4, protobuf clients too.

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING};

use crate::exposition::Format;

/// What a client would take first of the formats there are.
pub(super) fn format(headers: &HeaderMap) -> Format {
    let mut clauses: Vec<Clause<'_>> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(Clause::parse)
        .filter(|clause| clause.quality > 0)
        .collect();
    // A stable sort: of equally liked formats the one named first.
    clauses.sort_by_key(|clause| std::cmp::Reverse(clause.quality));
    clauses.iter().find_map(Clause::format).unwrap_or(Format::Text)
}

/// Whether a client takes gzip.
pub(super) fn gzip(headers: &HeaderMap) -> bool {
    let quality_of = |coding: &str| {
        let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        values
            .flat_map(|value| value.split(','))
            .map(Clause::parse)
            .find(|clause| clause.range.eq_ignore_ascii_case(coding))
            .map(|clause| clause.quality)
    };
    quality_of("gzip").or_else(|| quality_of("x-gzip")).or_else(|| quality_of("*")).is_some_and(|quality| quality > 0)
}

/// One media range, or coding.
struct Clause<'a> {
    range: &'a str,
    version: &'a str,
    protobuf: &'a str,
    /// In thousandths.
    quality: u32,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut clause = Self { range: parts.next().unwrap_or_default(), version: "", protobuf: "", quality: 1000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim() {
                "q" | "Q" => clause.quality = quality(value),
                "version" => clause.version = value,
                "proto" => clause.protobuf = value,
                _ => {}
            }
        }
        clause
    }

    /// The format this clause asks for, or stands in for; `None` if it says nothing about ours.
    fn format(&self) -> Option<Format> {
        let is = |range: &str| self.range.eq_ignore_ascii_case(range);
        if is("application/openmetrics-text") && matches!(self.version, "" | "1.0.0") {
            Some(Format::OpenMetrics)
        } else if is("text/plain") && matches!(self.version, "" | "0.0.4") {
            Some(Format::Text)
        } else if is("application/vnd.google.protobuf") && self.protobuf == "io.prometheus.client.MetricFamily" {
            // What follows in the list is a fall-back for servers that know no protobuf, but not all clients that ask
            // for protobuf first read OpenMetrics.
            Some(Format::Text)
        } else {
            None
        }
    }
}

/// A weight from 0 to 1 in thousandths; one that cannot be read is none.
fn quality(text: &str) -> u32 {
    text.parse::<f64>().ok().filter(|quality| (0.0..=1.0).contains(quality)).map_or(0, |quality| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
        let thousandths = (quality * 1000.0).round() as u32;
        thousandths
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &str, expected: Format) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        assert_eq!(format(&headers), expected, "{accept}");
    }

    #[test]
    fn without_a_known_format_text_is_sent() {
        assert_eq!(format(&HeaderMap::new()), Format::Text);
        check("*/*", Format::Text);
        check("text/html,application/xhtml+xml,*/*;q=0.8", Format::Text);
        check("nonsense;;=,/", Format::Text);
        check("text/plain;version=1.0.0", Format::Text);
        check("application/openmetrics-text;version=0.0.1", Format::Text);
    }

    #[test]
    fn openmetrics_goes_to_who_prefers_it() {
        check("application/openmetrics-text", Format::OpenMetrics);
        check("application/openmetrics-text; version=1.0.0; charset=utf-8", Format::OpenMetrics);
        check("Application/OpenMetrics-Text;version=\"1.0.0\"", Format::OpenMetrics);
        check("text/plain;q=0.5,application/openmetrics-text;version=1.0.0;q=0.75", Format::OpenMetrics);
        check("text/plain;q=0.8,application/openmetrics-text;version=1.0.0;q=0.75", Format::Text);
        check("application/openmetrics-text;q=0", Format::Text);
        check("application/openmetrics-text;q=2", Format::Text);
        // Prometheus 3 without protobuf.
        check(
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
             application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            Format::OpenMetrics,
        );
    }

    #[test]
    fn clients_that_prefer_protobuf_get_text() {
        // R17, https://github.com/kubernetes/kube-state-metrics/issues/2587
        check(
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
             application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3",
            Format::Text,
        );
        check("application/vnd.google.protobuf,application/openmetrics-text;q=0.5", Format::OpenMetrics);
    }

    #[track_caller]
    fn check_gzip(accept: &str, expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, accept.parse().unwrap());
        assert_eq!(gzip(&headers), expected, "{accept}");
    }

    #[test]
    fn gzip_goes_to_who_takes_it() {
        assert!(!gzip(&HeaderMap::new()));
        check_gzip("gzip", true);
        check_gzip("deflate, GZIP;q=0.5", true);
        check_gzip("*", true);
        check_gzip("identity", false);
        check_gzip("", false);
        check_gzip("gzip2", false);
    }

    #[test]
    fn a_client_that_refuses_gzip_gets_plain_text() {
        // R20
        check_gzip("gzip;q=0", false);
        check_gzip("gzip; q=0.000", false);
        check_gzip("*;q=0", false);
        check_gzip("gzip;q=0, *", false);
    }
}

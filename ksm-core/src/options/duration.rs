//! Spans of time as Go writes them: `5m`, `1m30s`, `250ms`.
//!
//! Source: <https://pkg.go.dev/time#ParseDuration>.

use std::time::Duration;

/// Units and what they are in seconds; longer spellings first, so that `ms` is not read as minutes.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("\u{3bc}s", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Reads a span of time; zero and less come out as zero.
///
/// # Errors
/// It is not written as Go writes them.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let malformed = || "expected a duration such as 5s, 1m30s or 250ms".to_owned();
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(malformed());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(malformed)?;
        let number: f64 = rest[..end].parse().map_err(|_| malformed())?;
        let (unit, factor) = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit)).ok_or_else(malformed)?;
        seconds += number * factor;
        rest = &rest[end + unit.len()..];
    }
    let span = Duration::try_from_secs_f64(seconds).map_err(|_| malformed())?;
    Ok(if negative { Duration::ZERO } else { span })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, milliseconds) in [
            ("0", 0),
            ("0s", 0),
            ("5s", 5000),
            ("1m0s", 60_000),
            ("5m", 300_000),
            ("1h1m1s", 3_661_000),
            ("250ms", 250),
            ("1.5s", 1500),
            ("+2s", 2000),
            ("-2s", 0),
            ("1000us", 1),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "5", "s", "5 s", "5x", "1m5", "-", "1..2s", "99999999999999999999h"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

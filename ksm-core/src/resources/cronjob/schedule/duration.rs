//! The interval of `@every`: numbers with units, as Go's `time.ParseDuration` reads them.
//! Source: <https://pkg.go.dev/time#ParseDuration>.

const SECOND: i128 = 1_000_000_000;

/// Units by name, in nanoseconds; the two signs for micro are two characters.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];

/// The interval in seconds, parts of a second dropped; `None` if it is not valid, under a second, or past 292 years.
pub(super) fn whole_seconds(text: &str) -> Option<i64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (integer, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if integer.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let whole: i128 = if integer.is_empty() { 0 } else { integer.parse().ok()? };
        total = total.checked_add(whole.checked_mul(*unit)?)?.checked_add(part(fraction, *unit))?;
        if total > i128::from(i64::MAX) {
            return None;
        }
        rest = after;
    }
    i64::try_from(total / SECOND).ok().filter(|seconds| *seconds >= 1)
}

/// The leading digits, and what comes after them.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// The fraction of a unit in nanoseconds; digits past the eighteenth are below any nanosecond.
fn part(fraction: &str, unit: i128) -> i128 {
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10_i128.pow(fraction.len() as u32);
    fraction.bytes().fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0')) * unit / scale
}

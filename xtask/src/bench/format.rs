//! Numbers for people.
//!
//! Invariant: three digits that count, and a unit.

/// A duration: `1.40 ms`, `850 ms`, `12.1 s`, `133 s`.
pub fn seconds(value: f64) -> String {
    if value < 0.000_999_5 && value > 0.0 {
        format!("{} µs", digits(value * 1e6))
    } else if value < 0.999_5 {
        format!("{} ms", digits(value * 1e3))
    } else {
        format!("{} s", digits(value))
    }
}

/// Memory or a file: `6.80 MiB`, `4.56 GiB`.
pub fn mebibytes(bytes: u64) -> String {
    let mebibytes = bytes as f64 / (1024.0 * 1024.0);
    if mebibytes < 1023.5 {
        format!("{} MiB", digits(mebibytes))
    } else {
        format!("{} GiB", digits(mebibytes / 1024.0))
    }
}

/// Something sent: `362 kB`, `89.2 MB`, `1.20 GB`.
pub fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 0.999_5 {
        format!("{} kB", digits(megabytes * 1e3))
    } else if megabytes < 999.5 {
        format!("{} MB", digits(megabytes))
    } else {
        format!("{} GB", digits(megabytes / 1e3))
    }
}

/// How many times: `240 ×`, `8.31 ×`.
pub fn times(ratio: f64) -> String {
    format!("{} ×", digits(ratio))
}

/// A part of a whole: `1/12.3`; from the ratio of the whole to the part.
pub fn one_in(ratio: f64) -> String {
    format!("1/{}", digits(ratio))
}

/// A part of a hundred: `12.5 %`.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    match value.abs() {
        small if small < 9.995 => format!("{value:.2}"),
        middle if middle < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_number() {
        assert_eq!(
            [0.0, 0.000_05, 0.0014, 0.85, 0.9999, 12.06, 133.3].map(seconds),
            ["0.00 ms", "50.0 µs", "1.40 ms", "850 ms", "1.00 s", "12.1 s", "133 s"]
        );
        assert_eq!([7_130_317, 1 << 30, 4_896_262_717].map(mebibytes), ["6.80 MiB", "1.00 GiB", "4.56 GiB"]);
        assert_eq!([361_900, 89_200_000, 1_200_000_000].map(megabytes), ["362 kB", "89.2 MB", "1.20 GB"]);
    }

    #[test]
    fn ratios_are_short() {
        assert_eq!((times(239.7), times(8.314)), ("240 ×".to_owned(), "8.31 ×".to_owned()));
        assert_eq!((one_in(12.34), percent(0.125)), ("1/12.3".to_owned(), "12.5 %".to_owned()));
        assert_eq!(times(f64::INFINITY), "? ×");
    }
}

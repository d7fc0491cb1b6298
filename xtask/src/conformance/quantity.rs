//! Quantities as their nearest float64, read apart from the code under test.
//!
//! Source: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>.

use serde_json::Value;

/// Text that may stand behind the digits, and what it multiplies with.
const DECIMAL: [(&str, i32); 10] =
    [("", 0), ("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// The nearest float64, without rounding to units.
pub fn nearest(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return format!("{digits}e{exponent}").parse().ok();
    }
    if let Some((_, bits)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        // A power of two changes no digit.
        return Some(digits.parse::<f64>().ok()? * 2_f64.powi(*bits));
    }
    suffix.starts_with(['e', 'E']).then(|| text.parse().ok())?
}

/// Every text and number below a value.
pub fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(object) => object.values().for_each(|item| texts(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_read() {
        for (text, value) in [
            ("0", 0.0),
            ("-1.5", -1.5),
            ("+3", 3.0),
            (".5", 0.5),
            ("1.", 1.0),
            ("100m", 0.1),
            ("1Ki", 1024.0),
            ("8Ei", 9_223_372_036_854_775_808.0),
            ("1E", 1e18),
            ("1E3", 1000.0),
            ("1e-3", 0.001),
            ("12345678901234567890", 12_345_678_901_234_567_890.0),
        ] {
            assert_eq!(nearest(text), Some(value), "{text}");
        }
        for text in ["", "x", "1x", "Ki"] {
            assert_eq!(nearest(text), None, "{text}");
        }
    }
}

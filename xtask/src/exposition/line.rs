//! One line of an exposition: names, labels, escapes, values.
//!
//! Invariant: pure; refuses whatever is not the one canonical spelling that writers produce.

use super::{Format, Sample};

/// Reads a sample line; the caller knows the line number.
pub fn sample(content: &str, format: Format) -> Result<Sample, String> {
    let name_end = content.find(['{', ' ']).ok_or("a sample needs a value")?;
    let name = &content[..name_end];
    if !is_metric_name(name) {
        return Err(format!("`{name}` is no metric name"));
    }
    let mut rest = &content[name_end..];
    let mut pairs = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        (pairs, rest) = labels(inner)?;
    }
    let numbers = rest.strip_prefix(' ').ok_or("want one blank before the value")?;
    if format == Format::OpenMetrics && numbers.contains(" # ") {
        return Err("exemplars are not expected here".to_owned());
    }
    let (number, timestamp) = numbers.split_once(' ').unwrap_or((numbers, "0"));
    let value = value(number).ok_or_else(|| format!("`{number}` is no number"))?;
    let timed = match format {
        Format::Text => timestamp.parse::<i64>().is_ok(),
        Format::OpenMetrics => timestamp.parse::<f64>().is_ok_and(f64::is_finite),
    };
    if !timed {
        return Err(format!("`{timestamp}` is no timestamp"));
    }
    Ok(Sample { name: name.to_owned(), labels: pairs, value, line: 0 })
}

/// Label names and values, and the text behind them.
type Labels<'a> = (Vec<(String, String)>, &'a str);

/// Reads labels up to and including the closing brace; returns them and what follows.
fn labels(mut rest: &str) -> Result<Labels<'_>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    if let Some(after) = rest.strip_prefix('}') {
        return Ok((pairs, after));
    }
    loop {
        let (name, after) = rest.split_once("=\"").ok_or("a label needs `=\"`")?;
        if !is_label_name(name) {
            return Err(format!("`{name}` is no label name"));
        }
        if pairs.iter().any(|(seen, _)| seen == name) {
            return Err(format!("label {name} twice"));
        }
        let (value, after) = quoted(after)?;
        pairs.push((name.to_owned(), value));
        if let Some(end) = after.strip_prefix('}') {
            return Ok((pairs, end));
        }
        rest = after.strip_prefix(',').ok_or_else(|| format!("want `,` or `}}` after label {name}"))?;
    }
}

/// Reads a label value after its opening quote; returns it unescaped and what follows the closing quote.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Ok((value, &text[index + 1..])),
            '\\' => value.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, escaped @ ('\\' | '"'))) => escaped,
                other => return Err(bad_escape(other.map(|(_, character)| character))),
            }),
            character => value.push(character),
        }
    }
    Err("a label value has no closing quote".to_owned())
}

/// Unescapes a help text; only OpenMetrics escapes the double quote.
pub fn unescape_help(text: &str, format: Format) -> Result<String, String> {
    let mut help = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, format) {
            ('\\', _) => help.push(match (characters.next(), format) {
                (Some('n'), _) => '\n',
                (Some('\\'), _) => '\\',
                (Some('"'), Format::OpenMetrics) => '"',
                (other, _) => return Err(bad_escape(other)),
            }),
            (character, _) => help.push(character),
        }
    }
    Ok(help)
}

fn bad_escape(character: Option<char>) -> String {
    match character {
        Some(character) => format!("`\\{character}` is no escape"),
        None => "a backslash at the end".to_owned(),
    }
}

/// A number as both formats write it; Rust's own reader knows more words.
fn value(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        _ if text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => text.parse().ok(),
        _ => None,
    }
}

/// `[a-zA-Z_:][a-zA-Z0-9_:]*`.
pub fn is_metric_name(name: &str) -> bool {
    is_name(name, b"_:")
}

/// `[a-zA-Z_][a-zA-Z0-9_]*`.
fn is_label_name(name: &str) -> bool {
    is_name(name, b"_")
}

fn is_name(name: &str, extra: &[u8]) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || extra.contains(&byte))
}

//! A strict reader of the Prometheus text format 0.0.4 and of OpenMetrics 1.0.0.
//!
//! Invariant: pure; whatever it accepts has, for each family, one block that opens with HELP and TYPE, and it says the
//! line of whatever it refuses. It is stricter than the formats where a looser body would hide a fault: single blanks,
//! no comments, no family without headers. It is looser in one place: a counter or info sample may carry the bare name of its
//! family, as kube-state-metrics has always written them.
//!
//! Sources: <https://prometheus.io/docs/instrumenting/exposition_formats/>,
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

mod line;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

/// Faults reported for one body; further ones are usually consequences.
const MAX_FAULTS: usize = 20;

/// The two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `text/plain; version=0.0.4`.
    Text,
    /// `application/openmetrics-text; version=1.0.0`.
    OpenMetrics,
}

impl Format {
    /// Both, in the order in which they are tried.
    pub const ALL: [Self; 2] = [Self::Text, Self::OpenMetrics];

    /// The `Accept` header that asks for it.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Text => "text/plain;version=0.0.4",
            Self::OpenMetrics => "application/openmetrics-text;version=1.0.0",
        }
    }

    /// The format that a `Content-Type` announces.
    pub fn of_content_type(value: &str) -> Self {
        if value.starts_with("application/openmetrics-text") { Self::OpenMetrics } else { Self::Text }
    }

    fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["counter", "gauge", "histogram", "summary", "untyped"],
            Self::OpenMetrics => {
                &["counter", "gauge", "gaugehistogram", "histogram", "info", "stateset", "summary", "unknown"]
            }
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text 0.0.4",
            Self::OpenMetrics => "OpenMetrics 1.0.0",
        })
    }
}

/// A body, families in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposition {
    /// All families, also those without samples.
    pub families: Vec<Family>,
}

/// One block of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name in its headers.
    pub name: String,
    /// The word after TYPE.
    pub kind: String,
    /// The unescaped help text.
    pub help: String,
    /// Its samples, in order.
    pub samples: Vec<Sample>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The name as written, suffix included.
    pub name: String,
    /// Label names and unescaped values, in order.
    pub labels: Vec<(String, String)>,
    /// The value; NaN and infinities included.
    pub value: f64,
    /// Where it stands, from 1.
    pub line: usize,
}

impl Exposition {
    /// All samples of all families.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.families.iter().flat_map(|family| &family.samples)
    }

    /// The samples of one name whose labels include all of `labels`.
    pub fn select<'a>(&'a self, name: &'a str, labels: &'a [(&str, &str)]) -> impl Iterator<Item = &'a Sample> {
        self.samples().filter(move |sample| {
            sample.name == name && labels.iter().all(|(label, value)| sample.label(label) == Some(value))
        })
    }
}

impl Sample {
    /// The value of one label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_str())
    }
}

/// What is wrong with a body.
#[derive(Debug, PartialEq)]
pub struct ParseError {
    /// Line numbers from 1, and what is wrong there.
    pub faults: Vec<(usize, String)>,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (line, fault)) in self.faults.iter().enumerate() {
            write!(f, "{}line {line}: {fault}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}

/// Reads one sample line, without its line break.
pub fn parse_sample(line: &str, format: Format) -> Result<Sample, String> {
    line::sample(line, format)
}

/// Reads a whole body.
pub fn parse(text: &str, format: Format) -> Result<Exposition, ParseError> {
    let mut reader = Reader { format, families: Vec::new(), block: None, seen: BTreeMap::new(), faults: Vec::new() };
    let mut number = 0;
    let mut end = None;
    for raw in text.split_inclusive('\n') {
        number += 1;
        let complete = raw.strip_suffix('\n');
        if complete.is_none() {
            reader.fault(number, "the last line has no line break");
        }
        let content = complete.unwrap_or(raw);
        if let Some(end) = end {
            reader.fault(number, format!("text after `# EOF` on line {end}"));
        } else if format == Format::OpenMetrics && content == "# EOF" {
            end = Some(number);
        } else {
            let outcome = reader.line(number, content);
            if let Err(fault) = outcome {
                reader.fault(number, fault);
            }
        }
        if reader.faults.len() >= MAX_FAULTS {
            return Err(ParseError { faults: reader.faults });
        }
    }
    reader.close_block();
    if format == Format::OpenMetrics && end.is_none() {
        reader.fault(number + 1, "`# EOF` is missing");
    }
    if reader.faults.is_empty() {
        Ok(Exposition { families: reader.families })
    } else {
        Err(ParseError { faults: reader.faults })
    }
}

struct Reader {
    format: Format,
    families: Vec<Family>,
    block: Option<Block>,
    /// Every family name so far and the line where it opened.
    seen: BTreeMap<String, usize>,
    faults: Vec<(usize, String)>,
}

/// The family being read.
struct Block {
    name: String,
    opened: usize,
    kind: Option<String>,
    help: Option<String>,
    has_unit: bool,
    samples: Vec<Sample>,
}

impl Reader {
    fn fault(&mut self, line: usize, fault: impl Into<String>) {
        self.faults.push((line, fault.into()));
    }

    fn line(&mut self, number: usize, content: &str) -> Result<(), String> {
        if content.is_empty() {
            return Err("empty line".to_owned());
        }
        match content.strip_prefix("# ") {
            Some(header) => self.header(number, header),
            None if content.starts_with('#') => Err("a comment that is neither HELP nor TYPE".to_owned()),
            None => self.sample(number, line::sample(content, self.format)?),
        }
    }

    fn header(&mut self, number: usize, header: &str) -> Result<(), String> {
        let (keyword, rest) = header.split_once(' ').unwrap_or((header, ""));
        let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
        match keyword {
            "HELP" | "TYPE" => {}
            "UNIT" if self.format == Format::OpenMetrics => {}
            _ => return Err(format!("a comment that is neither HELP nor TYPE: `# {keyword}`")),
        }
        if !line::is_metric_name(name) {
            return Err(format!("`{name}` is no metric name"));
        }
        let format = self.format;
        let block = self.open(number, name)?;
        if !block.samples.is_empty() {
            return Err(format!("{keyword} of {name} after its first sample"));
        }
        let repeated = match keyword {
            "HELP" => block.help.replace(line::unescape_help(text, format)?).is_some(),
            "TYPE" if format.kinds().contains(&text) => block.kind.replace(text.to_owned()).is_some(),
            "TYPE" => return Err(format!("`{text}` is no type of {format}")),
            _ => std::mem::replace(&mut block.has_unit, true),
        };
        if repeated { Err(format!("second {keyword} of {name}")) } else { Ok(()) }
    }

    /// The block of `name`: the current one or a new one.
    fn open(&mut self, number: usize, name: &str) -> Result<&mut Block, String> {
        if self.block.as_ref().is_none_or(|block| block.name != name) {
            self.close_block();
            if let Some(first) = self.seen.insert(name.to_owned(), number) {
                // The block is opened all the same, so that its samples are not reported one by one.
                self.fault(number, format!("second block of {name}, whose first opened on line {first}"));
            }
        }
        Ok(self.block.get_or_insert_with(|| Block {
            name: name.to_owned(),
            opened: number,
            kind: None,
            help: None,
            has_unit: false,
            samples: Vec::new(),
        }))
    }

    fn sample(&mut self, number: usize, mut sample: Sample) -> Result<(), String> {
        sample.line = number;
        match &mut self.block {
            Some(block) if belongs(&sample.name, &block.name, block.kind.as_deref().unwrap_or_default()) => {
                block.samples.push(sample);
                Ok(())
            }
            _ if self.seen.contains_key(&sample.name) => {
                Err(format!("sample of {} outside the block of its family", sample.name))
            }
            _ => Err(format!("sample {} without HELP and TYPE before it", sample.name)),
        }
    }

    fn close_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        for (header, missing) in [("HELP", block.help.is_none()), ("TYPE", block.kind.is_none())] {
            if missing {
                self.fault(block.opened, format!("{} has no {header}", block.name));
            }
        }
        self.families.push(Family {
            name: block.name,
            kind: block.kind.unwrap_or_default(),
            help: block.help.unwrap_or_default(),
            samples: block.samples,
        });
    }
}

/// Whether a sample name is one that a family of this kind may use.
fn belongs(sample: &str, family: &str, kind: &str) -> bool {
    let suffixes: &[&str] = match kind {
        "counter" => &["", "_total", "_created"],
        "info" => &["", "_info"],
        "summary" => &["", "_count", "_sum", "_created"],
        "histogram" => &["_bucket", "_count", "_sum", "_created"],
        "gaugehistogram" => &["_bucket", "_gcount", "_gsum"],
        _ => &[""],
    };
    sample.strip_prefix(family).is_some_and(|suffix| suffixes.contains(&suffix))
}

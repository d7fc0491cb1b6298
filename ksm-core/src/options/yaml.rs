//! YAML whose scalars stay as they are written: a namespace called `no` is a name, and `1e3` is no thousand.
//!
//! What a scalar means depends on the option that it is for, and only that is known to be boolean, a number or text
//! (as with the typed structs of Go's YAML, where `no` is a boolean only in a boolean field).

use std::collections::HashMap;

use serde_saphyr::NonFiniteFloatPolicy;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StrInput};

use super::{UsageError, yaml_error};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Yaml {
    /// Nothing: an empty value, `~` or `null`, without quotes.
    Null,
    /// A scalar.
    Scalar(String),
    /// A sequence.
    List(Vec<Yaml>),
    /// A mapping, in the order of the file; its keys are scalars.
    Map(Vec<(String, Yaml)>),
}

impl Yaml {
    /// The one document of a text; [`Yaml::Null`] if there is nothing in it.
    ///
    /// # Errors
    /// It is no YAML, has keys twice, keys that are no scalars, or is out of all measure.
    pub(super) fn parse(text: &str) -> Result<Self, UsageError> {
        // Says what is wrong, bounds aliases, and finds keys that are there twice.
        let options = serde_saphyr::options! { non_finite_float_policy: NonFiniteFloatPolicy::AsString };
        serde_saphyr::from_str_with_options::<serde_json::Value>(text, options)
            .map_err(|error| UsageError::new(yaml_error(&error)))?;
        let mut loader = Loader { parser: Parser::new_from_str(text), anchors: HashMap::new() };
        match loader.next()? {
            Event::StreamEnd | Event::DocumentEnd => Ok(Self::Null),
            event => loader.node(event),
        }
    }

    /// The text of a scalar.
    pub(super) fn scalar(&self) -> Option<&str> {
        match self {
            Self::Scalar(text) => Some(text),
            _ => None,
        }
    }
}

struct Loader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Yaml>,
}

impl<'a> Loader<'a> {
    fn next(&mut self) -> Result<Event<'a>, UsageError> {
        loop {
            let event = match self.parser.next_event() {
                None => return Ok(Event::StreamEnd),
                Some(Ok((event, _))) => event,
                Some(Err(error)) => return Err(UsageError::new(format!("line {}: no YAML", error.marker().line()))),
            };
            let is_content = event.is_node()
                || matches!(event, Event::SequenceEnd | Event::MappingEnd | Event::DocumentEnd | Event::StreamEnd);
            // Beginnings and comments say nothing.
            if is_content {
                return Ok(event);
            }
        }
    }

    /// The value that begins with this event.
    fn node(&mut self, event: Event<'a>) -> Result<Yaml, UsageError> {
        let anchor = event.anchor_id();
        let value = match event {
            Event::Alias(id) => self.anchors.get(&id).cloned().ok_or_else(|| UsageError::new("an alias of itself"))?,
            Event::Scalar(text, style, _, tag) => {
                let is_null = style == ScalarStyle::Plain
                    && tag.is_none()
                    && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                if is_null { Yaml::Null } else { Yaml::Scalar(text.into_owned()) }
            }
            Event::SequenceStart(..) => {
                let mut entries = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break Yaml::List(entries),
                        event => entries.push(self.node(event)?),
                    }
                }
            }
            Event::MappingStart(..) => self.map()?,
            _ => return Err(UsageError::new("no YAML")),
        };
        if let Some(id) = anchor {
            self.anchors.insert(id, value.clone());
        }
        Ok(value)
    }

    fn map(&mut self) -> Result<Yaml, UsageError> {
        let (mut entries, mut merged) = (Vec::new(), Vec::new());
        loop {
            let (key, is_merge) = match self.next()? {
                Event::MappingEnd => break,
                // As a key, a null is what is written.
                Event::Scalar(text, style, anchor, _) => {
                    let key = text.into_owned();
                    self.anchors.insert(anchor, Yaml::Scalar(key.clone()));
                    let is_merge = style == ScalarStyle::Plain && key == "<<";
                    (key, is_merge)
                }
                event => match self.node(event)? {
                    Yaml::Scalar(key) => (key, false),
                    _ => return Err(UsageError::new("a key that is no scalar")),
                },
            };
            let event = self.next()?;
            let value = self.node(event)?;
            if is_merge { merged.push(value) } else { entries.push((key, value)) }
        }
        for value in merged {
            let sources = if let Yaml::List(sources) = value { sources } else { vec![value] };
            for (key, value) in sources.into_iter().filter_map(Yaml::into_entries).flatten() {
                if !entries.iter().any(|(known, _)| *known == key) {
                    entries.push((key, value));
                }
            }
        }
        Ok(Yaml::Map(entries))
    }
}

impl Yaml {
    fn into_entries(self) -> Option<Vec<(String, Self)>> {
        if let Self::Map(entries) = self { Some(entries) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> Yaml {
        Yaml::Scalar(text.to_owned())
    }

    #[test]
    fn scalars_stay_as_they_are_written() {
        for text in ["no", "yes", "on", "off", "y", "n", "true", "1e3", "007", "0x10", "1_000", "2026-01-01", ".inf"] {
            assert_eq!(Yaml::parse(text), Ok(scalar(text)));
            assert_eq!(Yaml::parse(&format!("[{text}]")), Ok(Yaml::List(vec![scalar(text)])));
            assert_eq!(Yaml::parse(&format!("'{text}'")), Ok(scalar(text)));
            assert_eq!(Yaml::parse(&format!("{text}: 1")), Ok(Yaml::Map(vec![(text.to_owned(), scalar("1"))])));
        }
        for text in ["", "~", "null", "# nothing", "---"] {
            assert_eq!(Yaml::parse(text), Ok(Yaml::Null), "{text}");
        }
        assert_eq!(Yaml::parse("'null'"), Ok(scalar("null")));
        assert_eq!(Yaml::parse("'~'"), Ok(scalar("~")));
    }

    #[test]
    fn anchors_and_merges_are_followed() {
        let pair = |key: &str, value: Yaml| (key.to_owned(), value);
        let list = || Yaml::List(vec![scalar("no")]);
        assert_eq!(Yaml::parse("a: &x [no]\nb: *x"), Ok(Yaml::Map(vec![pair("a", list()), pair("b", list())])));
        let base = Yaml::Map(vec![pair("k", scalar("1")), pair("l", scalar("2"))]);
        let merged = Yaml::Map(vec![pair("k", scalar("3")), pair("l", scalar("2"))]);
        let text = "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}";
        assert_eq!(Yaml::parse(text), Ok(Yaml::Map(vec![pair("a", base), pair("b", merged)])));
    }

    #[test]
    fn what_is_no_single_document_is_refused() {
        for text in ["a: [", "a: 1\na: 2", "a: 1\n---\nb: 2\n", "? [a]\n: 1"] {
            assert!(Yaml::parse(text).is_err(), "{text}");
        }
    }
}

//! Field selectors: the labels a kind supports, compared with values read from the encoded object.

use crate::{
    codec::{
        schema::Kind,
        wire::{self, Value},
    },
    resources::Resource,
    store::Object,
};

/// A conjunction of comparisons; the empty one matches everything.
#[derive(Debug, Default)]
pub(crate) struct FieldSelector(Vec<Requirement>);

#[derive(Debug)]
struct Requirement {
    field: Field,
    value: String,
    negated: bool,
}

#[derive(Debug)]
enum Field {
    Name,
    Namespace,
    /// Field numbers from the message to the value.
    Path(Vec<u32>, Kind),
}

impl FieldSelector {
    /// Parses the `fieldSelector` parameter: `=`, `==` and `!=`, joined by commas.
    pub(crate) fn parse(resource: &Resource, text: &str) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for term in split(text) {
            let (label, negated, value) =
                comparison(&term).ok_or_else(|| format!("invalid selector: '{term}'; can't understand '{term}'"))?;
            let field = match label {
                "metadata.name" => Field::Name,
                "metadata.namespace" if resource.namespaced => Field::Namespace,
                _ => {
                    let path = resource.field_path(label).ok_or_else(|| unsupported(resource, label))?;
                    let (numbers, kind) = resource.message().path(path).expect("field labels are in the schema");
                    Field::Path(numbers, kind)
                }
            };
            requirements.push(Requirement { field, value: unescape(value), negated });
        }
        Ok(Self(requirements))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.0.iter().all(|requirement| requirement.matches(object))
    }
}

/// What the API server says: kinds with labels of their own say it differently from those without.
fn unsupported(resource: &Resource, label: &str) -> String {
    if resource.has_field_labels() {
        format!("field label not supported: {label}")
    } else {
        format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    }
}

impl Requirement {
    fn matches(&self, object: &Object) -> bool {
        let equal = match &self.field {
            Field::Name => *object.key.name == *self.value,
            Field::Namespace => *object.key.namespace == *self.value,
            Field::Path(numbers, kind) => equals(&object.bytes, numbers, *kind, &self.value),
        };
        equal != self.negated
    }
}

/// Whether the value at a path is written like this; absent values are those of Go: empty, `false`, `0`.
fn equals(message: &[u8], numbers: &[u32], kind: Kind, wanted: &str) -> bool {
    let Some((first, rest)) = numbers.split_first() else { return false };
    let found = wire::fields(message).find(|field| field.number == *first).map(|field| field.value);
    if !rest.is_empty() {
        let Some(Value::Bytes(inner)) = found else { return equals(&[], rest, kind, wanted) };
        return equals(inner, rest, kind, wanted);
    }
    match (kind, found) {
        (Kind::Bool, found) => wanted == if matches!(found, Some(Value::Varint(1..))) { "true" } else { "false" },
        (Kind::Int32 | Kind::Int64, Some(Value::Varint(number))) => wanted == (number as i64).to_string(),
        (Kind::Int32 | Kind::Int64, _) => wanted == "0",
        (_, Some(Value::Bytes(bytes))) => wanted.as_bytes() == bytes,
        _ => wanted.is_empty(),
    }
}

/// Terms between commas; a backslash keeps the next character from meaning anything.
fn split(text: &str) -> Vec<String> {
    let (mut terms, mut term, mut escaped) = (Vec::new(), String::new(), false);
    for character in text.chars() {
        match character {
            ',' if !escaped => terms.push(std::mem::take(&mut term)),
            _ => term.push(character),
        }
        escaped = character == '\\' && !escaped;
    }
    terms.push(term);
    terms.retain(|term| !term.trim().is_empty());
    terms
}

fn comparison(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.find(['=', '!'])?;
    let (label, rest) = term.split_at(at);
    let (negated, value) = match rest {
        _ if rest.starts_with("!=") => (true, &rest[2..]),
        _ if rest.starts_with("==") => (false, &rest[2..]),
        _ if rest.starts_with('=') => (false, &rest[1..]),
        _ => return None,
    };
    Some((label.trim(), negated, value))
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        out.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{codec, resources};

    #[track_caller]
    fn check(selector: &str, expected: bool) {
        let pods = resources::by_plural("pods").unwrap();
        let pod = json!({
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {"hostNetwork": true, "schedulerName": "odd,name"},
            "status": {"phase": "Pending"},
        });
        let object = Object::new(codec::to_protobuf(pods.message(), &pod).unwrap().into());
        assert_eq!(FieldSelector::parse(pods, selector).unwrap().matches(&object), expected, "{selector}");
    }

    #[test]
    fn comparisons_are_matched() {
        for selector in [
            "",
            "spec.nodeName=",
            "spec.nodeName!=x",
            "metadata.name=a",
            "metadata.namespace==n",
            "status.phase=Pending",
            "spec.hostNetwork=true",
            "spec.nodeName=,status.phase!=Running",
            "spec.host=",
            r"spec.schedulerName=odd\,name",
        ] {
            check(selector, true);
        }
        for selector in
            ["spec.nodeName=x", "spec.nodeName!=", "metadata.name!=a", "status.phase=Running,metadata.name=a"]
        {
            check(selector, false);
        }
    }

    #[test]
    fn labels_of_other_kinds_are_refused() {
        let nodes = resources::by_plural("nodes").unwrap();
        for selector in ["spec.nodeName=x", "metadata.namespace=n", "metadata.name", "status.phase"] {
            assert!(FieldSelector::parse(nodes, selector).is_err(), "{selector}");
        }
        assert!(FieldSelector::parse(nodes, "spec.unschedulable=false").is_ok());
    }
}

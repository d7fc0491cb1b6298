//! Label selectors, equality- and set-based:
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>.

use crate::store::Object;

/// A conjunction of requirements; the empty one matches everything.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, PartialEq)]
enum Operator {
    In(Vec<String>),
    /// Also matches objects without the label.
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Parses the `labelSelector` parameter.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text.trim();
        let mut requirements = Vec::new();
        while !rest.is_empty() {
            let (requirement, tail) = Requirement::parse(rest)?;
            requirements.push(requirement);
            rest = tail.trim_start();
            match rest.strip_prefix(',') {
                Some(tail) if !tail.trim().is_empty() => rest = tail.trim_start(),
                Some(_) => return Err("a requirement must follow the last comma".to_owned()),
                None if rest.is_empty() => {}
                None => return Err(format!("expected a comma before `{rest}`")),
            }
        }
        Ok(Self(requirements))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.0.iter().all(|requirement| requirement.operator.matches(object.label(&requirement.key)))
    }
}

impl Requirement {
    /// Parses one requirement and returns what stands behind it.
    fn parse(text: &str) -> Result<(Self, &str), String> {
        let (negated, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, text),
        };
        let (key, rest) = word(text);
        if key.is_empty() {
            return Err(format!("expected a label name at `{text}`"));
        }
        let behind = rest.trim_start();
        let (operator, rest) = if negated {
            (Operator::Absent, rest)
        } else if behind.is_empty() || behind.starts_with(',') {
            (Operator::Exists, rest)
        } else if let Some(value) = ["!="].iter().find_map(|sign| behind.strip_prefix(sign)) {
            let (value, rest) = word(value.trim_start());
            (Operator::NotIn(vec![value.to_owned()]), rest)
        } else if let Some(value) = ["==", "="].iter().find_map(|sign| behind.strip_prefix(sign)) {
            let (value, rest) = word(value.trim_start());
            (Operator::In(vec![value.to_owned()]), rest)
        } else if let Some(sign @ ('<' | '>')) = behind.chars().next() {
            let (value, rest) = word(behind[1..].trim_start());
            let bound = value.parse().map_err(|_| format!("`{value}` behind `{sign}` is not an integer"))?;
            (if sign == '>' { Operator::Greater(bound) } else { Operator::Less(bound) }, rest)
        } else {
            let (name, list) = word(behind);
            let (values, rest) = values(list.trim_start())?;
            match name {
                "in" => (Operator::In(values), rest),
                "notin" => (Operator::NotIn(values), rest),
                other => return Err(format!("unknown operator `{other}`")),
            }
        };
        Ok((Self { key: key.to_owned(), operator }, rest))
    }
}

impl Operator {
    fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|value| values.iter().any(|wanted| wanted == value)),
            Self::NotIn(values) => value.is_none_or(|value| values.iter().all(|unwanted| unwanted != value)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::Greater(bound) => number().is_some_and(|number| number > *bound),
            Self::Less(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// A parenthesised list of values and what stands behind it.
fn values(text: &str) -> Result<(Vec<String>, &str), String> {
    let inner = text.strip_prefix('(').and_then(|text| text.split_once(')'));
    let (list, rest) = inner.ok_or_else(|| format!("expected a list in parentheses at `{text}`"))?;
    Ok((list.split(',').map(|value| value.trim().to_owned()).collect(), rest))
}

/// The longest prefix without white space and signs.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || "=!<>,()".contains(c)).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{codec, resources};

    #[track_caller]
    fn check(selector: &str, expected: bool) {
        let message = resources::by_plural("pods").unwrap().message();
        let pod = json!({"metadata": {"name": "a", "labels": {"app": "web", "tier": "", "rank": "7"}}});
        let object = Object::new(codec::to_protobuf(message, &pod).unwrap().into());
        assert_eq!(LabelSelector::parse(selector).unwrap().matches(&object), expected, "{selector}");
    }

    #[test]
    fn requirements_are_matched() {
        for selector in [
            "",
            "app=web",
            "app==web",
            "app = web",
            "app!=db",
            "none!=db",
            "app in (db, web)",
            "app notin (db)",
            "none notin (web)",
            "app",
            "!none",
            "tier=",
            "rank>6",
            "rank<8",
            "app=web,tier,!none",
            "tier in ()",
        ] {
            check(selector, true);
        }
        for selector in [
            "app=db",
            "app!=web",
            "none=",
            "app in (db)",
            "app notin (web,db)",
            "none in (web)",
            "none",
            "!app",
            "rank>7",
            "app>1",
            "app=web,none",
        ] {
            check(selector, false);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for selector in ["=a", "a in b", "a near (b)", "a=b c", "a=b,", "a>b", "a in (b"] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }
}

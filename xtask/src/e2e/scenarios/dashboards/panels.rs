//! A dashboard as Grafana reads it: variables with their values, and panels with their queries.
//!
//! Invariant: pure but for the values of variables, which Prometheus gives.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::ask::Question;
use crate::prometheus::Prometheus;

/// What Grafana makes of `$__rate_interval` here: several scrapes.
const RATE_INTERVAL: &str = "30s";

/// Values of each variable.
pub type Choices = BTreeMap<String, Vec<String>>;

/// Asks for the values of all variables, each of which must have some.
pub fn choices(dashboard: &Value, prometheus: &Prometheus) -> Result<Choices> {
    let mut choices = Choices::new();
    let variables = dashboard["templating"]["list"].as_array().context("a dashboard has variables")?;
    for variable in variables.iter().filter(|variable| variable["type"] == "query") {
        let name = variable["name"].as_str().context("a variable has a name")?;
        let query =
            variable["query"]["query"].as_str().with_context(|| format!("the variable `{name}` has a query"))?;
        ensure!(variable["allValue"] == ".*", "the variable `{name}` does not stand for a missing label");
        let (selector, label) = label_values(query).with_context(|| format!("the variable `{name}`: `{query}`"))?;
        // Grafana fills in those before it.
        let values = prometheus.label_values(label, &fill_in(selector, &choices, all))?;
        ensure!(!values.is_empty(), "the variable `{name}`: `{query}` has no values");
        choices.insert(name.to_owned(), values);
    }
    Ok(choices)
}

/// Panels that ask something.
pub fn count(dashboard: &Value) -> usize {
    dashboard["panels"].as_array().into_iter().flatten().filter(|panel| panel["targets"].is_array()).count()
}

/// Every query of every panel: with all chosen, and with each value chosen by itself.
pub fn questions(dashboard: &Value, choices: &Choices) -> Vec<Question> {
    let mut questions = Vec::new();
    for panel in dashboard["panels"].as_array().into_iter().flatten() {
        let title = panel["title"].as_str().unwrap_or_default();
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().unwrap_or_default();
            for choose in [all, each] {
                let expression = fill_in(expression, choices, choose);
                questions.push(Question::new(format!("the panel `{title}`"), expression));
            }
        }
    }
    questions
}

/// Everything, labels that are not there included.
fn all(_: &[String]) -> String {
    ".*".to_owned()
}

/// Several values, as Grafana writes them for a regular expression.
fn each(values: &[String]) -> String {
    if let [value] = values { value.clone() } else { format!("({})", values.join("|")) }
}

fn fill_in(expression: &str, choices: &Choices, choose: fn(&[String]) -> String) -> String {
    choices.iter().fold(expression.replace("$__rate_interval", RATE_INTERVAL), |text, (name, values)| {
        text.replace(&format!("${name}"), &choose(values))
    })
}

/// Selector and label of `label_values(SELECTOR, LABEL)`.
fn label_values(query: &str) -> Result<(&str, &str)> {
    let arguments = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')'));
    let (selector, label) =
        arguments.and_then(|text| text.rsplit_once(',')).context("want `label_values(SELECTOR, LABEL)`")?;
    Ok((selector.trim(), label.trim()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chosen() -> Choices {
        let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        Choices::from([("namespace".to_owned(), values(&["a", "b"])), ("cluster".to_owned(), values(&["demo"]))])
    }

    #[test]
    fn each_query_is_asked_for_all_and_for_each() {
        let expression = "rate(x{cluster=~\"$cluster\",namespace=~\"$namespace\"}[$__rate_interval])";
        let dashboard = json!({"panels": [
            {"type": "row", "title": "first", "panels": []},
            {"title": "p", "targets": [{"expr": expression}]},
        ]});
        let expected =
            ["rate(x{cluster=~\".*\",namespace=~\".*\"}[30s])", "rate(x{cluster=~\"demo\",namespace=~\"(a|b)\"}[30s])"];
        let asked = questions(&dashboard, &chosen());
        assert_eq!(asked.iter().map(Question::expression).collect::<Vec<_>>(), expected);
        assert_eq!(count(&dashboard), 1);
    }

    #[test]
    fn a_query_of_values_is_taken_apart() {
        assert_eq!(label_values("label_values(x{a=\"b\",c=\"d\"}, e)").unwrap(), ("x{a=\"b\",c=\"d\"}", "e"));
        assert!(label_values("label_values(e)").is_err());
        assert!(label_values("metrics(e)").is_err());
    }
}

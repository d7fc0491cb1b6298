//! Questions to Prometheus that must have an answer.
//!
//! Invariant: an answer counts if it has a number, and if every selector in the question finds a series: else a misspelt
//! label would hide behind a sum.

use std::time::Duration;

use anyhow::Result;

use crate::prometheus::Prometheus;
use crate::{interrupt, wait};

/// An expression, and where it stands.
pub struct Question {
    place: String,
    expression: String,
    /// Whether it may have nothing to show.
    silent: bool,
}

impl Question {
    /// An expression that has something to show. `place` is for reports.
    pub fn new(place: String, expression: String) -> Self {
        Self { place, expression, silent: false }
    }

    /// Whether having nothing to show is right, as for an alert.
    pub fn silent(mut self, silent: bool) -> Self {
        self.silent = silent;
        self
    }

    /// The same with the file it is in.
    pub fn in_file(mut self, path: &str) -> Self {
        self.place = format!("{path}, {}", self.place);
        self
    }

    /// What is asked.
    #[cfg(test)]
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// What is wrong with the answer.
    fn fault(&self, prometheus: &Prometheus) -> Option<String> {
        let (place, expression) = (&self.place, &self.expression);
        if has_variable(expression) {
            return Some(format!("{place}: `{expression}` has a variable that the dashboard has not"));
        }
        let answer = match prometheus.query(expression) {
            Ok(answer) => answer,
            Err(error) => return Some(format!("{place}: {error:#}")),
        };
        if !self.silent && !answer.iter().any(|(_, value)| value.is_finite()) {
            return Some(format!("{place}: `{expression}` shows nothing"));
        }
        self.blind(prometheus).unwrap_or_else(|error| Some(format!("{place}: {error:#}")))
    }

    /// The first selector that finds nothing.
    fn blind(&self, prometheus: &Prometheus) -> Result<Option<String>> {
        for selector in prometheus.selectors(&self.expression)? {
            if prometheus.query(&format!("count({selector})"))?.is_empty() {
                return Ok(Some(format!("{}: there is no {selector}", self.place)));
            }
        }
        Ok(None)
    }
}

/// Whether it has a variable of a dashboard; `$1` is what `label_replace` has matched.
fn has_variable(expression: &str) -> bool {
    expression.split('$').skip(1).any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// What is wrong with the answers, once all are right or at the end of `limit`.
pub fn faults(prometheus: &Prometheus, questions: &[Question], limit: Duration) -> Result<Vec<String>> {
    let mut left: Vec<&Question> = questions.iter().collect();
    let mut faults = Vec::new();
    let outcome = wait::until("every question has an answer", limit, || {
        faults.clear();
        left.retain(|question| {
            let fault = question.fault(prometheus);
            let wrong = fault.is_some();
            faults.extend(fault);
            wrong
        });
        Ok(left.is_empty().then_some(()))
    });
    interrupt::check()?;
    Ok(if outcome.is_ok() { Vec::new() } else { faults })
}

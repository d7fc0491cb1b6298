//! Medians, percentiles and pairs.
//!
//! Invariant: pure; a median of records is taken number by number, so records of one kind must have the same fields.

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::subject::Side;

/// The same measurement of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pair<T> {
    /// Ours.
    pub ours: T,
    /// The reference's.
    pub reference: T,
}

impl<T> Pair<T> {
    /// Measures `first`, then the other side.
    pub fn measure(first: Side, mut measure: impl FnMut(Side) -> Result<T>) -> Result<Self> {
        let (one, two) = (measure(first)?, measure(first.other())?);
        Ok(match first {
            Side::Ours => Self { ours: one, reference: two },
            Side::Reference => Self { ours: two, reference: one },
        })
    }

    /// How many times the reference's figure is ours.
    pub fn ratio(&self, figure: impl Fn(&T) -> f64) -> f64 {
        figure(&self.reference) / figure(&self.ours)
    }
}

/// The middle value, or the mean of the middle two; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The smallest value that at least `percent` of a hundred values do not exceed (nearest rank); 0 of none.
pub fn percentile(values: &[f64], percent: u32) -> f64 {
    let sorted = sorted(values);
    let rank = (sorted.len() * percent as usize).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// How long each of some scrapes took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many there were.
    pub scrapes: u64,
    /// Seconds that half of them did not exceed.
    pub p50: f64,
    /// Seconds that 99 of a hundred did not exceed; the slowest if there were fewer.
    pub p99: f64,
    /// Seconds of the slowest.
    pub max: f64,
}

impl Latency {
    /// Sums up durations in seconds.
    pub fn of(seconds: &[f64]) -> Self {
        let [p50, p99, max] = [50, 99, 100].map(|percent| percentile(seconds, percent));
        Self { scrapes: seconds.len() as u64, p50, p99, max }
    }
}

/// A record whose numbers are the medians of those in `rounds`; what is not a number is that of the first round.
pub fn medians<T: Serialize + DeserializeOwned>(rounds: &[T]) -> Result<T> {
    let values = rounds.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    let merged = merge(&values.iter().collect::<Vec<_>>()).context("there is no round to take a median of")?;
    serde_json::from_value(merged).context("medians do not fit their record")
}

/// The same value with its fractions cut to millionths: more digits are noise, and make files hard to compare.
pub fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            Value::from((number.as_f64().unwrap_or_default() * 1e6).round() / 1e6)
        }
        Value::Array(items) => items.into_iter().map(rounded).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, rounded(value))).collect(),
        other => other,
    }
}

fn merge(values: &[&Value]) -> Option<Value> {
    let present: Vec<&Value> = values.iter().copied().filter(|value| !value.is_null()).collect();
    Some(match present.first().or(values.first())? {
        Value::Number(first) => {
            let numbers: Vec<f64> = present.iter().filter_map(|value| value.as_f64()).collect();
            let middle = median(&numbers);
            if first.is_u64() { Value::from(middle.round() as u64) } else { Value::from(middle) }
        }
        Value::Object(first) => {
            let fields: Map<String, Value> = first
                .keys()
                .filter_map(|key| {
                    let column: Vec<&Value> = present.iter().filter_map(|value| value.get(key)).collect();
                    Some((key.clone(), merge(&column)?))
                })
                .collect();
            Value::Object(fields)
        }
        other => (*other).clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_no_counts() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!([1, 50, 99, 100].map(|percent| percentile(&hundred, percent)), [1.0, 50.0, 99.0, 100.0]);
        assert_eq!(percentile(&[5.0, 1.0, 3.0], 99), 5.0);
        assert_eq!(percentile(&[5.0, 1.0, 3.0], 50), 3.0);
        assert_eq!(percentile(&[], 99), 0.0);
        let latency = Latency { scrapes: 3, p50: 0.2, p99: 0.3, max: 0.3 };
        assert_eq!(Latency::of(&[0.3, 0.1, 0.2]), latency);
    }

    #[test]
    fn a_median_of_records_goes_field_by_field() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Record {
            name: String,
            seconds: f64,
            bytes: u64,
            maybe: Option<u64>,
            inner: Pair<f64>,
        }
        let record = |seconds, bytes, maybe| Record {
            name: "x".to_owned(),
            seconds,
            bytes,
            maybe,
            inner: Pair { ours: seconds * 2.0, reference: 1.0 },
        };
        let rounds = [record(1.0, 10, None), record(5.0, 30, Some(7)), record(3.0, 21, None)];
        assert_eq!(medians(&rounds).unwrap(), record(3.0, 21, Some(7)));
        assert_eq!(medians(&[record(1.5, 10, None), record(2.5, 11, None)]).unwrap(), record(2.0, 11, None));
        assert!(medians::<Record>(&[]).is_err());
    }

    #[test]
    fn fractions_are_rounded_wherever_they_are() {
        let value = serde_json::json!({"a": [0.000_016_000_000_3, 7], "b": {"c": 1.000_000_4}, "d": "x"});
        assert_eq!(rounded(value).to_string(), r#"{"a":[0.000016,7],"b":{"c":1.0},"d":"x"}"#);
    }

    #[test]
    fn a_pair_knows_its_sides_whichever_comes_first() {
        for first in [Side::Ours, Side::Reference] {
            let pair = Pair::measure(first, |side| Ok(if side == Side::Ours { 2.0 } else { 10.0 })).unwrap();
            assert_eq!(pair, Pair { ours: 2.0, reference: 10.0 });
            assert_eq!(pair.ratio(|value| *value), 5.0);
        }
    }
}

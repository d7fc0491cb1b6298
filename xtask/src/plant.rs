//! Planted faults: proof that the comparison fails when it should.
//!
//! Invariant: pure; each fault changes one thing about one sample of the middle, so that nothing but the comparison can
//! notice. `KSM_E2E_PLANT` plants one in what the run under test served, and the run must then fail.

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::compare::{Kind, View, compare};
use crate::exposition::{Exposition, Format, parse};

/// What to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Plant {
    /// One number is half as large again, and one more.
    Value,
    /// One label has another value.
    Label,
    /// One family has another name.
    Name,
    /// One sample is not there.
    Missing,
    /// One sample more.
    Extra,
}

/// The environment variable that plants a fault in a real run.
pub const VARIABLE: &str = "KSM_E2E_PLANT";

/// The fault that the environment asks for.
pub fn from_environment() -> Result<Option<Plant>> {
    let Some(word) = std::env::var_os(VARIABLE).filter(|word| !word.is_empty()) else { return Ok(None) };
    let word = word.to_string_lossy();
    let known = || Plant::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    Plant::from_str(&word, false).map(Some).ok().with_context(|| {
        let names: Vec<String> = known().map(|value| value.get_name().to_owned()).collect();
        format!("{VARIABLE}={word}: want one of {}", names.join(", "))
    })
}

impl Plant {
    /// Breaks one sample of `exposition`, which must have one.
    pub fn apply(self, exposition: &mut Exposition) {
        let filled: Vec<usize> = (0..exposition.families.len())
            .filter(|index| exposition.families[*index].samples.iter().any(|sample| !sample.labels.is_empty()))
            .collect();
        let Some(family) = filled.get(filled.len() / 2).map(|index| &mut exposition.families[*index]) else { return };
        let at = family.samples.iter().position(|sample| !sample.labels.is_empty()).unwrap_or_default();
        match self {
            Self::Value => {
                // Adding a one alone would be lost in large numbers.
                let value = &mut family.samples[at].value;
                *value = value.mul_add(1.5, 1.0);
            }
            Self::Label => family.samples[at].labels[0].1.push('x'),
            Self::Name => {
                family.name.push('x');
                for sample in &mut family.samples {
                    sample.name.push('x');
                }
            }
            Self::Missing => drop(family.samples.remove(at)),
            Self::Extra => {
                let mut extra = family.samples[at].clone();
                extra.labels[0].1.push('x');
                family.samples.push(extra);
            }
        }
    }

    /// The kinds of difference that must be reported for it.
    fn expected(self) -> &'static [Kind] {
        match self {
            Self::Value => &[Kind::Value],
            Self::Label => &[Kind::SampleMissing, Kind::SampleExtra],
            Self::Name => &[Kind::FamilyMissing, Kind::FamilyExtra, Kind::SampleMissing, Kind::SampleExtra],
            Self::Missing => &[Kind::SampleMissing],
            Self::Extra => &[Kind::SampleExtra],
        }
    }
}

/// A body with the shapes that matter: several labels, escapes, a large number.
const CANNED: &str = r#"# HELP kube_pod_info Information.
# TYPE kube_pod_info gauge
kube_pod_info{namespace="team-a",pod="web-0",host_ip="192.0.2.1"} 1
kube_pod_info{namespace="team-a",pod="web-1",host_ip=""} 1
# HELP kube_pod_labels Labels.
# TYPE kube_pod_labels gauge
kube_pod_labels{namespace="team-a",pod="web-0",label_note="a \"quote\", a \\ and a \n"} 1
# HELP kube_pod_created Time.
# TYPE kube_pod_created gauge
kube_pod_created{namespace="team-a",pod="web-0"} 1.7e+09
"#;

/// Plants every fault in a canned body and checks that the comparison reports it, and reports nothing without one.
pub fn self_test() -> Result<()> {
    let clean = parse(CANNED, Format::Text).context("the canned body")?;
    let expected = View::of([&clean]);
    let report = compare(&expected, &View::of([&clean]));
    if !report.is_empty() {
        bail!("equal bodies are reported as different:\n{report}");
    }
    for plant in Plant::value_variants() {
        let mut broken = clean.clone();
        plant.apply(&mut broken);
        let report = compare(&expected, &View::of([&broken]));
        for kind in plant.expected() {
            if report.count(*kind) == 0 {
                bail!("planted {plant:?}, want {kind:?} reported, got:\n{report}");
            }
        }
        println!("PASS  planted {plant:?}:");
        print!("{report}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_planted_fault_is_found() {
        self_test().unwrap();
    }
}

//! Where a run took place, and with which versions.
//!
//! Invariant: names nothing that tells one user's machine from another's but its size.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::usage::kilobytes;
use crate::{cargo, tools};

/// What figures depend on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The day of the run (UTC), `YYYY-MM-DD`.
    pub date: String,
    /// Cores that may be used.
    pub cores: usize,
    /// What the processor calls itself.
    pub processor: String,
    /// Memory in bytes.
    pub memory: u64,
    /// Version of the kernel.
    pub kernel: String,
    /// Version of ours, and the commit it was built from if that is known.
    pub ours: String,
    /// Version of the reference.
    pub reference: String,
    /// What served the objects.
    pub server: String,
}

impl Machine {
    /// This machine, today.
    pub fn read(real: bool) -> Result<Self> {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Ok(Self {
            date: date(seconds / 86_400),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: processor(&text("/proc/cpuinfo")),
            memory: kilobytes(&text("/proc/meminfo"), "MemTotal:").unwrap_or_default() * 1024,
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            ours: match commit() {
                Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
                None => env!("CARGO_PKG_VERSION").to_owned(),
            },
            reference: tools::version(&tools::REFERENCE)?,
            server: match real {
                true => format!("kube-apiserver {}", tools::version(&tools::KUBE_APISERVER)?),
                false => "simulated".to_owned(),
            },
        })
    }
}

fn processor(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    let name = line.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    name.unwrap_or("unknown").to_owned()
}

fn commit() -> Option<String> {
    let mut command = Command::new("git");
    let output = command.args(["rev-parse", "--short", "HEAD"]).current_dir(cargo::workspace_root()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// The date so many days after 1970-01-01.
///
/// Source: the algorithm `civil_from_days` of <https://howardhinnant.github.io/date_algorithms.html>, for days from
/// the epoch on.
fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months counted from March.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era + u64::from(month >= 10);
    format!("{year:04}-{:02}-{day:02}", if month < 10 { month + 3 } else { month - 9 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days() {
        let cases = [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_782, "2024-02-29"),
        ];
        for (days, expected) in cases {
            assert_eq!(date(days), expected);
        }
        assert_eq!(date(20_818), "2026-12-31");
        assert_eq!(date(20_819), "2027-01-01");
    }

    #[test]
    fn the_processor_is_named() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"), "Some CPU @ 2 GHz");
        assert_eq!(processor(""), "unknown");
    }
}

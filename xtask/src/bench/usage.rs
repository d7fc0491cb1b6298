//! What a process has used so far: CPU time and memory, from `/proc`.
//!
//! Invariant: read only, apart from [`reset_peak`]; figures of the kernel, not of the process itself.
//!
//! Source: <https://docs.kernel.org/filesystems/proc.html>.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Clock ticks a second in `/proc`: `USER_HZ` is 100 on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Resident now.
    pub resident: u64,
    /// The part of it that no file backs.
    pub anonymous: u64,
    /// The most that was resident since the start, or since [`reset_peak`].
    pub peak: u64,
}

/// User and system time of a process with all its threads, in seconds; good to a hundredth.
pub fn cpu_seconds(id: u32) -> Result<f64> {
    parse_stat(&read(id, "stat")?).with_context(|| format!("/proc/{id}/stat has no CPU times"))
}

/// Memory of a process.
pub fn memory(id: u32) -> Result<Memory> {
    parse_status(&read(id, "status")?).with_context(|| format!("/proc/{id}/status has no memory figures"))
}

/// Makes [`Memory::peak`] start anew from what is resident now.
pub fn reset_peak(id: u32) -> Result<()> {
    let path = format!("/proc/{id}/clear_refs");
    fs::write(&path, "5").with_context(|| format!("cannot write {path}"))
}

fn read(id: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{id}/{file}");
    fs::read_to_string(&path).with_context(|| format!("cannot read {path}: has the process ended?"))
}

/// `utime` and `stime`: the 12th and 13th field behind the name, which may itself hold blanks and brackets.
fn parse_stat(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

fn parse_status(status: &str) -> Option<Memory> {
    let bytes = |name| Some(kilobytes(status, name)? * 1024);
    Some(Memory { resident: bytes("VmRSS:")?, anonymous: bytes("RssAnon:")?, peak: bytes("VmHWM:")? })
}

/// The number in a line such as `VmRSS:     1234 kB`; `/proc/meminfo` has the same form.
pub fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        assert_eq!(parse_stat("7 (a b) c) S 1 7 7 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 4"), Some(2.0));
        assert_eq!(parse_stat("7 (x) S 1"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let status =
            "Name:\tx\nVmHWM:\t    3000 kB\nVmRSS:\t    2000 kB\nRssAnon:\t     500 kB\nRssFile:\t    1500 kB\n";
        let memory = Memory { resident: 2_048_000, anonymous: 512_000, peak: 3_072_000 };
        assert_eq!(parse_status(status), Some(memory));
        assert_eq!(parse_status("Name:\tx\n"), None, "a zombie has no memory");
    }

    #[test]
    fn this_very_process_can_be_read() {
        let id = std::process::id();
        assert!(cpu_seconds(id).unwrap() >= 0.0);
        let memory = memory(id).unwrap();
        assert!(memory.anonymous > 0 && memory.resident >= memory.anonymous && memory.peak >= memory.resident);
    }
}

//! What the operating system knows of the process, under the names that Prometheus client libraries share
//! (<https://prometheus.io/docs/instrumenting/writing_clientlibs/#standard-and-runtime-collectors>).
//!
//! Read from `/proc`; what cannot be read is left out.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, NoLabelSet};

use super::begin;
use crate::self_metrics;

/// Units of CPU time in `/proc`: `USER_HZ` is 100 on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process {
    /// When it was started, in seconds since the Unix epoch.
    pub(super) started: f64,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut gauge = |metric, value: Value| begin(&mut encoder, metric)?.encode_gauge(&value);
        gauge(self_metrics::START_TIME, Value::Float(self.started))?;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        if let Some(bytes) = kilobytes(&status, "VmRSS:") {
            gauge(self_metrics::RESIDENT_MEMORY, Value::Int(bytes))?;
        }
        if let Some(bytes) = kilobytes(&status, "VmSize:") {
            gauge(self_metrics::VIRTUAL_MEMORY, Value::Int(bytes))?;
        }
        if let Ok(descriptors) = fs::read_dir("/proc/self/fd") {
            // One of them is the listing itself.
            let open = descriptors.count().saturating_sub(1) as u64;
            gauge(self_metrics::OPEN_FDS, Value::Int(open))?;
        }
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        if let Some(limit) = limit(&limits, "Max open files") {
            gauge(self_metrics::MAX_FDS, Value::Int(limit))?;
        }
        if let Some(limit) = limit(&limits, "Max address space") {
            gauge(self_metrics::VIRTUAL_MEMORY_MAX, Value::Int(limit))?;
        }
        if let Some(seconds) = fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(cpu_seconds) {
            begin(&mut encoder, self_metrics::CPU_TIME)?.encode_counter::<NoLabelSet, _, f64>(&seconds, None)?;
        }
        let network = fs::read_to_string("/proc/self/net/netstat").unwrap_or_default();
        for (metric, field) in
            [(self_metrics::NETWORK_RECEIVE, "InOctets"), (self_metrics::NETWORK_TRANSMIT, "OutOctets")]
        {
            if let Some(bytes) = octets(&network, field) {
                begin(&mut encoder, metric)?.encode_counter::<NoLabelSet, _, f64>(&bytes, None)?;
            }
        }
        Ok(())
    }
}

enum Value {
    Int(u64),
    Float(f64),
}

impl EncodeGaugeValue for Value {
    fn encode(&self, encoder: &mut prometheus_client::encoding::GaugeValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        match self {
            Self::Int(value) => value.encode(encoder),
            Self::Float(value) => value.encode(encoder),
        }
    }
}

/// A line of `/proc/self/status` such as `VmRSS:  1234 kB`, in bytes.
fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// A soft limit; the highest number there is if there is none.
fn limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        limit => limit.parse().ok(),
    }
}

/// A number of `IpExt` in `/proc/self/net/netstat`: names on one line, numbers in the same order on the next.
fn octets(netstat: &str, name: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|other| other == name)?;
    numbers.split_whitespace().nth(at)?.parse().ok()
}

/// `utime` and `stime` of `/proc/self/stat`: the 12th and 13th field behind the name, which may itself hold blanks.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_proc_are_read() {
        assert_eq!(kilobytes("Name:\tx\nVmRSS:\t    1234 kB\n", "VmRSS:"), Some(1_263_616));
        assert_eq!(kilobytes("Name:\tx\n", "VmRSS:"), None);
        let limits =
            "Limit  Soft  Hard\nMax open files   1024  4096  files\nMax address space  unlimited  unlimited  bytes\n";
        assert_eq!(limit(limits, "Max open files"), Some(1024));
        assert_eq!(limit(limits, "Max address space"), Some(u64::MAX));
        assert_eq!(limit(limits, "Max cpu time"), None);
        let netstat = "TcpExt: A InOctets\nTcpExt: 1 2\nIpExt: InTruncatedPkts InOctets OutOctets\nIpExt: 0 17 5\n";
        assert_eq!((octets(netstat, "InOctets"), octets(netstat, "OutOctets")), (Some(17), Some(5)));
        assert_eq!((octets(netstat, "Other"), octets("", "InOctets")), (None, None));
        assert_eq!(cpu_seconds("7 (a b) c) S 1 7 7 0 -1 4194304 1 2 3 4 150 50 0 0 20 0"), Some(2.0));
        assert_eq!(cpu_seconds("7 (x) S 1"), None);
    }
}

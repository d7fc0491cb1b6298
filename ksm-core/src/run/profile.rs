//! A CPU profile of this process: stacks sampled by a timer of CPU time, in the format of pprof.
//!
//! Shipped binaries are stripped, so functions have no names in theirs; `pprof` takes them from a binary of the same build
//! that is not.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use futures::future::BoxFuture;
use pprof::{ProfilerGuardBuilder, UnresolvedReport};
use prost::Message;
use tokio::task::spawn_blocking;

/// Samples a second of CPU time; no divisor of anything that ticks.
const FREQUENCY: i32 = 99;

/// Frames of the sampling itself are above this one, and that of the signal below it.
const HANDLER: &str = "perf_signal_handler";

/// The sampling takes no more frames than this.
const SAMPLING: usize = 4;

/// Whether this process has that table already.
static TABLE_IS_THERE: AtomicBool = AtomicBool::new(false);

/// What the first profile takes, and the process keeps: a table of the sampler's, of a fixed size.
const TABLE_BYTES: u64 = 144 << 20;

/// Where a process in a container finds how much memory it may use and does use (cgroup v2, then v1).
const LIMIT_AND_USE: [[&str; 2]; 2] = [
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"],
    ["/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"],
];

/// Why there is no room for a profile: being killed for it would be worse than having none.
fn no_room() -> Option<String> {
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let read = |[limit, used]: [&str; 2]| Some((number(limit)?, number(used)?));
    let (limit, used) = LIMIT_AND_USE.into_iter().find_map(read)?;
    lacking(limit, used)
}

fn lacking(limit: u64, used: u64) -> Option<String> {
    (limit.saturating_sub(used) < TABLE_BYTES).then(|| {
        let [limit, used, table] = [limit, used, TABLE_BYTES].map(|bytes| bytes >> 20);
        format!("a profile takes {table} MiB, and of the limit of {limit} MiB {used} MiB are in use: raise the limit")
    })
}

/// Profiles for that long. The guard in it ends the sampling, also if nobody waits for the profile any more.
pub fn cpu_profile(time: Duration) -> BoxFuture<'static, Result<Vec<u8>, String>> {
    Box::pin(async move {
        if !TABLE_IS_THERE.load(Ordering::Relaxed)
            && let Some(lacking) = no_room()
        {
            return Err(lacking);
        }
        TABLE_IS_THERE.store(true, Ordering::Relaxed);
        let guard = ProfilerGuardBuilder::default().frequency(FREQUENCY).build().map_err(|error| error.to_string())?;
        tokio::time::sleep(time).await;
        let profile = spawn_blocking(move || {
            let report = guard.report().build_unresolved().map_err(|error| error.to_string())?;
            drop(guard);
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
            Ok(Builder::new(&maps).profile(&report, time).encode_to_vec())
        });
        profile.await.map_err(|error| error.to_string())?
    })
}

/// A profile under construction.
struct Builder {
    profile: Profile,
    strings: HashMap<String, i64>,
    functions: HashMap<String, u64>,
    /// Place in the table of each address, `None` for those of the sampling itself.
    locations: HashMap<u64, u64>,
}

impl Builder {
    /// One without samples, of a process with these mappings (<https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html>).
    fn new(maps: &str) -> Self {
        let mut builder = Self {
            profile: Profile::default(),
            strings: HashMap::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
        };
        // The first string is the empty one.
        builder.string("");
        for (memory_start, memory_limit, file_offset, file) in maps.lines().filter_map(code) {
            let (id, filename) = (builder.profile.mapping.len() as u64 + 1, builder.string(file));
            builder.profile.mapping.push(Mapping { id, memory_start, memory_limit, file_offset, filename });
        }
        builder
    }

    fn profile(mut self, report: &UnresolvedReport, time: Duration) -> Profile {
        let started = report.timing.start_time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanoseconds = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let period = 1_000_000_000 / i64::from(FREQUENCY);
        let (samples, count) = (self.string("samples"), self.string("count"));
        let (cpu, unit) = (self.string("cpu"), self.string("nanoseconds"));
        self.profile.sample_type = vec![ValueType { r#type: samples, unit: count }, ValueType { r#type: cpu, unit }];
        self.profile.period_type = Some(ValueType { r#type: cpu, unit });
        self.profile.period = period;
        self.profile.time_nanos = nanoseconds(started);
        self.profile.duration_nanos = nanoseconds(time);
        let mut stacks = Vec::new();
        for (stack, &count) in &report.data {
            let addresses = stack.frames.iter().map(|frame| frame.ip() as u64).filter(|&address| address != 0);
            stacks.push((addresses.collect::<Vec<u64>>(), count));
        }
        let common = common_start(stacks.iter().map(|(addresses, _)| addresses.as_slice()));
        for (addresses, count) in stacks {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.sample(&addresses, common, vec![count, count.saturating_mul(period)]);
        }
        self.profile
    }

    /// Adds a stack, innermost first, of which so many addresses are in all of them.
    fn sample(&mut self, addresses: &[u64], common: usize, value: Vec<i64>) {
        let names: Vec<Vec<String>> = addresses.iter().map(|&address| names(address)).collect();
        let handler = names.iter().position(|names| names.iter().any(|name| name.contains(HANDLER)));
        // Without names, the sampling is what all stacks begin with.
        let skipped = handler.map_or(common, |handler| handler + 2).min(addresses.len());
        let location_id =
            addresses.iter().zip(names).skip(skipped).map(|(&address, names)| self.location(address, names)).collect();
        self.profile.sample.push(Sample { location_id, value });
    }

    fn location(&mut self, address: u64, names: Vec<String>) -> u64 {
        if let Some(&id) = self.locations.get(&address) {
            return id;
        }
        let id = self.profile.location.len() as u64 + 1;
        let mapping =
            self.profile.mapping.iter().find(|mapping| (mapping.memory_start..mapping.memory_limit).contains(&address));
        let mapping_id = mapping.map_or(0, |mapping| mapping.id);
        let line = names.into_iter().map(|name| Line { function_id: self.function(name) }).collect();
        self.profile.location.push(Location { id, mapping_id, address, line });
        self.locations.insert(address, id);
        id
    }

    fn function(&mut self, name: String) -> u64 {
        if let Some(&id) = self.functions.get(&name) {
            return id;
        }
        let (id, string) = (self.profile.function.len() as u64 + 1, self.string(&name));
        self.profile.function.push(Function { id, name: string, system_name: string });
        self.functions.insert(name, id);
        id
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(&index) = self.strings.get(text) {
            return index;
        }
        let index = i64::try_from(self.profile.string_table.len()).unwrap_or(0);
        self.profile.string_table.push(text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }
}

/// How many addresses all stacks begin with, of several: one alone does not tell.
fn common_start<'a>(stacks: impl Iterator<Item = &'a [u64]>) -> usize {
    let mut stacks = stacks.peekable();
    let Some(first) = stacks.next().filter(|_| stacks.peek().is_some()) else { return 0 };
    stacks.fold(first.len().min(SAMPLING), |common, stack| {
        first[..common].iter().zip(stack).take_while(|(a, b)| a == b).count()
    })
}

/// Names of the functions at an address, inlined ones first; none in a stripped binary.
fn names(address: u64) -> Vec<String> {
    let mut names = Vec::new();
    backtrace::resolve(address as usize as *mut c_void, |symbol| {
        names.extend(symbol.name().map(|name| format!("{name:#}")));
    });
    names
}

/// Start, end, offset in the file and the file of a line about code.
fn code(line: &str) -> Option<(u64, u64, u64, &str)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let file = fields.nth(2)?;
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    rights.contains('x').then_some((number(start)?, number(end)?, number(offset)?, file))
}

/// `perftools.profiles.Profile`, as far as it is needed.
#[derive(Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

/// What a value is; both are places in the table of strings.
#[derive(Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    memory_start: u64,
    #[prost(uint64, tag = "3")]
    memory_limit: u64,
    #[prost(uint64, tag = "4")]
    file_offset: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
}

#[derive(Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(uint64, tag = "3")]
    address: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_profile_that_would_go_past_the_limit_is_not_taken() {
        assert_eq!(lacking(512 << 20, 100 << 20), None);
        assert_eq!(lacking(u64::MAX, 100 << 20), None);
        let said = lacking(64 << 20, 20 << 20).unwrap();
        assert_eq!(said, "a profile takes 144 MiB, and of the limit of 64 MiB 20 MiB are in use: raise the limit");
        assert!(lacking(64 << 20, 80 << 20).is_some());
    }

    #[test]
    fn code_is_found_among_mappings() {
        let line = "7f1c2a000000-7f1c2a0ff000 r-xp 00021000 08:01 131 /bin/ksm-shard";
        assert_eq!(code(line), Some((0x7f1c_2a00_0000, 0x7f1c_2a0f_f000, 0x21000, "/bin/ksm-shard")));
        assert_eq!(code("7f1c2a000000-7f1c2a0ff000 rw-p 00021000 08:01 131 /bin/ksm-shard"), None);
        assert_eq!(code("7f1c2a000000-7f1c2a0ff000 r-xp 00000000 00:00 0"), None, "memory without a file");
    }

    #[test]
    fn equal_addresses_are_one_location_in_their_mapping() {
        let mut builder =
            Builder::new("1000-2000 r-xp 00000500 08:01 1 /bin/a\n5000-6000 r-xp 00000000 08:01 1 [vdso]\n");
        builder.sample(&[0x1, 0x1010, 0x5010, 0x9010], 1, vec![1, 10]);
        builder.sample(&[0x1, 0x5010, 0x1010], 1, vec![2, 20]);
        let profile = builder.profile;
        let samples: Vec<_> =
            profile.sample.iter().map(|sample| (&sample.location_id[..], &sample.value[..])).collect();
        assert_eq!(samples, [(&[1, 2, 3][..], &[1, 10][..]), (&[2, 1], &[2, 20])]);
        let mappings: Vec<_> = profile.location.iter().map(|location| location.mapping_id).collect();
        assert_eq!(mappings, [1, 2, 0]);
        assert_eq!(profile.string_table, ["", "/bin/a", "[vdso]"]);
    }

    #[test]
    fn what_all_stacks_begin_with_is_no_part_of_them() {
        let common = |stacks: &[&[u64]]| common_start(stacks.iter().copied());
        assert_eq!(common(&[&[1, 2, 3, 9], &[1, 2, 4], &[1, 2, 3, 9]]), 2);
        assert_eq!(common(&[&[1, 2], &[3]]), 0);
        assert_eq!(common(&[&[1, 2, 3]]), 0, "one alone does not tell");
        assert_eq!(common(&[&[1, 2, 3, 4, 5, 6], &[1, 2, 3, 4, 5, 7]]), 4);
        assert_eq!(common(&[]), 0);
    }

    /// Samples of a profile that have [`spin`] in them.
    fn spinning(profile: &Profile) -> i64 {
        let text = |index: i64| profile.string_table[usize::try_from(index).unwrap()].as_str();
        let types: Vec<_> = profile.sample_type.iter().map(|kind| (text(kind.r#type), text(kind.unit))).collect();
        assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
        assert!(profile.string_table.iter().all(|text| !text.contains(HANDLER)), "the sampling is left out");
        let spins = |location: &Location| {
            let function = |line: &Line| text(profile.function[usize::try_from(line.function_id).unwrap() - 1].name);
            location.line.iter().any(|line| function(line).ends_with("::spin"))
        };
        let locations: Vec<u64> =
            profile.location.iter().filter(|location| spins(location)).map(|location| location.id).collect();
        let samples = profile.sample.iter().filter(|sample| sample.location_id.iter().any(|id| locations.contains(id)));
        samples.map(|sample| sample.value[0]).sum()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_busy_function_is_in_the_profile_of_its_time() {
        let stop = Arc::new(AtomicBool::new(false));
        let busy = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || {
                while !stop.load(Ordering::Relaxed) {
                    spin();
                }
            }
        });
        // Other tests are busy as well, and share what is sampled.
        let mut count = 0;
        for _ in 0..60 {
            let profile = cpu_profile(Duration::from_millis(500)).await.unwrap();
            count += spinning(&Profile::decode(&profile[..]).unwrap());
            if count > 10 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        busy.join().unwrap();
        assert!(count > 10, "{count} samples of a function that was busy all the time");
    }

    #[inline(never)]
    fn spin() {
        let mut sum = 0_u64;
        for i in 0..200_000_u64 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i));
        }
    }
}

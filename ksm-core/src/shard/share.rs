//! A share: all that one process serves, which while a set is being scaled is more than its shard.
//!
//! Invariant: a share is kept in one form only, so that equal shares compare equal; its selector asks for exactly what
//! [`Share::owns`] says yes to.

use std::fmt::Write as _;

use super::{Scheme, Shard, fnv1a_64, md5_modulo};

/// One past the largest hash.
const END: u128 = 1 << 64;

/// A union of shards of one scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share(Parts);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Parts {
    /// Ranges of hashes, start inclusive and end exclusive, in order, with room between them.
    Ranges(Vec<(u128, u128)>),
    /// Remainders, each with what is divided by; none is part of another.
    Remainders(Vec<(u32, u32)>),
}

impl From<Shard> for Share {
    fn from(shard: Shard) -> Self {
        Self::union([shard])
    }
}

impl Share {
    /// No object at all.
    pub const NOTHING: Self = Self(Parts::Ranges(Vec::new()));

    /// What belongs to any of these shards, which must be of one scheme.
    pub fn union(shards: impl IntoIterator<Item = Shard>) -> Self {
        let (mut ranges, mut remainders) = (Vec::new(), Vec::new());
        for shard in shards {
            match shard.scheme {
                Scheme::Range => ranges.push((shard.start(shard.ordinal), shard.start(shard.ordinal + 1))),
                // Every scheme means the same by one shard of one.
                Scheme::Md5 if shard.is_whole() => ranges.push((0, END)),
                Scheme::Md5 => remainders.push((shard.ordinal, shard.total)),
            }
        }
        debug_assert!(ranges.is_empty() || remainders.is_empty() || ranges.contains(&(0, END)), "one scheme a set");
        if remainders.is_empty() || ranges.contains(&(0, END)) {
            return Self(Parts::Ranges(merged(ranges)));
        }
        remainders.sort_unstable_by_key(|&(ordinal, total)| (total, ordinal));
        remainders.dedup();
        let all = remainders.clone();
        remainders.retain(|part| !all.iter().any(|other| other != part && is_part(*part, *other)));
        Self(Parts::Remainders(remainders))
    }

    /// Whether the object with that UID belongs to it.
    pub fn owns(&self, uid: &str) -> bool {
        match &self.0 {
            Parts::Ranges(_) if self.is_whole() => true,
            Parts::Ranges(ranges) => {
                let hash = u128::from(fnv1a_64(uid.as_bytes()));
                ranges.iter().any(|&(start, end)| start <= hash && hash < end)
            }
            Parts::Remainders(parts) => parts.iter().any(|&(ordinal, total)| md5_modulo(uid, total) == ordinal),
        }
    }

    /// Whether every object belongs to it.
    pub fn is_whole(&self) -> bool {
        matches!(&self.0, Parts::Ranges(ranges) if ranges.as_slice() == [(0, END)])
    }

    /// Whether no object belongs to it.
    pub fn is_nothing(&self) -> bool {
        match &self.0 {
            Parts::Ranges(ranges) => ranges.is_empty(),
            Parts::Remainders(parts) => parts.is_empty(),
        }
    }

    /// Whether all that belongs to it belongs to `other` as well. `false` where that cannot be told, which is only where
    /// several parts of `other` together cover one of this.
    pub fn is_within(&self, other: &Self) -> bool {
        if self.is_nothing() || other.is_whole() {
            return true;
        }
        match (&self.0, &other.0) {
            (Parts::Ranges(these), Parts::Ranges(those)) => {
                these.iter().all(|&(start, end)| those.iter().any(|&(from, to)| from <= start && end <= to))
            }
            (Parts::Remainders(these), Parts::Remainders(those)) => {
                these.iter().all(|part| those.iter().any(|other| is_part(*part, *other)))
            }
            _ => false,
        }
    }

    /// The `shardSelector` that makes the API server send only its objects; `None` where there is none to ask for
    /// (everything, nothing, or MD5).
    pub fn selector(&self) -> Option<String> {
        let Parts::Ranges(ranges) = &self.0 else { return None };
        if self.is_whole() || self.is_nothing() {
            return None;
        }
        let mut selector = String::new();
        for (i, (start, end)) in ranges.iter().enumerate() {
            let or = if i == 0 { "" } else { " || " };
            let _ = write!(selector, "{or}shardRange(object.metadata.uid, '0x{start:016x}', '0x{end:016x}')");
        }
        Some(selector)
    }

    /// The share that a selector asks for, in whatever order its ranges are and however it is spaced and quoted; `None`
    /// if it is no selector of UIDs.
    pub fn of_selector(selector: &str) -> Option<Self> {
        let ranges = selector.split("||").map(range_of).collect::<Option<Vec<_>>>()?;
        Some(Self(Parts::Ranges(merged(ranges))))
    }
}

/// The range that one call of a selector names.
fn range_of(call: &str) -> Option<(u128, u128)> {
    let arguments = call.trim().strip_prefix("shardRange")?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    let mut arguments = arguments.split(',').map(|argument| argument.trim().trim_matches(['\'', '"']));
    let (field, start, end) = (arguments.next()?, arguments.next()?, arguments.next()?);
    let bound = |text: &str| u128::from_str_radix(text.strip_prefix("0x")?, 16).ok().filter(|&bound| bound <= END);
    let (start, end) = (bound(start)?, bound(end)?);
    (field == "object.metadata.uid" && start < end && arguments.next().is_none()).then_some((start, end))
}

/// Whether every number with the first remainder has the second as well.
fn is_part((ordinal, total): (u32, u32), (other, of): (u32, u32)) -> bool {
    total.is_multiple_of(of) && ordinal % of == other
}

/// The same ranges, in order, those that meet or overlap made one.
fn merged(mut ranges: Vec<(u128, u128)>) -> Vec<(u128, u128)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u128, u128)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ if start < end => merged.push((start, end)),
            _ => {}
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shard(ordinal: u32, total: u32, scheme: Scheme) -> Shard {
        Shard::new(ordinal, total, scheme).unwrap()
    }

    fn range(ordinal: u32, total: u32) -> Shard {
        shard(ordinal, total, Scheme::Range)
    }

    #[test]
    fn selectors_name_each_range_once() {
        let selector = |shards: &[(u32, u32)]| Share::union(shards.iter().map(|&(o, t)| range(o, t))).selector();
        assert_eq!(
            selector(&[(1, 2)]).unwrap(),
            "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
        );
        // 2 -> 4, shard 1: the new range lies below the old one and meets it.
        assert_eq!(
            selector(&[(1, 4), (1, 2)]).unwrap(),
            "shardRange(object.metadata.uid, '0x4000000000000000', '0x10000000000000000')"
        );
        assert_eq!(
            selector(&[(3, 4), (0, 4)]).unwrap(),
            "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000') || \
             shardRange(object.metadata.uid, '0xc000000000000000', '0x10000000000000000')"
        );
        assert_eq!(selector(&[(0, 2), (1, 2)]), None, "the whole needs no selector");
        assert_eq!(selector(&[]), None);
        assert_eq!(Share::from(shard(0, 2, Scheme::Md5)).selector(), None);
    }

    #[test]
    fn a_selector_is_read_however_it_is_written() {
        let share = Share::union([range(0, 4), range(3, 4)]);
        let call = |field: &str, start: &str, end: &str| format!("shardRange({field}, '{start}', '{end}')");
        let uids = |start, end| call("object.metadata.uid", start, end);
        let (first, last) =
            (uids("0x0000000000000000", "0x4000000000000000"), uids("0xc000000000000000", "0x10000000000000000"));
        for selector in [
            format!("{first} || {last}"),
            format!("{last}||{first}"),
            format!("{first} || {last} || {last}").replace('\'', "\""),
            format!(
                "{} || {} || {last}",
                uids("0x0", "0x2000000000000000"),
                uids("0x2000000000000000", "0x4000000000000000")
            ),
            share.selector().unwrap(),
        ] {
            assert_eq!(Share::of_selector(&selector), Some(share.clone()), "{selector}");
        }
        assert_ne!(Share::of_selector(&first), Some(share));
        for selector in [
            String::new(),
            "uid".to_owned(),
            format!("{first} || "),
            format!("{first} && {last}"),
            call("object.metadata.namespace", "0x0", "0x1"),
            uids("0x1", "0x1"),
            uids("0x0", "0x10000000000000001"),
            uids("0", "0x1"),
            first.replace(')', ", '0x1')"),
        ] {
            assert_eq!(Share::of_selector(&selector), None, "{selector}");
        }
    }

    #[test]
    fn what_a_share_has_lost_can_be_told_from_what_it_has_gained() {
        let share = |shards: &[(u32, u32)], scheme| Share::union(shards.iter().map(|&(o, t)| shard(o, t, scheme)));
        for scheme in [Scheme::Range, Scheme::Md5] {
            assert!(share(&[(0, 2)], scheme).is_within(&share(&[(0, 1)], scheme)));
            assert!(share(&[(0, 4)], scheme).is_within(&share(&[(0, 2), (0, 4)], scheme)));
            assert!(!share(&[(0, 1)], scheme).is_within(&share(&[(0, 2)], scheme)));
            assert!(share(&[], scheme).is_within(&share(&[], scheme)) && share(&[], scheme).is_nothing());
        }
        assert!(!share(&[(1, 4)], Scheme::Range).is_within(&share(&[(1, 2)], Scheme::Range)));
        assert!(share(&[(1, 4)], Scheme::Md5).is_within(&share(&[(1, 2)], Scheme::Md5)));
        assert_eq!(share(&[(1, 4), (1, 2), (3, 4)], Scheme::Md5), share(&[(1, 2)], Scheme::Md5));
    }

    /// Ordinals and totals.
    type Places = Vec<(u32, u32)>;

    fn some_shards() -> impl Strategy<Value = (bool, Places, Places)> {
        let shard = (1_u32..12).prop_flat_map(|total| (0..total, Just(total)));
        let shards = || prop::collection::vec(shard.clone(), 0..5);
        (any::<bool>(), shards(), shards())
    }

    proptest! {
        #[test]
        fn a_share_owns_what_one_of_its_shards_owns((md5, these, those) in some_shards(), uid in ".{0,40}") {
            let scheme = if md5 { Scheme::Md5 } else { Scheme::Range };
            let shards = |parts: &[(u32, u32)]| -> Vec<Shard> { parts.iter().map(|&(o, t)| shard(o, t, scheme)).collect() };
            let (these, those) = (shards(&these), shards(&those));
            let (share, other) = (Share::union(these.clone()), Share::union(those));
            prop_assert_eq!(share.owns(&uid), these.iter().any(|shard| shard.owns(&uid)));
            if share.is_within(&other) {
                prop_assert!(!share.owns(&uid) || other.owns(&uid));
            }
            if let Some(selector) = share.selector() {
                prop_assert_eq!(Share::of_selector(&selector), Some(share.clone()));
            }
            let mut again = these;
            again.reverse();
            prop_assert_eq!(share, Share::union(again));
        }
    }
}

//! Shard selectors (KEP-5866, alpha in 1.36 and 1.37): `shardRange(field, 'start', 'end')` joined by `||`.
//!
//! An object is in a range when the FNV-1a 64 of the field's value is at least its start and less than its end.

use crate::store::Object;

/// FNV-1a with 64 bits, the hash ranges are about.
pub fn uid_hash(uid: &str) -> u64 {
    uid.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A range of hashes: start inclusive, end exclusive and up to 2⁶⁴.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardRange {
    /// First hash in the range.
    pub start: u64,
    /// First hash behind the range.
    pub end: u128,
}

impl ShardRange {
    /// The part of the hash space that an ordinal (from 0) of a total gets when it is cut in equal parts.
    pub fn of(ordinal: u32, total: u32) -> Self {
        let bound = |ordinal: u32| (u128::from(ordinal) << 64) / u128::from(total);
        Self { start: bound(ordinal) as u64, end: bound(ordinal + 1) }
    }

    /// The request parameter for this range of UIDs.
    pub fn selector(&self) -> String {
        self.call(Field::Uid)
    }

    fn call(&self, field: Field) -> String {
        let field = match field {
            Field::Uid => "object.metadata.uid",
            Field::Namespace => "object.metadata.namespace",
        };
        format!("shardRange({field}, '0x{:016x}', '0x{:016x}')", self.start, self.end)
    }

    fn contains(&self, hash: u64) -> bool {
        self.start <= hash && u128::from(hash) < self.end
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Uid,
    Namespace,
}

/// A parsed `shardSelector`.
#[derive(Debug, PartialEq)]
pub(crate) struct ShardSelector {
    field: Field,
    ranges: Vec<ShardRange>,
}

impl ShardSelector {
    /// Parses the parameter; errors are those of the API server where it has such.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err("empty shard selector is not allowed; omit the parameter for unfiltered lists".to_owned());
        }
        let parsed = trimmed.split("||").map(|call| call_of(call.trim())).collect::<Result<Vec<_>, _>>()?;
        let field = parsed[0].0;
        if parsed.iter().any(|(other, _)| *other != field) {
            return Err("all shard ranges must use the same field".to_owned());
        }
        Ok(Self { field, ranges: parsed.into_iter().map(|(_, range)| range).collect() })
    }

    /// The selector as lists echo it: in one form, however the request wrote it.
    pub(crate) fn canonical(&self) -> String {
        let calls: Vec<_> = self.ranges.iter().map(|range| range.call(self.field)).collect();
        calls.join(" || ")
    }

    /// The first half of the first range.
    pub(crate) fn halved(self) -> Self {
        let ranges = self.ranges.into_iter().take(1);
        let half = |range: ShardRange| ShardRange { end: u128::midpoint(u128::from(range.start), range.end), ..range };
        Self { field: self.field, ranges: ranges.map(half).collect() }
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        let hash = uid_hash(match self.field {
            Field::Uid => &object.uid,
            Field::Namespace => &object.key.namespace,
        });
        self.ranges.iter().any(|range| range.contains(hash))
    }
}

fn call_of(call: &str) -> Result<(Field, ShardRange), String> {
    let inner = call.strip_prefix("shardRange").map(str::trim).and_then(|rest| rest.strip_prefix('('));
    let inner =
        inner.and_then(|rest| rest.strip_suffix(')')).ok_or_else(|| format!("expected shardRange() at `{call}`"))?;
    let arguments: Vec<_> = inner.split(',').map(str::trim).collect();
    let [field, start, end] = arguments[..] else {
        return Err(format!("shardRange() requires exactly 3 arguments, got {}", arguments.len()));
    };
    let field = match field {
        "object.metadata.uid" => Field::Uid,
        "object.metadata.namespace" => Field::Namespace,
        other => {
            return Err(format!(
                "unsupported field path {other:?}; supported: object.metadata.uid, object.metadata.namespace"
            ));
        }
    };
    let (start, end) = (bound(start)?, bound(end)?);
    match u64::try_from(start) {
        Ok(first) if start < end => Ok((field, ShardRange { start: first, end })),
        _ => Err(format!("shard range start {start:#x} must be less than end {end:#x}")),
    }
}

/// A quoted bound: `0x` and 16 lower-case digits, or 2⁶⁴.
fn bound(argument: &str) -> Result<u128, String> {
    let quoted = |quote| argument.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let text = quoted('\'').or_else(|| quoted('"')).ok_or_else(|| format!("`{argument}` must be a string literal"))?;
    let digits = text.strip_prefix("0x").ok_or_else(|| format!("bound must have '0x' prefix, got {text:?}"))?;
    let lower = digits.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
    if !lower || digits.len() != 16 && text != "0x10000000000000000" {
        return Err(format!("bound must be a 0x-prefixed 16-digit hex value, got {text:?}"));
    }
    u128::from_str_radix(digits, 16).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // Test vectors of the hash's authors: http://www.isthe.com/chongo/tech/comp/fnv/.
        assert_eq!(uid_hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(uid_hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(uid_hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn equal_ranges_meet_and_cover_everything() {
        for total in [1, 2, 3, 7, 16] {
            let mut next = 0;
            for ordinal in 0..total {
                let range = ShardRange::of(ordinal, total);
                assert_eq!(u128::from(range.start), next);
                assert_eq!(ShardSelector::parse(&range.selector()).unwrap().ranges, [range]);
                next = range.end;
            }
            assert_eq!(next, 1 << 64);
        }
    }

    #[test]
    fn ranges_are_joined() {
        let text = "shardRange(object.metadata.namespace, '0x0000000000000000', '0x1000000000000000') || \
                    shardRange(object.metadata.namespace,'0xf000000000000000','0x10000000000000000')";
        let selector = ShardSelector::parse(text).unwrap();
        assert_eq!((selector.field, selector.ranges.len()), (Field::Namespace, 2));
        assert_eq!(
            selector.canonical(),
            "shardRange(object.metadata.namespace, '0x0000000000000000', '0x1000000000000000') || \
             shardRange(object.metadata.namespace, '0xf000000000000000', '0x10000000000000000')"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "uid",
            "shardRange(object.metadata.uid, '0x0000000000000000')",
            "shardRange(object.metadata.name, '0x0000000000000000', '0x1000000000000000')",
            "shardRange(object.metadata.uid, '0x0', '0x1000000000000000')",
            "shardRange(object.metadata.uid, '0x1000000000000000', '0x1000000000000000')",
            "shardRange(object.metadata.uid, '0x000000000000000A', '0x1000000000000000')",
            "shardRange(object.metadata.uid, 0x0000000000000000, '0x1000000000000000')",
            "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000001')",
            "shardRange(object.metadata.uid, '0x0000000000000000', '0x1000000000000000') || \
             shardRange(object.metadata.namespace, '0x1000000000000000', '0x2000000000000000')",
        ] {
            assert!(ShardSelector::parse(text).is_err(), "{text}");
        }
    }
}

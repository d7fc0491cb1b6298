//! Ownership: which shard of a set an object belongs to.
//!
//! One function of the object's UID feeds both the shard selector sent to the API server and the local filter, so the
//! shards of a set are a partition whatever each of their API servers supports.

mod share;

use std::fmt;
use std::str::FromStr;

use md5::{Digest, Md5};

pub use share::Share;

/// How UIDs are spread over shards. All shards of a set must use the same scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Equal ranges of the FNV-1a 64 hash of the UID: what `shardSelector` of KEP-5866 can express.
    #[default]
    Range,
    /// MD5 of the UID, as a 128-bit number, modulo the total; always filtered locally.
    Md5,
}

impl Scheme {
    /// The word for it on the command line and in self-metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Md5 => "md5",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Scheme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "range" => Ok(Self::Range),
            "md5" => Ok(Self::Md5),
            _ => Err("expected range or md5".to_owned()),
        }
    }
}

/// One shard of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    ordinal: u32,
    total: u32,
    scheme: Scheme,
}

impl Shard {
    /// The whole: shard 0 of 1, which owns every object.
    pub const WHOLE: Self = Self { ordinal: 0, total: 1, scheme: Scheme::Range };

    /// Shard `ordinal`, counted from 0, of `total`.
    ///
    /// # Errors
    /// `total` is 0, or `ordinal` is not below it.
    pub fn new(ordinal: u32, total: u32, scheme: Scheme) -> Result<Self, InvalidShard> {
        if ordinal < total { Ok(Self { ordinal, total, scheme }) } else { Err(InvalidShard { ordinal, total }) }
    }

    /// The same place in a set that spreads objects another way.
    pub const fn with_scheme(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }

    /// Which shard it is, from 0.
    pub const fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// How many shards the set has.
    pub const fn total(&self) -> u32 {
        self.total
    }

    /// How objects are spread.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether this shard owns every object.
    pub const fn is_whole(&self) -> bool {
        self.total == 1
    }

    /// Whether this shard owns the object with that UID.
    pub fn owns(&self, uid: &str) -> bool {
        if self.is_whole() {
            return true;
        }
        match self.scheme {
            Scheme::Range => {
                let hash = u128::from(fnv1a_64(uid.as_bytes()));
                self.start(self.ordinal) <= hash && hash < self.start(self.ordinal + 1)
            }
            Scheme::Md5 => md5_modulo(uid, self.total) == self.ordinal,
        }
    }

    /// The `shardSelector` that makes the API server send only this shard's objects; `None` where there is none to ask
    /// for (one shard of one, or MD5).
    pub fn selector(&self) -> Option<String> {
        Share::from(*self).selector()
    }

    /// Where the range of shard `ordinal` starts; that of `total` is 2^64, where the last one ends.
    fn start(&self, ordinal: u32) -> u128 {
        (u128::from(ordinal) << 64) / u128::from(self.total)
    }
}

/// A shard that is not in its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidShard {
    ordinal: u32,
    total: u32,
}

impl fmt::Display for InvalidShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total {
            0 => f.write_str("the total number of shards must be at least 1"),
            total => write!(f, "shard {} is out of range: with {total} shards it is 0 to {}", self.ordinal, total - 1),
        }
    }
}

impl std::error::Error for InvalidShard {}

/// MD5 of the UID, as a number, modulo `total`.
fn md5_modulo(uid: &str, total: u32) -> u32 {
    let digest: [u8; 16] = Md5::digest(uid.as_bytes()).into();
    let remainder = u128::from_be_bytes(digest) % u128::from(total);
    u32::try_from(remainder).expect("a remainder is less than what was divided by")
}

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>).
fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hash_is_fnv1a_64() {
        // Test vectors of the algorithm's authors.
        for (text, hash) in [("", 0xcbf29ce484222325_u64), ("a", 0xaf63dc4c8601ec8c), ("foobar", 0x85944171f73967e8)] {
            assert_eq!(fnv1a_64(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn selectors_cover_the_whole_space_without_overlap() {
        let selector = |ordinal, total| Shard::new(ordinal, total, Scheme::Range).unwrap().selector().unwrap();
        assert_eq!(selector(0, 2), "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')");
        assert_eq!(selector(1, 2), "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')");
        assert_eq!(selector(1, 3), "shardRange(object.metadata.uid, '0x5555555555555555', '0xaaaaaaaaaaaaaaaa')");
        assert_eq!(Shard::WHOLE.selector(), None);
        assert_eq!(Shard::new(0, 2, Scheme::Md5).unwrap().selector(), None);
    }

    #[test]
    fn md5_ownership_is_the_whole_digest_modulo_the_total() {
        // printf d4e5 | md5sum, as a number modulo 7, computed with Python.
        let owner = (0..7).find(|&ordinal| Shard::new(ordinal, 7, Scheme::Md5).unwrap().owns("d4e5")).unwrap();
        assert_eq!(owner, MD5_D4E5_MOD_7);
    }

    const MD5_D4E5_MOD_7: u32 = 0;

    #[test]
    fn shards_out_of_range_are_refused() {
        assert_eq!(
            Shard::new(3, 3, Scheme::Range).unwrap_err().to_string(),
            "shard 3 is out of range: with 3 shards it is 0 to 2"
        );
        assert_eq!(
            Shard::new(0, 0, Scheme::Range).unwrap_err().to_string(),
            "the total number of shards must be at least 1"
        );
    }

    proptest! {
        #[test]
        fn every_object_has_exactly_one_owner(uid in ".{0,40}", total in 1_u32..300) {
            for scheme in [Scheme::Range, Scheme::Md5] {
                let owners = (0..total).filter(|&ordinal| Shard::new(ordinal, total, scheme).unwrap().owns(&uid)).count();
                prop_assert_eq!(owners, 1);
            }
        }
    }
}

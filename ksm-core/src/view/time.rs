//! `metav1.Time` and `metav1.MicroTime`.
//!
//! The zero time means "not set" (in protobuf a message of no bytes, in JSON year 1); Unix time 0 is a real time.

use serde::{Deserialize, Deserializer, de};

/// Seconds from year 1, Go's zero time, to the Unix epoch.
const GO_ZERO_SECONDS: i64 = -62_135_596_800;

/// A point in time, precise to the second in JSON and to the nanosecond in protobuf.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Time {
    #[prost(int64, optional, tag = "1")]
    seconds: Option<i64>,
    #[prost(int32, optional, tag = "2")]
    nanos: Option<i32>,
}

/// A point in time, precise to the microsecond; the same message on the wire as [`Time`].
pub type MicroTime = Time;

impl Time {
    /// Whole seconds since the Unix epoch, rounded toward the past; `None` for the zero time.
    pub fn unix_seconds(&self) -> Option<i64> {
        if self.seconds.is_none() && self.nanos.is_none() {
            return None;
        }
        let seconds = self.seconds.unwrap_or(0);
        (seconds != GO_ZERO_SECONDS || self.nanos.unwrap_or(0) != 0).then_some(seconds)
    }

    /// Nanoseconds after [`Time::unix_seconds`], 0 to 999 999 999.
    pub fn subsec_nanos(&self) -> i32 {
        self.nanos.unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let timestamp: jiff::Timestamp = text.parse().map_err(|_| de::Error::custom("a time must be RFC 3339"))?;
        // jiff gives both parts the sign of the instant; the API counts nanoseconds forward.
        let (mut seconds, mut nanos) = (timestamp.as_second(), timestamp.subsec_nanosecond());
        if nanos < 0 {
            seconds -= 1;
            nanos += 1_000_000_000;
        }
        Ok(Self { seconds: Some(seconds), nanos: Some(nanos) })
    }
}

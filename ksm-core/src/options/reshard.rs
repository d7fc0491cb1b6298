//! Values of the options about resharding and stopping.

use std::str::FromStr;
use std::time::Duration;

use super::duration;

/// Whether objects that change hands are served twice for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Served by both shards until the new one is known to have them.
    #[default]
    On,
    /// Dropped by the old shard at once.
    Off,
}

impl FromStr for Overlap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            // What YAML makes of them.
            "on" | "true" => Ok(Self::On),
            "off" | "false" => Ok(Self::Off),
            _ => Err("expected on or off".to_owned()),
        }
    }
}

/// A duration such as `30s` or `1m30s`; at most an hour, so that a slip of the pen shows.
pub(super) fn up_to_an_hour(text: &str) -> Result<Duration, String> {
    let grace = duration::parse(text)?;
    if grace <= Duration::from_secs(3600) { Ok(grace) } else { Err("expected a duration of at most 1h".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_limits() {
        assert_eq!(up_to_an_hour("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(up_to_an_hour("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(up_to_an_hour("0s"), Ok(Duration::ZERO));
        for wrong in ["", "30", "2h", "1d", "s"] {
            assert!(up_to_an_hour(wrong).is_err(), "{wrong}");
        }
    }
}

//! A wall clock that is stepped forward through a zone.
//!
//! Invariant: a time that the clock of a zone skips or shows twice is resolved as Go's `time.Date` does, which the CronJob
//! controller builds on; and steps are counted, so that no zone can make a search endless.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

/// A moment, and what the clocks of a zone show at it.
pub(super) struct Clock<'a> {
    zone: &'a TimeZone,
    seconds: i64,
    now: DateTime,
    steps: u32,
}

/// More than a search takes that comes to an end: days of six years, and hours and minutes of a few of them.
const MAX_STEPS: u32 = 10_000;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;

/// Every step gives `None` where time or the steps run out.
impl<'a> Clock<'a> {
    /// The clock at that many seconds since the Unix epoch.
    pub(super) fn new(zone: &'a TimeZone, seconds: i64) -> Option<Self> {
        let mut clock = Self { zone, seconds, now: DateTime::default(), steps: 0 };
        clock.go_to(seconds)?;
        Some(clock)
    }

    /// What the clock shows.
    pub(super) fn now(&self) -> DateTime {
        self.now
    }

    /// Seconds since the Unix epoch.
    pub(super) fn seconds(&self) -> i64 {
        self.seconds
    }

    /// To midnight of the first day of this month.
    pub(super) fn rewind_month(&mut self) -> Option<()> {
        self.show(self.now.date().first_of_month().at(0, 0, 0, 0))
    }

    /// To midnight of this day.
    pub(super) fn rewind_day(&mut self) -> Option<()> {
        self.show(self.now.date().at(0, 0, 0, 0))
    }

    /// To minute 0 of this hour.
    pub(super) fn rewind_hour(&mut self) -> Option<()> {
        self.show(self.now.date().at(self.now.hour(), 0, 0, 0))
    }

    /// To second 0 of this minute, which is one of absolute time.
    pub(super) fn rewind_minute(&mut self) -> Option<()> {
        self.go_to(self.seconds - self.seconds.rem_euclid(MINUTE))
    }

    /// To the same day and time of the next month; a day that it does not have runs over into the one after.
    pub(super) fn next_month(&mut self) -> Option<()> {
        let first = self.now.date().first_of_month().checked_add(1.month()).ok()?;
        self.show_at(first.checked_add((i32::from(self.now.day()) - 1).days()).ok()?, self.now.time())
    }

    /// To midnight of the next day, or as near to it as steps of whole hours come.
    pub(super) fn next_day(&mut self) -> Option<()> {
        self.show_at(self.now.date().tomorrow().ok()?, self.now.time())?;
        match i64::from(self.now.hour()) {
            0 => Some(()),
            hour @ 13.. => self.go_to(self.seconds + (24 - hour) * HOUR),
            hour => self.go_to(self.seconds - hour * HOUR),
        }
    }

    /// An hour of absolute time ahead.
    pub(super) fn next_hour(&mut self) -> Option<()> {
        self.go_to(self.seconds + HOUR)
    }

    /// A minute ahead.
    pub(super) fn next_minute(&mut self) -> Option<()> {
        self.go_to(self.seconds + MINUTE)
    }

    /// To where the seconds are 0 next.
    pub(super) fn finish_minute(&mut self) -> Option<()> {
        self.go_to(self.seconds + MINUTE - i64::from(self.now.second()))
    }

    fn show_at(&mut self, date: Date, time: Time) -> Option<()> {
        self.show(date.to_datetime(time))
    }

    /// To when the clock shows `wall`. The offset is that of the moment which the offset at `wall`, read as UTC, leads
    /// to: a skipped time comes out before the skip in the west and after it in the east.
    fn show(&mut self, wall: DateTime) -> Option<()> {
        let as_utc = Offset::UTC.to_timestamp(wall).ok()?.as_second();
        let guess = as_utc - self.offset_at(as_utc)?;
        self.go_to(as_utc - self.offset_at(guess)?)
    }

    fn go_to(&mut self, seconds: i64) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        self.now = self.zone.to_datetime(Timestamp::from_second(seconds).ok()?);
        self.seconds = seconds;
        Some(())
    }

    fn offset_at(&self, seconds: i64) -> Option<i64> {
        Some(i64::from(self.zone.to_offset(Timestamp::from_second(seconds).ok()?).seconds()))
    }
}

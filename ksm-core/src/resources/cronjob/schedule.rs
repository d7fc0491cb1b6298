//! Cron schedules: which are valid, and when they are due.
//!
//! A schedule is valid where the reference takes it for valid; when it is due is what the CronJob controller computes,
//! with its rules for days and for clocks that are put forward and back. No crate at hand has these rules.
//! Source: <https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax>.
//!
//! Invariant: pure, and bounded whatever the schedule; zones come from the database in the program.

mod clock;
mod duration;
mod field;

use std::sync::LazyLock;

use jiff::civil::Weekday;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use clock::Clock;
use field::{DAYS, Field, HOURS, MINUTES, MONTHS, WEEKDAYS};

/// A schedule that can be followed.
#[derive(Debug)]
pub(super) enum Schedule {
    /// At times of the wall clock.
    Calendar(Box<Calendar>),
    /// That many seconds after the last run.
    Every(i64),
    /// Never by itself.
    Manual,
}

/// Minutes of the wall clock of one zone.
#[derive(Debug)]
pub(super) struct Calendar {
    zone: TimeZone,
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

/// Longest schedule, zone included, in bytes.
const MAX_LENGTH: usize = 1024;

/// How many years ahead a run is looked for: enough for 29 February, but across the turn of most centuries.
const YEARS_AHEAD: i16 = 5;

impl Schedule {
    /// Reads a schedule in its own time zone, UTC if neither the field nor the schedule itself names one; `None` if
    /// either is not valid.
    pub(super) fn parse(schedule: &str, time_zone: Option<&str>) -> Option<Self> {
        // The zone counts as if it were written into the schedule; so a schedule cannot name a second one.
        match time_zone {
            Some(zone) => Self::from_text(&format!("CRON_TZ={zone} {schedule}")),
            None => Self::from_text(schedule),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let (zone, text) = match text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ=")) {
            Some(zoned) => {
                let (name, rest) = zoned.split_once(' ')?;
                (find_zone(unquoted(name))?, rest.trim())
            }
            None => (TimeZone::UTC, text),
        };
        let fields = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            "@triggered" | "@manual" | "@none" => return Some(Self::Manual),
            _ => match text.strip_prefix("@every ") {
                Some(interval) => return duration::whole_seconds(interval).map(Self::Every),
                None => text,
            },
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
        Some(Self::Calendar(Box::new(Calendar {
            zone,
            minutes: Field::parse(minutes, &MINUTES)?,
            hours: Field::parse(hours, &HOURS)?,
            days: Field::parse(days, &DAYS)?,
            months: Field::parse(months, &MONTHS)?,
            weekdays: Field::parse(weekdays, &WEEKDAYS)?,
        })))
    }

    /// When the schedule is due next after that time, both in seconds since the Unix epoch; `None` if not within five
    /// years.
    pub(super) fn next_after(&self, seconds: i64) -> Option<i64> {
        match self {
            Self::Calendar(calendar) => calendar.next_after(seconds),
            Self::Every(interval) => seconds.checked_add(*interval),
            Self::Manual => None,
        }
    }
}

impl Calendar {
    /// Steps from field to field, coarse to fine, until all match. A step that ends a year, month, day or hour starts
    /// over at the month; how steps meet shifts of the clock is what makes the result that of the controller.
    fn next_after(&self, seconds: i64) -> Option<i64> {
        if self.minutes.is_empty() || self.hours.is_empty() || self.months.is_empty() {
            return None;
        }
        let mut clock = Clock::new(&self.zone, seconds.checked_add(1)?)?;
        let last_year = clock.now().year().checked_add(YEARS_AHEAD)?;
        // The first step of all leaves the present: what is finer than its field starts from zero.
        let mut left = false;
        'month: loop {
            if clock.now().year() > last_year {
                return None;
            }
            while !self.months.has(clock.now().month()) {
                if !left {
                    clock.rewind_month()?;
                    left = true;
                }
                clock.next_month()?;
                if clock.now().month() == 1 {
                    continue 'month;
                }
            }
            while !self.has_day(&clock) {
                if !left {
                    clock.rewind_day()?;
                    left = true;
                }
                clock.next_day()?;
                if clock.now().day() == 1 {
                    continue 'month;
                }
            }
            while !self.hours.has(clock.now().hour()) {
                if !left {
                    clock.rewind_hour()?;
                    left = true;
                }
                clock.next_hour()?;
                if clock.now().hour() == 0 {
                    continue 'month;
                }
            }
            while !self.minutes.has(clock.now().minute()) {
                if !left {
                    clock.rewind_minute()?;
                    left = true;
                }
                clock.next_minute()?;
                if clock.now().minute() == 0 {
                    continue 'month;
                }
            }
            if clock.now().second() == 0 {
                return Some(clock.seconds());
            }
            left = true;
            clock.finish_minute()?;
        }
    }

    /// Either field of days may match if both are restricted, as cron has always had it.
    fn has_day(&self, clock: &Clock<'_>) -> bool {
        let day = self.days.has(clock.now().day());
        let weekday = match clock.now().weekday() {
            Weekday::Sunday => self.weekdays.has(0) || self.weekdays.has(7),
            weekday => self.weekdays.has(weekday.to_sunday_zero_offset()),
        };
        if self.days.is_any() || self.weekdays.is_any() { day && weekday } else { day || weekday }
    }
}

/// Text without the quotes around it.
fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// The zone of exactly that name in the database that is part of the program.
fn find_zone(name: &str) -> Option<TimeZone> {
    static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    if name == "Local" {
        return Some(TimeZone::UTC);
    }
    // The database does not mind upper and lower case, the API does.
    ZONES.get(name).ok().filter(|zone| zone.iana_name() == Some(name))
}

#[cfg(test)]
mod tests;

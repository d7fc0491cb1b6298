//! One field of a cron schedule: the numbers that it admits.
//!
//! Invariant: what is valid is what the reference takes for valid, ranges that go round and steps included.

/// The numbers that a field admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// One bit a number.
    bits: u64,
    /// Not restricted, which is more than that every number has its bit.
    any: bool,
}

/// What a field can hold.
pub(super) struct Range {
    first: i64,
    last: i64,
    /// Where a range without an end, `n/step`, stops.
    open_end: i64,
    /// Words for numbers, from the first upward.
    names: &'static [&'static str],
}

pub(super) const MINUTES: Range = Range { first: 0, last: 59, open_end: 59, names: &[] };
pub(super) const HOURS: Range = Range { first: 0, last: 23, open_end: 23, names: &[] };
pub(super) const DAYS: Range = Range { first: 1, last: 31, open_end: 31, names: &[] };
pub(super) const MONTHS: Range = Range {
    first: 1,
    last: 12,
    open_end: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
/// Sunday is 0, and 7 as well where it is written out.
pub(super) const WEEKDAYS: Range =
    Range { first: 0, last: 7, open_end: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

impl Field {
    /// Reads a list of `*`, `?`, numbers, names and ranges, each with a step or without; `None` if it is not valid.
    pub(super) fn parse(text: &str, range: &Range) -> Option<Self> {
        let mut field = Self { bits: 0, any: false };
        for part in text.split(',').filter(|part| !part.is_empty()) {
            field.add(part, range)?;
        }
        Some(field)
    }

    fn add(&mut self, part: &str, range: &Range) -> Option<()> {
        let (numbers, step) = match part.split_once('/') {
            Some((numbers, step)) => (numbers, Some(step.parse::<u32>().ok().map(i64::from)?)),
            None => (part, None),
        };
        let mut ends = numbers.split('-');
        let (low, high, beyond) = (ends.next()?, ends.next(), ends.next());
        let any = matches!(low, "*" | "?");
        let start = if any { range.first } else { range.number(low)? };
        let end = match high {
            _ if any => range.last,
            Some(high) if beyond.is_none() => range.number(high)?,
            Some(_) => return None,
            // A single number with a step is the start of a range.
            None if step.is_some() => range.last,
            None => start,
        };
        let (open, step) = (high.is_none() && step.is_some(), step.unwrap_or(1));
        if start < range.first || end > range.last || step == 0 {
            return None;
        }
        // A range whose end comes before its start goes on past the last number, from the first again.
        let size = range.last - range.first + 1;
        let end = if start > end { end + size } else { end };
        // A start too far out leaves nothing, which is no mistake; a step as long as the range is one.
        let length = end - start + 1;
        if step > 1 && length >= 0 && step >= length {
            return None;
        }
        self.any |= any && step == 1;
        let end = if open && start <= range.open_end { range.open_end } else { end };
        let mut number = start;
        while number <= end {
            self.bits |= 1 << if number > range.last { (number - range.first) % size + range.first } else { number };
            number += step;
        }
        Some(())
    }

    /// Whether the field admits the number.
    pub(super) fn has(self, number: i8) -> bool {
        (self.bits >> number) & 1 == 1
    }

    /// Whether the field admits no number at all, which a lone comma makes it do.
    pub(super) fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Whether the field is not restricted: it has a `*` or `?` without a step.
    pub(super) fn is_any(self) -> bool {
        self.any
    }
}

impl Range {
    fn number(&self, text: &str) -> Option<i64> {
        match self.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            Some(index) => Some(self.first + i64::try_from(index).ok()?),
            None => text.parse::<u32>().ok().map(i64::from),
        }
    }
}

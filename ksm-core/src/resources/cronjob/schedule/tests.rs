//! Cron schedules: what is valid, when runs are due, and how shifts of the clock are met.
//!
//! Expected times are what github.com/robfig/cron/v3 v3.0.1, the CronJob controller's parser, answers, and for what it
//! refuses what the reference does.

use proptest::prelude::*;

use super::*;

fn is_valid(schedule: &str) -> bool {
    Schedule::parse(schedule, None).is_some()
}

fn seconds(time: &str) -> i64 {
    time.parse::<jiff::Timestamp>().unwrap().as_second()
}

/// Checks when the schedule is due after `after`, time after time.
#[track_caller]
fn check(zone: &str, schedule: &str, after: &str, expected: &[&str]) {
    let schedule = Schedule::parse(schedule, Some(zone)).unwrap();
    let mut time = seconds(after);
    for expected in expected {
        let next = schedule.next_after(time).unwrap();
        let shown = jiff::Timestamp::from_second(next).unwrap().to_zoned_datetime(find_zone(zone).unwrap());
        assert_eq!(shown.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(), *expected);
        time = next;
    }
}

#[test]
fn fields_are_numbers_names_ranges_steps_and_lists() {
    let after = "2026-01-01T00:00:00Z";
    for (schedule, expected) in [
        ("5 * * * *", "2026-01-01T00:05:00+00:00"),
        ("0,30 4,6 * * *", "2026-01-01T04:00:00+00:00"),
        ("59 23 31 DEC ?", "2026-12-31T23:59:00+00:00"),
        ("0 0 * feb-APR *", "2026-02-01T00:00:00+00:00"),
        ("0 0 * * sat", "2026-01-03T00:00:00+00:00"),
        ("0 0 * * MON-wed", "2026-01-05T00:00:00+00:00"),
        ("*/20 5-8/3 * * *", "2026-01-01T05:00:00+00:00"),
        ("7/20 * * * *", "2026-01-01T00:07:00+00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00:00+00:00"),
        (" 0\t1  * * * ", "2026-01-01T01:00:00+00:00"),
        ("0 0 1-1 * *", "2026-02-01T00:00:00+00:00"),
        (",+5,, * * * *", "2026-01-01T00:05:00+00:00"),
        ("*-3 * * * *", "2026-01-01T00:01:00+00:00"),
    ] {
        check("UTC", schedule, after, &[expected]);
    }
}

#[test]
fn words_stand_for_schedules() {
    let after = "2026-05-20T10:20:30Z";
    for (schedule, expected) in [
        ("@hourly", "2026-05-20T11:00:00+00:00"),
        ("@daily", "2026-05-21T00:00:00+00:00"),
        ("@midnight", "2026-05-21T00:00:00+00:00"),
        ("@weekly", "2026-05-24T00:00:00+00:00"),
        ("@monthly", "2026-06-01T00:00:00+00:00"),
        ("@yearly", "2027-01-01T00:00:00+00:00"),
        ("@annually", "2027-01-01T00:00:00+00:00"),
    ] {
        check("UTC", schedule, after, &[expected]);
    }
    for schedule in ["@reboot", "@Hourly", "@hourly ", " @hourly", "@hourly x", "@", "@every", "@every "] {
        assert!(!is_valid(schedule), "{schedule:?}");
    }
}

#[test]
fn fixed_intervals_count_from_the_last_run_in_whole_seconds() {
    for (interval, expected) in [
        ("1s", 1),
        ("1.9s", 1),
        ("90m", 5400),
        ("1h30m", 5400),
        ("+1h0.5m", 3630),
        (".5h", 1800),
        ("1h1m1s1ms1us1\u{b5}s1\u{3bc}s1ns", 3661),
        ("1500ms500ms", 2),
        ("2562047h", 2562047 * 3600),
    ] {
        let schedule = Schedule::parse(&format!("@every {interval}"), None).unwrap();
        assert_eq!(schedule.next_after(1000), Some(1000 + expected), "{interval}");
    }
    for interval in [
        "500ms",
        "0",
        "0s",
        "-1h",
        "1",
        "90",
        "1d",
        "1 h",
        "h",
        ".h",
        "1.s.",
        "1e3s",
        "2562048h",
        "99999999999999999999s",
    ] {
        assert!(!is_valid(&format!("@every {interval}")), "{interval}");
    }
}

#[test]
fn what_is_run_by_hand_only_has_no_next_run() {
    for schedule in ["@triggered", "@manual", "@none"] {
        assert_eq!(Schedule::parse(schedule, None).unwrap().next_after(0), None);
    }
}

#[test]
fn other_text_is_no_schedule() {
    let long = format!("{} * * * *", "1,".repeat(600));
    for schedule in [
        "",
        " ",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 0 *",
        "* * * 13 *",
        "* * * * 8",
        "-1 * * * *",
        "1- * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "*/0 * * * *",
        "*/-1 * * * *",
        "*/x * * * *",
        "/2 * * * *",
        "1.5 * * * *",
        "jan * * * *",
        "* * * * L",
        "* * L * *",
        "* * 15W * *",
        "* * * * 5#2",
        "H * * * *",
        "\u{ff13} * * * *",
        // As long a step as the range is what the reference refuses, the controller does not.
        "*/60 * * * *",
        "0-4/5 * * * *",
        "50/10 * * * *",
        "* * * * */8",
        &long,
    ] {
        assert!(!is_valid(schedule), "{schedule:?}");
    }
}

#[test]
fn the_zone_can_stand_in_the_schedule_and_only_once() {
    let next = |schedule: &str| Schedule::parse(schedule, None).unwrap().next_after(0);
    for schedule in ["TZ=Asia/Tokyo 0 12 * * *", "CRON_TZ=Asia/Tokyo 0 12 * * *", "TZ=\"Asia/Tokyo\" 0 12 * * *"] {
        assert_eq!(next(schedule), Some(3 * 3600), "{schedule}");
    }
    assert_eq!(next("TZ='Asia/Tokyo'  @daily "), Some(15 * 3600));
    for schedule in ["TZ=Asia/Tokyo", "TZ=Asia/Tokyo ", "TZ= 0 12 * * *", "TZ=\"UTC 0 12 * * *", "tz=UTC 0 12 * * *"] {
        assert!(!is_valid(schedule), "{schedule}");
    }
    for (schedule, zone) in [("TZ=UTC 0 12 * * *", "UTC"), ("TZ=UTC @daily", "UTC"), ("", "UTC"), ("@daily", "")] {
        assert!(Schedule::parse(schedule, Some(zone)).is_none(), "{schedule} in {zone}");
    }
}

#[test]
fn zones_are_known_by_their_exact_names() {
    for zone in ["UTC", "Etc/UTC", "Etc/GMT+5", "GMT", "US/Pacific", "America/Argentina/Buenos_Aires", "Local"] {
        assert!(Schedule::parse("@daily", Some(zone)).is_some(), "{zone}");
    }
    for zone in ["utc", "europe/london", "Mars/Base", "Etc/Unknown", "", " ", "../UTC", "/UTC", "UTC+1"] {
        assert!(Schedule::parse("@daily", Some(zone)).is_none(), "{zone}");
    }
}

#[test]
fn without_a_zone_it_is_utc() {
    assert_eq!(Schedule::parse("0 12 * * *", None).unwrap().next_after(0), Some(12 * 3600));
}

#[test]
fn the_next_run_is_later_than_the_last_even_within_the_minute() {
    check("UTC", "* * * * *", "2026-01-01T00:00:00Z", &["2026-01-01T00:01:00+00:00"]);
    check("UTC", "* * * * *", "2026-01-01T00:00:59Z", &["2026-01-01T00:01:00+00:00"]);
    check("UTC", "30 12 * * *", "2026-01-01T12:29:59Z", &["2026-01-01T12:30:00+00:00"]);
    check("UTC", "30 12 * * *", "2026-01-01T12:30:00Z", &["2026-01-02T12:30:00+00:00"]);
    check("UTC", "59 23 31 12 *", "2026-12-31T23:59:00Z", &["2027-12-31T23:59:00+00:00"]);
}

#[test]
fn restricted_days_of_month_and_week_are_alternatives() {
    let expected = ["2026-01-02T00:00:00+00:00", "2026-01-09T00:00:00+00:00", "2026-01-13T00:00:00+00:00"];
    check("UTC", "0 0 13 * 5", "2026-01-01T00:00:00Z", &expected);
    // A step makes a star a restriction; a step of one does not.
    check("UTC", "0 0 */10 * 5", "2026-01-02T00:00:00Z", &["2026-01-09T00:00:00+00:00", "2026-01-11T00:00:00+00:00"]);
    check("UTC", "0 0 */1 * 5", "2026-01-02T00:00:00Z", &["2026-01-09T00:00:00+00:00", "2026-01-16T00:00:00+00:00"]);
    check("UTC", "0 0 13 * ?", "2026-01-01T00:00:00Z", &["2026-01-13T00:00:00+00:00", "2026-02-13T00:00:00+00:00"]);
    // A day that never comes leaves the weekdays.
    check("UTC", "0 0 , * 5", "2026-01-01T00:00:00Z", &["2026-01-02T00:00:00+00:00"]);
}

#[test]
fn sunday_has_two_numbers_and_open_ranges_end_on_saturday() {
    check("UTC", "0 0 * * 0", "2026-01-01T00:00:00Z", &["2026-01-04T00:00:00+00:00"]);
    check("UTC", "0 0 * * 7", "2026-01-01T00:00:00Z", &["2026-01-04T00:00:00+00:00"]);
    check("UTC", "0 0 * * 6-7", "2026-01-01T00:00:00Z", &["2026-01-03T00:00:00+00:00", "2026-01-04T00:00:00+00:00"]);
    check("UTC", "0 0 * * 3/2", "2026-01-01T00:00:00Z", &["2026-01-02T00:00:00+00:00", "2026-01-07T00:00:00+00:00"]);
}

#[test]
fn ranges_that_end_before_they_start_go_round() {
    check("UTC", "0 22-1 * * *", "2026-01-01T00:00:00Z", &["2026-01-01T01:00:00+00:00", "2026-01-01T22:00:00+00:00"]);
    check(
        "UTC",
        "0 0 1 nov-feb/2 *",
        "2026-01-02T00:00:00Z",
        &["2026-11-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"],
    );
    check(
        "UTC",
        "0 0 * * sat-mon",
        "2026-01-03T00:00:00Z",
        &["2026-01-04T00:00:00+00:00", "2026-01-05T00:00:00+00:00"],
    );
}

#[test]
fn schedules_that_never_come_are_given_up() {
    for schedule in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", ", * * * *", "* , * * *", "* * , * *", "* * * , *", "* * * * ,"]
    {
        assert_eq!(Schedule::parse(schedule, None).unwrap().next_after(seconds("2026-01-01T00:00:00Z")), None);
    }
    // 2100 has no 29 February, and the next one is past the five years that are searched.
    assert_eq!(Schedule::parse("0 0 29 2 *", None).unwrap().next_after(seconds("2097-01-01T00:00:00Z")), None);
}

#[test]
fn a_time_that_the_clock_skips_is_not_made_up_for() {
    // New York goes from 02:00 to 03:00 on 8 March 2026.
    check("America/New_York", "30 2 * * *", "2026-03-07T12:00:00Z", &["2026-03-09T02:30:00-04:00"]);
    check("America/New_York", "30 3 * * *", "2026-03-07T12:00:00Z", &["2026-03-08T03:30:00-04:00"]);
    let hourly = ["2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00"];
    check("America/New_York", "0 * * * *", "2026-03-08T05:30:00Z", &hourly);
}

#[test]
fn a_time_that_the_clock_shows_twice_comes_twice() {
    // New York goes from 02:00 to 01:00 on 1 November 2026.
    let twice = ["2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-02T01:30:00-05:00"];
    check("America/New_York", "30 1 * * *", "2026-11-01T04:00:00Z", &twice);
    let berlin = ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"];
    check("Europe/Berlin", "30 2 * * *", "2026-10-24T22:00:00Z", &berlin);
}

#[test]
fn clocks_that_shift_at_midnight_or_by_half_an_hour_are_met_as_the_controller_does() {
    // From 00:00 to 01:00, east and west of Greenwich.
    check("Asia/Beirut", "0 0 * * *", "2025-03-29T12:00:00Z", &["2025-03-31T00:00:00+03:00"]);
    check("Asia/Beirut", "0 5 * * *", "2025-03-29T12:00:00Z", &["2025-03-30T05:00:00+03:00"]);
    check("Asia/Beirut", "0 5 30 3 *", "2025-03-29T12:00:00Z", &["2026-03-30T05:00:00+03:00"]);
    check("America/Santiago", "0 0 * * *", "2025-09-06T12:00:00Z", &["2025-09-08T00:00:00-03:00"]);
    check("America/Santiago", "30 1 7 9 *", "2025-09-05T12:00:00Z", &["2025-09-07T01:30:00-03:00"]);
    // From 01:00 back to 00:00.
    let twice = ["2025-11-02T00:30:00-04:00", "2025-11-02T00:30:00-05:00"];
    check("America/Havana", "30 0 * * *", "2025-11-02T03:00:00Z", &twice);
    // From 02:00 to 02:30.
    check("Australia/Lord_Howe", "15 2 * * *", "2025-10-04T14:00:00Z", &["2025-10-06T02:15:00+11:00"]);
    check("Australia/Lord_Howe", "0 5 * * *", "2025-10-04T14:30:00Z", &["2025-10-06T05:00:00+11:00"]);
}

/// A list of numbers as a field, and what it admits.
fn list(range: std::ops::RangeInclusive<i8>) -> impl Strategy<Value = (String, Vec<i8>)> {
    let all: Vec<i8> = range.clone().collect();
    let numbers = proptest::collection::vec(range, 1..4)
        .prop_map(|numbers| (numbers.iter().map(i8::to_string).collect::<Vec<_>>().join(","), numbers));
    prop_oneof![Just(("*".to_owned(), all)), numbers]
}

/// Zones whose clocks shift by whole hours and away from midnight, and such as never shift.
const PLAIN_ZONES: [&str; 6] =
    ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "Europe/Berlin", "Australia/Sydney"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_next_run_is_the_first_minute_that_matches(
        minutes in list(0..=59),
        hours in list(0..=23),
        days in list(1..=31),
        months in list(1..=12),
        weekdays in list(0..=6),
        zone in proptest::sample::select(PLAIN_ZONES.as_slice()),
        after in 1_600_000_000_i64..1_900_000_000,
    ) {
        const DAYS_SEARCHED: i64 = 70;
        let text = [&minutes.0, &hours.0, &days.0, &months.0, &weekdays.0].map(String::as_str).join(" ");
        let found = Schedule::parse(&text, Some(zone)).unwrap().next_after(after);
        let clocks = find_zone(zone).unwrap();
        let matches = |time: &i64| {
            let now = clocks.to_datetime(jiff::Timestamp::from_second(*time).unwrap());
            let day = days.1.contains(&now.day());
            let weekday = weekdays.1.contains(&now.weekday().to_sunday_zero_offset());
            let either = days.0 != "*" && weekdays.0 != "*";
            minutes.1.contains(&now.minute())
                && hours.1.contains(&now.hour())
                && months.1.contains(&now.month())
                && if either { day || weekday } else { day && weekday }
        };
        let first_minute = after - after.rem_euclid(60) + 60;
        let expected = (0..DAYS_SEARCHED * 24 * 60).map(|minute| first_minute + minute * 60).find(matches);
        match expected {
            Some(_) => prop_assert_eq!(found, expected, "{} in {}", text, zone),
            None => prop_assert!(found.is_none_or(|found| found >= first_minute + DAYS_SEARCHED * 86_400)),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-@*?,/0-9 a-zA-Z]{0,24}", time in any::<i64>()) {
        if let Some(schedule) = Schedule::parse(&text, None) {
            schedule.next_after(time);
        }
    }

    #[test]
    fn any_zone_at_any_time_comes_to_an_end(
        zone in proptest::sample::select(TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect::<Vec<_>>()),
        hour in 0..24,
        weekday in 0..7,
        time in -62_135_596_800_i64..253_402_300_800,
    ) {
        let schedule = Schedule::parse(&format!("0 {hour} * * {weekday}"), Some(&zone)).unwrap();
        prop_assert!(schedule.next_after(time).is_none_or(|next| next > time));
    }
}

#[test]
fn a_day_that_a_zone_leaves_out_ends_the_search() {
    // Samoa went from 29 to 31 December 2011; stepping by days never gets past it.
    let schedule = Schedule::parse("0 0 31 * *", Some("Pacific/Apia")).unwrap();
    assert_eq!(schedule.next_after(seconds("2011-12-29T12:00:00Z")), None);
}

//! Just enough of cron schedules to tell which difference on purpose one is about.
//!
//! Invariant: nothing here computes a run; that is what is under test.

use serde_json::Value;

/// The five fields of a cron job's schedule, without a zone in front.
fn fields(cron_job: &Value) -> Option<[&str; 5]> {
    let text = cron_job["spec"]["schedule"].as_str()?;
    let is_zone = |word: &&str| word.starts_with("TZ=") || word.starts_with("CRON_TZ=");
    let words: Vec<&str> = text.split_whitespace().skip_while(is_zone).collect();
    words.try_into().ok()
}

/// Whether the field leaves out nothing.
fn is_any(field: &str) -> bool {
    field.split(',').any(|part| matches!(part, "*" | "?" | "*/1"))
}

/// Whether neither day of the month nor day of the week is free.
pub fn restricts_both_days(cron_job: &Value) -> bool {
    fields(cron_job).is_some_and(|[_, _, day, _, weekday]| !is_any(day) && !is_any(weekday))
}

/// Whether the days of the week are `n/step`, counted from one day on.
pub fn steps_through_week(cron_job: &Value) -> bool {
    let weekdays = fields(cron_job).map(|[.., weekdays]| weekdays).unwrap_or_default();
    weekdays.split(',').any(|part| part.contains('/') && !part.contains('-') && !part.starts_with(['*', '?']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cron_job(schedule: &str) -> Value {
        json!({"spec": {"schedule": schedule, "timeZone": "UTC"}})
    }

    #[test]
    fn days_are_restricted_by_anything_but_a_star() {
        for (schedule, restricts) in [
            ("0 0 13 * 5", true),
            ("TZ=UTC 0 0 */2 * MON", true),
            ("0 0 * * 5", false),
            ("0 0 1 * ?", false),
            ("0 0 1,* * 5", false),
            ("@daily", false),
            ("0 0 13 *", false),
        ] {
            assert_eq!(restricts_both_days(&cron_job(schedule)), restricts, "{schedule}");
        }
    }

    #[test]
    fn steps_from_a_day_on_are_found() {
        assert!(steps_through_week(&cron_job("0 0 * * 1/2")) && steps_through_week(&cron_job("0 0 * * MON/2")));
        assert!(!steps_through_week(&cron_job("0 0 * * */2")) && !steps_through_week(&cron_job("0 0 * * 1-5/2")));
    }
}

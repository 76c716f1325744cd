//! Tests cron expressions against a day-by-day search through the calendar.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use proptest::{collection::vec, prelude::*};

use ars_schedules::{Cron, CronError, Field};

/// How many days the search looks ahead.
const HORIZON_DAYS: i64 = 5 * 366;

fn millis(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

fn next(cron: &str, after: &str) -> Option<String> {
    let next = Cron::parse(cron).unwrap().next_after(millis(after));
    next.map(|next| Timestamp::from_millisecond(next).unwrap().to_string())
}

#[test]
fn next_firing_is_strictly_after_now() {
    for (cron, after, expected) in [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
        (
            "* * * * *",
            "2026-01-01T00:00:59.999Z",
            "2026-01-01T00:01:00Z",
        ),
        (
            "* * * * *",
            "2025-12-31T23:59:59.999Z",
            "2026-01-01T00:00:00Z",
        ),
        (
            "0 0 1 1 *",
            "2025-12-31T23:59:59.999Z",
            "2026-01-01T00:00:00Z",
        ),
        ("0 0 1 1 *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("0 14 * * 1", "2026-11-21T09:00:00Z", "2026-11-23T14:00:00Z"),
        (
            "*/10 * * * *",
            "2026-11-21T09:51:00Z",
            "2026-11-21T10:00:00Z",
        ),
        (
            "5-20/5,58 3 * * *",
            "2026-11-21T03:20:00Z",
            "2026-11-21T03:58:00Z",
        ),
        (
            "30 23 31 * *",
            "2026-04-01T00:00:00Z",
            "2026-05-31T23:30:00Z",
        ),
        ("0 0 29 2 *", "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"),
        (
            "* * * * *",
            "1969-12-31T23:59:59.999Z",
            "1970-01-01T00:00:00Z",
        ),
        (
            "59 23 31 12 *",
            "1950-01-01T00:00:00Z",
            "1950-12-31T23:59:00Z",
        ),
    ] {
        assert_eq!(
            next(cron, after).as_deref(),
            Some(expected),
            "{cron} after {after}"
        );
    }
}

#[test]
fn either_restricted_day_field_matches() {
    // 2026-11-21 is a Saturday.
    let after = "2026-11-21T12:00:00Z";
    for (cron, day) in [
        ("0 0 25 * *", "2026-11-25"),
        ("0 0 * * 2", "2026-11-24"),
        ("0 0 25 * 2", "2026-11-24"),
        ("0 0 23 * 2", "2026-11-23"),
        ("0 0 25 12 2", "2026-12-01"),
        ("0 0 */31 * 2", "2026-11-24"),
        ("0 0 1-31 * 2", "2026-11-22"),
        ("0 0 25 * */7", "2026-11-22"),
    ] {
        assert_eq!(
            next(cron, after),
            Some(format!("{day}T00:00:00Z")),
            "{cron}"
        );
    }
}

#[test]
fn seven_is_sunday() {
    for (cron, day) in [
        ("0 0 * * 0", "2026-11-22"),
        ("0 0 * * 7", "2026-11-22"),
        ("0 0 * * 5-7", "2026-11-22"),
        ("0 0 * * 3-7/2", "2026-11-22"),
        ("0 0 * * 1-7/3", "2026-11-22"),
        ("0 0 * * 2-7/3", "2026-11-24"),
    ] {
        assert_eq!(
            next(cron, "2026-11-21T00:00:00Z"),
            Some(format!("{day}T00:00:00Z")),
            "{cron}"
        );
    }
}

#[test]
fn no_firing_beyond_five_years() {
    for cron in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * 31 2 *"] {
        assert_eq!(next(cron, "2026-01-01T00:00:00Z"), None, "{cron}");
    }
    assert_eq!(next("0 0 29 2 *", "2097-01-01T00:00:00Z"), None);
    assert_eq!(
        next("0 0 29 2 *", "2100-01-01T00:00:00Z"),
        Some("2104-02-29T00:00:00Z".to_owned())
    );
}

#[test]
fn times_outside_the_calendar_have_no_next_firing() {
    let cron = Cron::parse("* * * * *").unwrap();
    assert_eq!(cron.next_after(i64::MAX), None);
    assert_eq!(cron.next_after(i64::MIN), None);
}

#[test]
fn invalid_expression_names_its_field() {
    for (cron, error) in [
        ("", CronError::Fields),
        ("* * * *", CronError::Fields),
        ("* * * * * *", CronError::Fields),
        ("@daily", CronError::Fields),
        ("60 * * * *", CronError::OutOfRange(Field::Minute)),
        ("* 24 * * *", CronError::OutOfRange(Field::Hour)),
        ("* * 0 * *", CronError::OutOfRange(Field::DayOfMonth)),
        ("* * 1-32 * *", CronError::OutOfRange(Field::DayOfMonth)),
        ("* * * 13 *", CronError::OutOfRange(Field::Month)),
        ("* * * 0-3 *", CronError::OutOfRange(Field::Month)),
        ("* * * * 8", CronError::OutOfRange(Field::DayOfWeek)),
        (
            "99999999999999999999 * * * *",
            CronError::OutOfRange(Field::Minute),
        ),
        ("5-4 * * * *", CronError::Backwards(Field::Minute)),
        ("* * * * 6-0", CronError::Backwards(Field::DayOfWeek)),
        ("5/10 * * * *", CronError::LoneStep(Field::Minute)),
        ("1,2,5/1 * * * *", CronError::LoneStep(Field::Minute)),
        ("*/0 * * * *", CronError::Step(Field::Minute)),
        ("* 1-5/ * * *", CronError::Step(Field::Hour)),
        ("*/-1 * * * *", CronError::Step(Field::Minute)),
        ("*/2/3 * * * *", CronError::Step(Field::Minute)),
        ("* * L * *", CronError::Malformed(Field::DayOfMonth)),
        ("* * ? * *", CronError::Malformed(Field::DayOfMonth)),
        ("* * 15W * *", CronError::Malformed(Field::DayOfMonth)),
        ("* * * JAN *", CronError::Malformed(Field::Month)),
        ("* * * * MON", CronError::Malformed(Field::DayOfWeek)),
        ("* * * * 5#2", CronError::Malformed(Field::DayOfWeek)),
        ("1,,2 * * * *", CronError::Malformed(Field::Minute)),
        (", * * * *", CronError::Malformed(Field::Minute)),
        ("/5 * * * *", CronError::Malformed(Field::Minute)),
        ("+5 * * * *", CronError::Malformed(Field::Minute)),
        ("-5 * * * *", CronError::Malformed(Field::Minute)),
        ("1-2-3 * * * *", CronError::Malformed(Field::Minute)),
        ("*-5 * * * *", CronError::Malformed(Field::Minute)),
        ("** * * * *", CronError::Malformed(Field::Minute)),
        ("1.5 * * * *", CronError::Malformed(Field::Minute)),
        ("٣ * * * *", CronError::Malformed(Field::Minute)),
    ] {
        assert_eq!(Cron::parse(cron), Err(error), "{cron}");
    }
}

#[test]
fn error_text_names_the_allowed_values() {
    let message = |cron| Cron::parse(cron).unwrap_err().to_string();
    assert_eq!(message("* 24 * * *"), "hour must be from 0 to 23");
    assert_eq!(
        message("* * secret * *"),
        "day of month must be a list of numbers, ranges and `*`"
    );
    assert_eq!(
        message("* * * * 1/2"),
        "day of week must have steps behind `*` or a range only"
    );
}

#[test]
fn equivalent_spellings_are_equal() {
    let canonical = Cron::parse("5 0 1 1 0").unwrap();
    for spelled in [
        " 05\t00  1 01 7 ",
        "5,5 0-0 1-1/9 1 0,7",
        "5-59/55 */99 1 1 0",
    ] {
        assert_eq!(Cron::parse(spelled).as_ref(), Ok(&canonical), "{spelled}");
    }
}

/// An entry in a field's list.
#[derive(Debug, Clone)]
struct Part {
    /// The range; `None` means `*`.
    range: Option<(i64, i64)>,
    step: Option<i64>,
}

/// A generated field: the text and the numbers it contains.
#[derive(Debug, Clone)]
struct GeneratedField(Vec<Part>);

impl GeneratedField {
    fn text(&self) -> String {
        let part = |part: &Part| {
            let range = match part.range {
                None => "*".to_owned(),
                Some((first, last)) if first == last && part.step.is_none() => first.to_string(),
                Some((first, last)) => format!("{first}-{last}"),
            };
            part.step
                .map_or(range.clone(), |step| format!("{range}/{step}"))
        };
        self.0.iter().map(part).collect::<Vec<_>>().join(",")
    }

    /// Returns whether the number, or another name for it, is in a part's range and on its step.
    fn holds(&self, first_of_all: i64, names: &[i64]) -> bool {
        self.0.iter().any(|part| {
            let (first, last) = part.range.unwrap_or((first_of_all, i64::MAX));
            let on = |name: &i64| {
                (first..=last).contains(name) && (name - first) % part.step.unwrap_or(1) == 0
            };
            names.iter().any(on)
        })
    }

    fn is_star(&self) -> bool {
        self.text() == "*"
    }
}

fn generated_field(allowed: RangeInclusive<i64>) -> impl Strategy<Value = GeneratedField> {
    let (first, last) = (*allowed.start(), *allowed.end());
    let range = (first..=last).prop_flat_map(move |from| (Just(from), from..=last));
    let number = (first..=last).prop_map(|number| (number, number));
    let step = prop_oneof![2 => Just(None), 1 => (1..=last + 1).prop_map(Some)];
    let part = (
        prop_oneof![1 => Just(None), 3 => number.prop_map(Some), 2 => range.prop_map(Some)],
        step,
    );
    let part = part.prop_map(|(range, step)| Part { range, step });
    let star = Just(GeneratedField(vec![Part {
        range: None,
        step: None,
    }]));
    prop_oneof![2 => star, 3 => vec(part, 1..4).prop_map(GeneratedField)]
}

fn expression() -> impl Strategy<Value = [GeneratedField; 5]> {
    (
        generated_field(0..=59),
        generated_field(0..=23),
        generated_field(1..=31),
        generated_field(1..=12),
        generated_field(0..=7),
    )
        .prop_map(<[GeneratedField; 5]>::from)
}

fn text(fields: &[GeneratedField; 5]) -> String {
    fields
        .iter()
        .map(GeneratedField::text)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Generates times from 1890 to 2210, with and without a fraction of a minute.
fn times() -> impl Strategy<Value = i64> {
    let minutes = -42_000_000..126_000_000_i64;
    (minutes, prop_oneof![Just(0), Just(59_999), 0..60_000_i64])
        .prop_map(|(minute, ms)| minute * 60_000 + ms)
}

/// Searches day by day and minute by minute.
fn searched([minute, hour, day, month, weekday]: &[GeneratedField; 5], now: i64) -> Option<i64> {
    let now = Timestamp::from_millisecond(now).unwrap();
    let today = now.to_zoned(TimeZone::UTC).date();
    let allows = |date: Date| {
        let sunday = i64::from(date.weekday().to_sunday_zero_offset());
        let sundays: &[i64] = if sunday == 0 { &[0, 7] } else { &[sunday] };
        let on_day = day.holds(1, &[i64::from(date.day())]);
        let on_weekday = weekday.holds(0, sundays);
        let restricted = !day.is_star() && !weekday.is_star();
        month.holds(1, &[i64::from(date.month())])
            && if restricted {
                on_day || on_weekday
            } else {
                on_day && on_weekday
            }
    };
    (0..=HORIZON_DAYS)
        .map(|days| today + days.days())
        .filter(|date| allows(*date))
        .find_map(|date| {
            let midnight = date.to_zoned(TimeZone::UTC).unwrap().timestamp();
            let minutes =
                (0..24 * 60).filter(|at| hour.holds(0, &[at / 60]) && minute.holds(0, &[at % 60]));
            let mut times = minutes.map(|at| midnight + SignedDuration::from_mins(at));
            times
                .find(|time| *time > now)
                .map(|time| time.as_millisecond())
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn next_firing_matches_calendar_search(fields in expression(), now in times()) {
        let cron = Cron::parse(&text(&fields)).unwrap();
        prop_assert_eq!(cron.next_after(now), searched(&fields, now), "{}", text(&fields));
    }

    #[test]
    fn arbitrary_text_never_panics(text in r"[-*/,0-9 ]{0,24}|\PC{0,24}", now in any::<i64>()) {
        if let Ok(cron) = Cron::parse(&text) && let Some(next) = cron.next_after(now) {
            prop_assert!(next > now && next % 60_000 == 0);
        }
    }
}

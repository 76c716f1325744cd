//! A whole expression, evaluated by `croner`.

use ars_types::UnixMillis;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::field::Field;
use crate::CronError;

/// How far the next firing is searched for: five years, assuming each is a leap year.
const HORIZON: SignedDuration = SignedDuration::from_hours(5 * 366 * 24);

/// A cron expression, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron(croner::Cron);

impl Cron {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// Names the first invalid field, never the text.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let fields: Vec<_> = text.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(CronError::Fields);
        };
        let canonical = [
            Field::Minute.canonical(minute)?,
            Field::Hour.canonical(hour)?,
            Field::DayOfMonth.canonical(day)?,
            Field::Month.canonical(month)?,
            Field::DayOfWeek.canonical(weekday)?,
        ];
        canonical
            .join(" ")
            .parse()
            .map(Self)
            .map_err(|_| CronError::Fields)
    }

    /// Returns the first minute strictly after `now` that the expression allows.
    ///
    /// `None` when there is none within five years, or when `now` is outside the calendar (years 1 to 4999).
    pub fn next_after(&self, now: UnixMillis) -> Option<UnixMillis> {
        let start = Timestamp::from_millisecond(now)
            .ok()?
            .to_zoned(TimeZone::UTC)
            .datetime();
        let next = self.0.find_next_occurrence(&start, false).ok()?;
        let last_day = start.date().checked_add(HORIZON).ok()?;
        let next = (next.date() <= last_day).then(|| TimeZone::UTC.to_timestamp(next))?;
        next.ok().map(Timestamp::as_millisecond)
    }
}

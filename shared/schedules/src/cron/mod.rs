//! When a schedule fires next: five numeric fields, in UTC (state-worker supplement section 4).
//!
//! Not here: time zones, seconds, names of months and days, and `@daily` and its like; all are refused.

mod calendar;
mod field;

use ars_types::UnixMillis;

pub use field::{CronError, Field};

use calendar::Date;

const MINUTE_MS: i64 = 60_000;
const DAY_MINUTES: i64 = 24 * 60;
/// How far the next firing is searched for (section 4): five years, were they all leap years.
const HORIZON_DAYS: i64 = 5 * 366;

/// A cron expression. Each set has the bit of every number it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both day fields say something other than `*`: then either may match.
    either_day: bool,
}

impl Cron {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let fields: Vec<_> = text.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else { return Err(CronError::Fields) };
        Ok(Self {
            minutes: Field::Minute.read(minute)?,
            hours: Field::Hour.read(hour)?,
            days: Field::DayOfMonth.read(day)?,
            months: Field::Month.read(month)?,
            weekdays: Field::DayOfWeek.read(weekday)?,
            either_day: day != "*" && weekday != "*",
        })
    }

    /// The first minute strictly after `now` that the expression allows; `None` when there is none for five years.
    pub fn next_after(&self, now: UnixMillis) -> Option<UnixMillis> {
        let first = now.div_euclid(MINUTE_MS) + 1;
        let today = first.div_euclid(DAY_MINUTES);
        let mut from = first.rem_euclid(DAY_MINUTES);
        for day in today..=today + HORIZON_DAYS {
            if self.allows_day(Date::of(day))
                && let Some(minute) = self.first_minute(from)
            {
                return (day * DAY_MINUTES + minute).checked_mul(MINUTE_MS);
            }
            from = 0;
        }
        None
    }

    fn allows_day(&self, date: Date) -> bool {
        let (day, weekday) = (holds(self.days, date.day), holds(self.weekdays, date.weekday));
        holds(self.months, date.month) && if self.either_day { day || weekday } else { day && weekday }
    }

    /// The first allowed minute of a day, from `from` on.
    fn first_minute(&self, from: i64) -> Option<i64> {
        (from / 60..24).filter(|hour| holds(self.hours, *hour)).find_map(|hour| {
            let floor = (from - hour * 60).max(0);
            let left = self.minutes >> floor;
            (left != 0).then(|| hour * 60 + floor + i64::from(left.trailing_zeros()))
        })
    }
}

const fn holds(set: u64, number: i64) -> bool {
    set >> number & 1 == 1
}

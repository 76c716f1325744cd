//! The Gregorian calendar by integers, proleptic both ways. Not here: months' lengths and leap years as such; they
//! follow from the arithmetic.

/// A day as a cron expression sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    /// 1 to 12.
    pub(super) month: i64,
    /// 1 to 31.
    pub(super) day: i64,
    /// 0, a Sunday, to 6.
    pub(super) weekday: i64,
}

/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// From the 1st of March of year 0, where an era begins, to the epoch.
const EPOCH: i64 = 719_468;
/// The epoch was a Thursday.
const EPOCH_WEEKDAY: i64 = 4;

impl Date {
    /// The day that many days after the epoch.
    ///
    /// Years are counted from March, so that a leap day is the last of its year and months from March on follow the
    /// pattern 31, 30, 31, 30, 31 that (5m + 2) / 153 inverts.
    pub(super) fn of(days: i64) -> Self {
        let day_of_era = (days + EPOCH).rem_euclid(ERA_DAYS);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / (ERA_DAYS - 1)) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        Self {
            month: (from_march + 2) % 12 + 1,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            weekday: (days + EPOCH_WEEKDAY).rem_euclid(7),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::{ToSpan as _, civil};

    use super::*;

    #[test]
    fn every_day_of_eight_centuries_is_the_calendars() {
        let epoch = civil::date(1970, 1, 1);
        for days in -ERA_DAYS..=ERA_DAYS {
            let date = epoch + days.days();
            let expected = Date {
                month: i64::from(date.month()),
                day: i64::from(date.day()),
                weekday: i64::from(date.weekday().to_sunday_zero_offset()),
            };
            assert_eq!(Date::of(days), expected, "{date}");
        }
    }

    #[test]
    fn the_ends_of_time_have_dates() {
        for days in [i64::MIN / 86_400_000, i64::MAX / 86_400_000] {
            let date = Date::of(days);
            assert!((1..=12).contains(&date.month) && (1..=31).contains(&date.day), "{date:?}");
        }
    }
}

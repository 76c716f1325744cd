//! A single cron field: a list with numbers, ranges and `*`, the latter two with steps.

use std::{fmt, ops::RangeInclusive};

use crate::CronError;

/// A field in a cron expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Minute from 0 to 59.
    Minute,
    /// Hour from 0 to 23.
    Hour,
    /// Day from 1 to 31.
    DayOfMonth,
    /// Month from 1 to 12.
    Month,
    /// 0 to 7; both are Sunday.
    DayOfWeek,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        })
    }
}

impl Field {
    pub(crate) const fn allowed(self) -> RangeInclusive<u32> {
        match self {
            Self::Minute => 0..=59,
            Self::Hour => 0..=23,
            Self::DayOfMonth => 1..=31,
            Self::Month => 1..=12,
            Self::DayOfWeek => 0..=7,
        }
    }

    /// Returns the field as `*` or as a number list, a form that `croner` reads the same way.
    pub(super) fn canonical(self, text: &str) -> Result<String, CronError> {
        let set = text
            .split(',')
            .try_fold(0, |set, part| Ok(set | self.part(part)?))?;
        // Only a lone `*` leaves a day field unrestricted.
        if text == "*" {
            return Ok(text.to_owned());
        }
        let numbers = self
            .allowed()
            .filter(|number| set >> number & 1 == 1)
            .map(|number| number.to_string());
        Ok(numbers.collect::<Vec<_>>().join(","))
    }

    /// Returns the numbers in a list entry, one bit each.
    fn part(self, text: &str) -> Result<u64, CronError> {
        let (span, step) = match text.split_once('/') {
            Some((span, step)) => (span, Some(step)),
            None => (text, None),
        };
        let range = match span.split_once('-') {
            Some((first, last)) => self.number(first)?..=self.number(last)?,
            None if span == "*" => self.allowed(),
            None => {
                let number = self.number(span)?;
                if step.is_some() {
                    return Err(CronError::LoneStep(self));
                }
                number..=number
            }
        };
        if range.is_empty() {
            return Err(CronError::Backwards(self));
        }
        let step = match step.map(digits) {
            None => 1,
            Some(Some(step)) if step >= 1 => step,
            Some(_) => return Err(CronError::Step(self)),
        };
        Ok(range
            .step_by(step as usize)
            .fold(0, |set, number| set | 1 << number))
    }

    fn number(self, text: &str) -> Result<u32, CronError> {
        let number = digits(text).ok_or(CronError::Malformed(self))?;
        if self.allowed().contains(&number) {
            Ok(number)
        } else {
            Err(CronError::OutOfRange(self))
        }
    }
}

/// Parses ASCII digits; an overflow becomes `u32::MAX`, outside every field and beyond every range.
fn digits(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().unwrap_or(u32::MAX))
}

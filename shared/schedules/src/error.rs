//! The error for an invalid cron expression.

use crate::Field;

/// An invalid cron expression. Names the field, never the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Too few fields, or too many.
    #[error("cron must be five fields: minute, hour, day of month, month, day of week")]
    Fields,
    /// An entry that is neither a number, nor a range, nor `*`, nor a step over these.
    #[error("{0} must be a list of numbers, ranges and `*`")]
    Malformed(Field),
    /// A number outside the field's range.
    #[error("{0} must be from {first} to {last}", first = .0.allowed().start(), last = .0.allowed().end())]
    OutOfRange(Field),
    /// A range that ends before it starts.
    #[error("{0} must have ranges that run upwards")]
    Backwards(Field),
    /// A step after a single number.
    #[error("{0} must have steps behind `*` or a range only")]
    LoneStep(Field),
    /// A step that is zero or not a number.
    #[error("{0} must have steps of at least 1")]
    Step(Field),
}

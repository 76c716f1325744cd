//! When a schedule fires next: five numeric fields, in UTC.
//!
//! `croner` evaluates the expression. This module accepts a smaller language than `croner` does:
//! time zones, seconds, month and day names, `L`, `W`, `#` and `@daily` are rejected.

mod expression;
mod field;

pub use expression::Cron;
pub use field::Field;

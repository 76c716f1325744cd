//! Schedules: when one fires next, what came of a firing, and the store of firings.
//!
//! The rules are pure: whoever fires asks [`Cron`] for the time and [`firing`] for what to record, and asks a clock
//! itself. Implements state-worker supplement section 4. Not here: which schedules there are, and sending requests.
#![forbid(unsafe_code)]

pub mod firing;

mod cron;
mod store;

pub use cron::{Cron, CronError, Field};
pub use store::{MAX_FIRINGS, MIGRATIONS, ScheduleStore};

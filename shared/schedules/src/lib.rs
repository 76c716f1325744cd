//! Schedules: when they fire next, how a firing ended, and the firing store.
//!
//! The rules are pure: a caller passes the time to [`Cron`] and the run's end to [`firing`]. Not
//! here: configuring schedules, and the requests that a firing sends.
#![forbid(unsafe_code)]

pub mod firing;

mod cron;
mod due;
mod error;
mod registry;
mod store;

pub use cron::{Cron, Field};
pub use due::{MAX_FIRING_DELAY_MS, due};
pub use error::CronError;
pub use registry::{Action, BOT, SCHEDULES, SELF_IMPROVEMENT, Schedule};
pub use store::{MAX_FIRINGS, MIGRATIONS, ScheduleStore};

//! The firing store over the storage port.
//!
//! - **Key:** none, there is a single store for all schedules.
//! - **Tables:** those in `migrations/schedules`.
//! - **Invariants:** a firing is never changed; a schedule never has more than [`MAX_FIRINGS`], the
//!   newest by (time, write order); a firing is returned verbatim.
//!
//! Not here: the configured schedules. A renamed schedule keeps its firings under its old name.

mod entry;
mod firings;
mod latest;
mod record;

pub use firings::{MAX_FIRINGS, MIGRATIONS, ScheduleStore};

//! The store of firings over the storage port.
//!
//! - **Key:** none, there is one store for all schedules.
//! - **Tables:** those of `migrations/schedules`.
//! - **Invariants:** a firing is never changed; a schedule never has more than [`MAX_FIRINGS`], the newest by (time,
//!   order of writing); a firing is returned verbatim.
//!
//! Not here: the configured schedules. A renamed one keeps its firings under its old name.

mod entry;
mod firings;
mod latest;
mod record;

pub use firings::{MAX_FIRINGS, MIGRATIONS, ScheduleStore};

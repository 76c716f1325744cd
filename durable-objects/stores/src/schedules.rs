//! The Durable Object that keeps what became of every schedule's newest firings (state-worker supplement section 4).
//!
//! - **Key:** none; there is one object.
//! - **Tables:** those of `migrations/schedules`.
//! - **Invariants:** firings are appended, never replaced; the newest 100 of each schedule are kept; of equal times
//!   the one written later is newer.
//! - **Routes:** the paths of `ScheduleVerb`: `/schedules/record`, `/schedules/latest`.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`); a record and the trim it causes are one
//!   transaction.
//!
//! Not here: cron, SQL and validation (`ars-schedules`), JavaScript (`ars-platform`), the exported class.

use ars_platform::{DoSql, StoreObject};
use ars_schedules::ScheduleStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "SCHEDULES";

/// The schedules as a Durable Object.
pub type SchedulesObject = StoreObject<ScheduleStore<DoSql>>;

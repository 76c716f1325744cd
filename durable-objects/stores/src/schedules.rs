//! The Durable Object of the newest firings of every schedule, with their outcomes.
//!
//! - **Key:** none. There is one object.
//! - **Tables:** those of `migrations/schedules`.
//! - **Invariants:** firings are appended, never replaced. The newest 100 per schedule are kept. Of equal times the one
//!   written later is newer.
//! - **Routes:** the paths of `ScheduleVerb`: `/schedules/record`, `/schedules/latest`.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`). A record and its trim are one transaction.
//!
//! Not here: cron, SQL and validation (`ars-schedules`), JavaScript (`ars-platform`), the exported class.

use ars_platform::{DoSql, StoreObject};
use ars_schedules::ScheduleStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "SCHEDULES";

/// The schedules as a Durable Object.
pub type SchedulesObject = StoreObject<ScheduleStore<DoSql>>;

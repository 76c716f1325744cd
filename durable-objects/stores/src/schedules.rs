//! The Durable Object for every schedule's newest firings, with their outcomes.
//!
//! - **Key:** none. There is a single object.
//! - **Tables:** those in `migrations/schedules`.
//! - **Invariants:** firings are appended, never replaced. The newest 100 per schedule are kept. At
//!   equal times the firing written later is newer.
//! - **Routes:** the paths in `ScheduleVerb`: `/schedules/record`, `/schedules/latest`.
//! - **Atomicity:** every answer is a single synchronous span (`StoreObject`). A record and its
//!   trim share a transaction.
//!
//! Not here: cron, SQL and validation (`ars-schedules`), JavaScript (`ars-platform`), the exported
//! class.

use ars_platform::{DoSql, StoreObject};
use ars_schedules::ScheduleStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "SCHEDULES";

/// The schedules as a Durable Object.
pub type SchedulesObject = StoreObject<ScheduleStore<DoSql>>;

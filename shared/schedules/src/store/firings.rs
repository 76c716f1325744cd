//! The store and its routes.

use ars_sql::{Migration, MigrationError, Sql, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::ScheduleVerb;

/// The store's history, `migrations/schedules/`.
pub const MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_firings",
    sql: include_str!("../../../../migrations/schedules/0001_firings.sql"),
}];

/// Maximum number of firings per schedule.
pub const MAX_FIRINGS: i64 = 100;

/// All schedules' firings in a single SQLite database.
pub struct ScheduleStore<S> {
    pub(super) sql: S,
}

impl<S: Sql> Store<S> for ScheduleStore<S> {
    type Verb = ScheduleVerb;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        Ok(Self { sql })
    }

    fn answer(
        &self,
        verb: ScheduleVerb,
        body: &str,
        _now: UnixMillis,
    ) -> Result<S::Text, StoreFailure> {
        match verb {
            ScheduleVerb::Record => self.record(body).map(S::Text::from),
            ScheduleVerb::Latest => self.latest(body),
        }
    }
}

impl<S> ScheduleStore<S> {
    /// Returns the store's database.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

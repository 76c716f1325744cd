//! The store: migrations and verbs.

use ars_sql::{Migration, MigrationError, Sql, SqlError, Value, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::MemoryVerb;

/// The store's migrations, `migrations/memory-scope/`.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        name: "0001_records",
        sql: include_str!("../../../../migrations/memory-scope/0001_records.sql"),
    },
    Migration {
        name: "0002_purge",
        sql: include_str!("../../../../migrations/memory-scope/0002_purge.sql"),
    },
];

/// How long an inactive record's text is kept before it is deleted: 30 days.
pub const RETIRED_MAX_AGE_MS: i64 = 30 * 86_400_000;
/// Interval between sweeps: a day, because each sweep wakes the object.
const SWEEP_EVERY_MS: i64 = 86_400_000;
/// Maximum number of texts that a sweep deletes.
const MAX_SWEPT: i64 = 1_000;

/// The row stays, because the number must not be given again.
const PURGE: &str = "UPDATE memory_records SET record = '{}' WHERE n IN \
    (SELECT n FROM memory_records WHERE status <> 'active' AND record <> '{}' \
    AND coalesce(retired_at, created_at) <= ?1 LIMIT ?2) RETURNING n";

const HAS_RETIRED: &str =
    "SELECT n FROM memory_records WHERE status <> 'active' AND record <> '{}' LIMIT 1";

/// A single scope's records in a SQLite database.
pub struct MemoryStore<S> {
    pub(super) sql: S,
}

impl<S: Sql> Store<S> for MemoryStore<S> {
    type Verb = MemoryVerb;

    const SWEEP_EVERY_MS: Option<i64> = Some(SWEEP_EVERY_MS);
    const SWEEP_AT_MOST: i64 = MAX_SWEPT;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        Ok(Self { sql })
    }

    fn answer(
        &self,
        verb: MemoryVerb,
        body: &str,
        now: UnixMillis,
    ) -> Result<S::Text, StoreFailure> {
        match verb {
            MemoryVerb::Retrieve => self.retrieve(body, now),
            MemoryVerb::Write => self.write(body, now).map(S::Text::from),
            MemoryVerb::List => self.list(body),
            MemoryVerb::Forget => self.forget(body, now).map(S::Text::from),
        }
    }

    fn arms_sweep(&self, verb: MemoryVerb) -> bool {
        match verb {
            MemoryVerb::Write | MemoryVerb::Forget => true,
            // A scope from an earlier release may have retired text, and never be written to again.
            MemoryVerb::Retrieve | MemoryVerb::List => self
                .sql
                .query(HAS_RETIRED, &[])
                .is_ok_and(|rows| !rows.is_empty()),
        }
    }

    fn sweep(&self, now: UnixMillis) -> Result<i64, SqlError> {
        let before = now.saturating_sub(RETIRED_MAX_AGE_MS);
        let purged = self
            .sql
            .query(PURGE, &[Value::from(before), Value::from(MAX_SWEPT)])?;
        Ok(i64::try_from(purged.len()).unwrap_or(i64::MAX))
    }
}

impl<S> MemoryStore<S> {
    /// Returns the database, which other tables share.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

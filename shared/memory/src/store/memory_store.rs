//! The store: its migrations and its verbs.

use ars_sql::{Migration, MigrationError, Sql, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::MemoryVerb;

/// Migrations of the store, `migrations/memory-scope/`.
pub const MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_records",
    sql: include_str!("../../../../migrations/memory-scope/0001_records.sql"),
}];

/// Records of one scope on one SQLite database.
pub struct MemoryStore<S> {
    pub(super) sql: S,
}

impl<S: Sql> Store<S> for MemoryStore<S> {
    type Verb = MemoryVerb;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        Ok(Self { sql })
    }

    fn answer(&self, verb: MemoryVerb, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        match verb {
            MemoryVerb::Retrieve => self.retrieve(body, now),
            MemoryVerb::Write => self.write(body, now).map(S::Text::from),
            MemoryVerb::List => self.list(body),
            MemoryVerb::Forget => self.forget(body).map(S::Text::from),
        }
    }
}

impl<S> MemoryStore<S> {
    /// Returns the database, which other tables share.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

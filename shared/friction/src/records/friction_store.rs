//! The store: migrations and verbs.

use ars_sql::{Migration, MigrationError, Sql, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::FrictionVerb;

/// The store's migrations, `migrations/friction-ledger/`.
pub const MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_records",
    sql: include_str!("../../../../migrations/friction-ledger/0001_records.sql"),
}];

/// Maximum number of records in a ledger.
pub const MAX_RECORDS: i64 = 500;

/// Friction ledgers in a single SQLite database.
pub struct FrictionStore<S> {
    pub(super) sql: S,
}

impl<S: Sql> Store<S> for FrictionStore<S> {
    type Verb = FrictionVerb;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        Ok(Self { sql })
    }

    fn answer(
        &self,
        verb: FrictionVerb,
        body: &str,
        _now: UnixMillis,
    ) -> Result<S::Text, StoreFailure> {
        match verb {
            FrictionVerb::Record => self.record(body).map(S::Text::from),
            FrictionVerb::Recent => self.recent(body),
        }
    }
}

impl<S> FrictionStore<S> {
    /// Returns the database, which other tables share.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

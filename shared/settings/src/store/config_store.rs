//! The store: migrations and verbs.

use ars_sql::{Migration, MigrationError, Sql, SqlError, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::ConfigVerb;

/// The store's migrations, `migrations/config/`.
pub const MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_documents",
    sql: include_str!("../../../../migrations/config/0001_documents.sql"),
}];

/// Documents in a single SQLite database.
pub struct ConfigStore<S> {
    pub(super) sql: S,
}

impl<S: Sql> Store<S> for ConfigStore<S> {
    type Verb = ConfigVerb;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        Ok(Self { sql })
    }

    fn answer(
        &self,
        verb: ConfigVerb,
        body: &str,
        _now: UnixMillis,
    ) -> Result<S::Text, StoreFailure> {
        match verb {
            ConfigVerb::Get => self.get(body),
            ConfigVerb::Put => self.put(body).map(S::Text::from),
        }
    }

    /// Reading a key creates no data.
    fn is_filled_by(verb: ConfigVerb) -> bool {
        verb == ConfigVerb::Put
    }

    fn is_empty(&self) -> Result<bool, SqlError> {
        Ok(self
            .sql
            .query("SELECT 1 FROM config_documents LIMIT 1", &[])?
            .is_empty())
    }
}

impl<S> ConfigStore<S> {
    /// Returns the database, for other data stored in it.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

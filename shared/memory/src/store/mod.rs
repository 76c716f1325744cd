//! The store of what is remembered in one scope, over the storage port (state-worker supplement section 2).
//!
//! - **Key:** the scope's. A database holds one scope: a full-text rank compares a record with all others.
//! - **Tables:** those of `migrations/memory-scope`. Triggers keep the full-text index in step with the rows.
//! - **Invariants:** a row is never deleted and its number never given again; what is not active is never found, listed
//!   or taken for an equal; a write lands whole or not at all, and leaves at most its cap of active records.
//!
//! Not here: which scopes there are and who may read them.

mod forget;
mod list;
mod plan;
mod request;
mod retrieve;
mod write;

use ars_sql::{Migration, MigrationError, Sql, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::MemoryVerb;

pub use write::DEFAULT_CAP;

/// The store's history, `migrations/memory-scope/`.
pub const MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_records",
    sql: include_str!("../../../../migrations/memory-scope/0001_records.sql"),
}];

/// A row as it travels (section 2.3); `?1` is what ids begin with, `?2` the scope key. `record` is an object that is
/// never empty. The fields that change are put before its own.
macro_rules! travelling {
    () => {
        "'{\"id\":' || json_quote(?1 || n) || ',\"scopeKey\":' || json_quote(?2) || ',\"createdAt\":' || created_at \
         || ifnull(',\"lastUsedAt\":' || last_used_at, '') || ',\"useCount\":' || use_count \
         || ',\"status\":\"active\",' || substr(record, 2) AS text"
    };
}
use travelling;

/// What no query matches.
const NO_RECORDS: &str = r#"{"records":[]}"#;

/// Records of one scope on one SQLite database.
pub struct MemoryStore<S> {
    sql: S,
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
    /// The database, for what else is kept in it.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

/// The expression of the full-text index that finds any of these tokens. They are ASCII letters and digits, so a
/// quoted one is nothing but itself.
fn any_of(tokens: &[&str]) -> String {
    tokens.iter().map(|token| format!("\"{token}\"")).collect::<Vec<_>>().join(" OR ")
}

//! The store of one scope over the storage port (docs/reference/memory.md#routes).
//!
//! - **Key:** the scope's. A database holds one scope, because a full-text rank compares a record with all others.
//! - **Tables:** those of `migrations/memory-scope`. Triggers update the full-text index with the rows.
//! - **Invariants:** a row is never deleted and its number never reused; inactive records are never found, listed or
//!   deduplicated against; a write is atomic and leaves at most its cap of active records.
//!
//! Not here: the set of scopes, and permissions on them.

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

/// Migrations of the store, `migrations/memory-scope/`.
pub const MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_records",
    sql: include_str!("../../../../migrations/memory-scope/0001_records.sql"),
}];

/// A row as a record of the wire; `?1` is the prefix of ids, `?2` the scope key. `record` is an object that is never
/// empty. The mutable fields are put before its own.
macro_rules! travelling {
    () => {
        "'{\"id\":' || json_quote(?1 || n) || ',\"scopeKey\":' || json_quote(?2) || ',\"createdAt\":' || created_at \
         || ifnull(',\"lastUsedAt\":' || last_used_at, '') || ',\"useCount\":' || use_count \
         || ',\"status\":\"active\",' || substr(record, 2) AS text"
    };
}
use travelling;

/// Answer without records.
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
    /// Returns the database, which other tables share.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

/// Returns the full-text expression that matches any of these tokens. They are ASCII letters and digits, so a quoted
/// one contains no syntax.
fn any_of(tokens: &[&str]) -> String {
    tokens.iter().map(|token| format!("\"{token}\"")).collect::<Vec<_>>().join(" OR ")
}

//! The run store: put, get, list and events over the storage port (state-worker supplement sections 5 and 7).
//!
//! Every operation takes the request's JSON text and returns the answer's, so the shell around it is the same for a
//! Durable Object and the bot, and a hot request crosses the wasm boundary once each way. The shell has done the
//! checks before validation (section 1.1, 0 to 5) and has chosen the store by `store_key_of`; a store does not look
//! at the key again. Each operation is one synchronous span: nothing awaits between its first read and last write.
//!
//! Not here: ledger, transcripts, summaries and deletion.

mod events;
mod get;
mod horizon;
mod list;
mod page;
mod put;
mod request;
mod sweep;
mod trim;

use ars_sql::{Migration, MigrationError, Sql, migrate};

pub use request::store_key_of;

use crate::diagnosis::CATEGORIES;

/// How often a shell calls [`RunStore::sweep`] (section 7.2): from the first put on, and again after each sweep.
pub const SWEEP_EVERY_MS: i64 = 6 * 60 * 60 * 1000;

/// The store's history, `migrations/run-store/`.
pub const MIGRATIONS: &[Migration] =
    &[Migration { name: "0001_runs", sql: include_str!("../../../../migrations/run-store/0001_runs.sql") }];

/// Finished runs on one SQLite database.
pub struct RunStore<S> {
    sql: S,
    /// SQL of what readers see of `record`; see [`item_sql`].
    item: String,
}

impl<S: Sql> RunStore<S> {
    /// Brings the database up to date and opens the store on it.
    pub fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        Ok(Self { sql, item: item_sql() })
    }

    /// The database, for a shell that keeps more than runs in it.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

/// A stored record as readers see it (sections 5.5 and 8.1): a visibility always, and exactly the current
/// categories, so that a record is stored as it came and an analyzer's new category needs no rewriting of rows.
fn item_sql() -> String {
    let term = |category: &str, term: &str| {
        format!("json(coalesce(record -> '$.diagnosis.byCategory.{category}.{term}', '0'))")
    };
    let total = |category: &&str| {
        let (count, duration) = (term(category, "count"), term(category, "durationMs"));
        format!("'{category}', json_object('count', {count}, 'durationMs', {duration})")
    };
    let totals = CATEGORIES.iter().map(total).collect::<Vec<_>>().join(", ");
    format!(
        "json_set(json_insert(record, '$.channelVisibility', visibility), \
         '$.diagnosis.byCategory', json_object({totals}))"
    )
}

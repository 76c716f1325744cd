//! The friction ledger over the storage port: recent diagnoses (docs/reference/friction.md#routes).
//!
//! - **Key:** the ledger's. A Durable Object holds one ledger; an embedded store holds all of them.
//! - **Tables:** those of `migrations/friction-ledger`.
//! - **Invariants:** a run has one record, the last one written; a ledger holds at most [`MAX_RECORDS`], the newest by
//!   end time and run id; a record is returned unchanged.
//!
//! Not here: the analysis (`analyze`) and reports over many diagnoses (`patterns`).

mod entry;
mod recent;
mod record;

pub mod diagnosis;

use serde_json::{Map, Value as Json};

use ars_sql::{Migration, MigrationError, Sql, migrate};
use ars_store::{Refusal, Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::FrictionVerb;

/// Migrations of the store, `migrations/friction-ledger/`.
pub const MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_records",
    sql: include_str!("../../../../migrations/friction-ledger/0001_records.sql"),
}];

/// Maximum records of a ledger.
pub const MAX_RECORDS: i64 = 500;

/// Friction ledgers on one SQLite database.
pub struct FrictionStore<S> {
    sql: S,
}

impl<S: Sql> Store<S> for FrictionStore<S> {
    type Verb = FrictionVerb;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        Ok(Self { sql })
    }

    fn answer(&self, verb: FrictionVerb, body: &str, _now: UnixMillis) -> Result<S::Text, StoreFailure> {
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

/// Returns the ledger's key from a body. The shell checks its grammar (`ars_store::key_of`).
fn ledger(body: &Map<String, Json>) -> Result<&str, Refusal> {
    let key = body.get("ledgerKey").and_then(Json::as_str);
    key.ok_or_else(|| Refusal::field("ledgerKey", "must be a string"))
}

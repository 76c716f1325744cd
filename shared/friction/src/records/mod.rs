//! The friction ledger over the storage port: what slowed runs, kept for a while (state-worker supplement section 3).
//!
//! - **Key:** the ledger's. On the edge an object holds one ledger; an embedded store holds all of them.
//! - **Tables:** those of `migrations/friction-ledger`.
//! - **Invariants:** a run has one record, the one written last; a ledger never holds more than [`MAX_RECORDS`], the
//!   newest by (finish, run); a record is answered as it was given.
//!
//! Not here: how a diagnosis is made (`analyze`), and what a report makes of many.

mod entry;
mod recent;
mod record;

pub mod diagnosis;

use serde_json::{Map, Value as Json};

use ars_sql::{Migration, MigrationError, Sql, migrate};
use ars_store::{Refusal, Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::FrictionVerb;

/// The store's history, `migrations/friction-ledger/`.
pub const MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_records",
    sql: include_str!("../../../../migrations/friction-ledger/0001_records.sql"),
}];

/// Records a ledger holds at most (section 3).
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
    /// The database, for what else is kept in it.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

/// The ledger a body is for. Its grammar is the shell's to check (`ars_store::key_of`).
fn ledger(body: &Map<String, Json>) -> Result<&str, Refusal> {
    let key = body.get("ledgerKey").and_then(Json::as_str);
    key.ok_or_else(|| Refusal::field("ledgerKey", "must be a string"))
}

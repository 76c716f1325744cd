//! The run store over the storage port: finished runs here, live ones in `ledger`. They share a database because a
//! finish writes both.
//!
//! - **Tables:** `runs` and `run_events`, shared by finished and live runs; `retention`, one row; `live_*`.
//! - **Invariants:** a put or finish is one transaction; runs excluded by the retention are hidden at once and deleted
//!   in bounded steps; events of a live run are never deleted.

mod delete;
mod event_batch;
mod event_text;
mod events;
mod get;
mod horizon;
mod list;
mod page;
mod put;
mod put_request;
mod summary;
mod sweep;
mod trim;

use ars_sql::{Migration, MigrationError, Sql, SqlError, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::RunVerb;

pub(crate) use event_batch::EventBatch;
pub(crate) use event_text::{EventBody, EventText};
pub(crate) use put_request::Put;

use crate::{canonical::CANONICAL, diagnosis::CATEGORIES};

/// Interval of [`RunStore::sweep`] calls, starting with the first put.
pub const SWEEP_EVERY_MS: i64 = 6 * 60 * 60 * 1000;

/// Migrations of the store, `migrations/run-store/`.
pub const MIGRATIONS: &[Migration] = &[
    Migration { name: "0001_runs", sql: include_str!("../../../../migrations/run-store/0001_runs.sql") },
    Migration { name: "0002_ledger", sql: include_str!("../../../../migrations/run-store/0002_ledger.sql") },
    Migration { name: "0003_totals", sql: include_str!("../../../../migrations/run-store/0003_totals.sql") },
    Migration { name: "0004_plain", sql: include_str!("../../../../migrations/run-store/0004_plain.sql") },
];

/// Finished and live runs on one SQLite database.
pub struct RunStore<S> {
    sql: S,
    /// SQL of the visible form of `record`, see [`item_sql`].
    item: String,
    /// The same with `bytes`, for lists.
    listed: String,
    /// Statement of a get.
    get: String,
}

impl<S: Sql> Store<S> for RunStore<S> {
    type Verb = RunVerb;

    const SWEEP_EVERY_MS: Option<i64> = Some(SWEEP_EVERY_MS);
    const SWEEP_AT_MOST: i64 = sweep::AT_MOST;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        let item = item_sql();
        Ok(Self { sql, get: get::get_sql(&item), listed: listed_sql(&item), item })
    }

    fn answer(&self, verb: RunVerb, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let answer = match verb {
            RunVerb::Put => self.put(body, now),
            RunVerb::Get => return self.get(body, now),
            RunVerb::Summary => self.summary(body, now),
            RunVerb::List => return self.list(body, now),
            RunVerb::Events => return self.events(body, now),
            RunVerb::Delete => self.delete(body),
            RunVerb::Claim => self.claim(body, now),
            RunVerb::Live => return self.live(body),
            RunVerb::Step => self.step(body),
            RunVerb::Heartbeat => self.heartbeat(body, now),
            RunVerb::Append => self.append(body),
            RunVerb::State => self.state(body),
            RunVerb::Stop => self.stop(body, now),
            RunVerb::Handoff => self.handoff(body),
            RunVerb::Finishing => self.finishing(body),
            RunVerb::Finish => self.finish(body, now),
            RunVerb::Reclaim => return self.reclaim(body, now),
            RunVerb::LiveEvents => return self.live_events(body, now),
            RunVerb::Inbox => self.inbox(body),
            RunVerb::Flush => return self.flush(body, now),
        };
        answer.map(S::Text::from)
    }

    fn arms_sweep(verb: RunVerb) -> bool {
        matches!(verb, RunVerb::Put | RunVerb::Finish)
    }

    fn sweep(&self, now: UnixMillis) -> Result<i64, SqlError> {
        self.sweep_hidden(now)
    }
}

impl<S> RunStore<S> {
    /// Returns the database, for other data stored in it.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}

/// Returns the SQL of an item with the size of its record, for lists. A canonical record is a non-empty object, so its
/// last character is the closing brace.
fn listed_sql(item: &str) -> String {
    format!(
        "iif(plain = {CANONICAL}, substr(record, 1, length(record) - 1) || ',\"bytes\":' || bytes || '}}', \
         json_set({item}, '$.bytes', bytes))"
    )
}

/// Returns the SQL of a stored record in its visible form: it always has a visibility and exactly the current
/// categories. Records are stored as received, so a new category needs no rewriting of rows. A canonical record is not
/// parsed.
fn item_sql() -> String {
    let term = |category: &str, term: &str| {
        format!("json(coalesce(record -> '$.diagnosis.byCategory.{category}.{term}', '0'))")
    };
    let total = |category: &&str| {
        let count = term(category, "count");
        let duration = term(category, "durationMs");
        format!("'{category}', json_object('count', {count}, 'durationMs', {duration})")
    };
    let totals = CATEGORIES.iter().map(total).collect::<Vec<_>>().join(", ");
    format!(
        "iif(plain = {CANONICAL}, record, json_set(json_insert(record, '$.channelVisibility', visibility), '$.diagnosis.byCategory', json_object({totals})))"
    )
}

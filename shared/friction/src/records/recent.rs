//! `/friction/recent`: returns the newest records since a time, oldest first.

use ars_sql::{Sql, Value};
use ars_store::{
    JsonListAnswer, Refusal, StoreFailure,
    json::parse_body,
    request::{finite, integer},
};

use super::{FrictionStore, ledger_key::ledger};

/// Number of records returned by default.
const DEFAULT_LIMIT: i64 = 500;
/// Maximum number of records returned. It exceeds the ledger's bound, so that the bound may rise.
const MAX_LIMIT: i64 = 1000;

/// Walks the index from the newest end. Unreadable rows are skipped.
const NEWEST: JsonListAnswer<'_> = JsonListAnswer {
    name: "records",
    rows: "SELECT record AS text, finished_at, run_id FROM friction_records \
        WHERE ledger_key = ?1 AND finished_at >= ?2 AND json_valid(record) \
        ORDER BY finished_at DESC, run_id DESC LIMIT ?3",
    order: "finished_at, run_id",
};

impl<S: Sql> FrictionStore<S> {
    /// Handles a `/friction/recent` request.
    pub(super) fn recent(&self, body: &str) -> Result<S::Text, StoreFailure> {
        let body = parse_body(body)?;
        let ledger = ledger(&body)?;
        let limit = integer(
            &body,
            "limit",
            1..=MAX_LIMIT,
            "must be an integer from 1 to 1000",
        )?;
        let since = match finite(&body, "sinceMs")? {
            Some(since) if since < 0.0 => {
                return Err(Refusal::field("sinceMs", "must be at least 0").into());
            }
            since => since.unwrap_or(f64::MIN),
        };
        let limit = Value::from(limit.unwrap_or(DEFAULT_LIMIT));
        let params = [Value::from(ledger), Value::from(since), limit];
        Ok(NEWEST.answer(&self.sql, &params)?)
    }
}

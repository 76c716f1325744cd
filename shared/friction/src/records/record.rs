//! `/friction/record`: writes a run's record, replacing an earlier record.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{StoreFailure, json::parse_body};

use super::{FrictionStore, MAX_RECORDS, entry::Entry, ledger_key::ledger};

/// Deletes rows beyond the bound: at most one, because every write restores the bound.
const TRIM: &str = "DELETE FROM friction_records WHERE rowid IN (SELECT rowid FROM friction_records \
    WHERE ledger_key = ?1 ORDER BY finished_at DESC, run_id DESC LIMIT -1 OFFSET ?2)";

impl<S: Sql> FrictionStore<S> {
    /// Handles a `/friction/record` request.
    pub(super) fn record(&self, body: &str) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let (ledger, entry) = (Value::from(ledger(&body)?), Entry::read(&body)?);
        let retained = self.sql.transaction(|| self.keep(ledger, entry))?;
        Ok(format!(r#"{{"ok":true,"retained":{retained}}}"#))
    }

    /// Writes the record and returns the number of records in the ledger.
    fn keep(&self, ledger: Value, entry: Entry<'_>) -> Result<i64, SqlError> {
        let Entry {
            run_id,
            finished_at,
            text,
        } = entry;
        self.sql.execute(
            "REPLACE INTO friction_records (ledger_key, run_id, finished_at, record) VALUES (?, ?, ?, ?)",
            &[ledger.clone(), Value::from(run_id), Value::from(finished_at), Value::from(text)],
        )?;
        self.sql
            .execute(TRIM, &[ledger.clone(), Value::from(MAX_RECORDS)])?;
        let count = "SELECT count(*) FROM friction_records WHERE ledger_key = ?";
        match self.sql.query(count, &[ledger])?.first() {
            Some(row) => row.integer(0),
            None => Err(SqlError::Shape("a count without a row".into())),
        }
    }
}

//! Removes a run and its events: `{ ok, deleted }`.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};

use super::{RunStore, trim::NOT_LIVE};

impl<S: Sql> RunStore<S> {
    /// Handles `/runs/delete`; for a live run it deletes the tombstone alone: the ledger owns its events.
    pub fn delete(&self, body: &str) -> Result<String, StoreFailure> {
        let id = required_run_id(&parse_body(body)?, "id")?;
        let params = [Value::from(id.as_str())];
        let deleted = self.sql.transaction(|| {
            let events = format!("DELETE FROM run_events WHERE run_id = ? AND {NOT_LIVE}");
            self.sql.execute(&events, &params)?;
            Ok::<_, SqlError>(
                !self
                    .sql
                    .query("DELETE FROM runs WHERE id = ? RETURNING 1", &params)?
                    .is_empty(),
            )
        })?;
        Ok(format!(r#"{{"ok":true,"deleted":{deleted}}}"#))
    }
}

//! Queues a follow-up for a live run: `{ ok, seq }`, else `{ ok: false }`; seqs count from 1 per run.

use ars_sql::{Sql, Value};
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};

use super::{answers::NOT_LIVE, request::object};
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles `/runs/inbox`.
    pub(crate) fn inbox(&self, body: &str) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let id = required_run_id(&body, "runId")?;
        let message = object(&body, "message")?;
        let statement = "INSERT INTO live_inbox (run_id, seq, message) SELECT run_id, \
                         1 + coalesce((SELECT max(seq) FROM live_inbox WHERE run_id = ?1), 0), ?2 \
                         FROM live_runs WHERE run_id = ?1 RETURNING seq";
        let params = [Value::from(id.as_str()), Value::from(message)];
        Ok(match self.sql().query(statement, &params)?.first() {
            Some(row) => format!(r#"{{"ok":true,"seq":{}}}"#, row.integer(0)?),
            None => NOT_LIVE.to_owned(),
        })
    }
}

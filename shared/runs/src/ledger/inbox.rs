//! Queues a follow-up for a live run: `{ ok, seq }`, else `{ ok: false }`; seqs count from 1 per
//! run.
//!
//! 413 beyond the unread follow-up limits. Their owner has stricter limits, which do not bind other
//! processes.

use ars_sql::{Sql, Value};
use ars_store::{Refusal, StoreFailure, json::parse_body, request::required_run_id};
use ars_wire::ledger::MAX_UNREAD;

use super::{answers::NOT_LIVE, request::object};
use crate::RunStore;

/// Maximum bytes in a run's unread follow-ups.
const MAX_UNREAD_BYTES: u64 = 1 << 20;

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/inbox` request.
    pub(crate) fn inbox(&self, body: &str) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let id = required_run_id(&body, "runId")?;
        let message = object(&body, "message")?;
        if !self.has_room(id.as_str(), message.len() as u64)? {
            return Err(Refusal::TooLarge("the run has too many unread follow-ups".into()).into());
        }
        let statement = "INSERT INTO live_inbox (run_id, seq, message) SELECT run_id, \
                         1 + coalesce((SELECT max(seq) FROM live_inbox WHERE run_id = ?1), 0), ?2 \
                         FROM live_runs WHERE run_id = ?1 RETURNING seq";
        let params = [Value::from(id.as_str()), Value::from(message)];
        Ok(match self.sql().query(statement, &params)?.first() {
            Some(row) => format!(r#"{{"ok":true,"seq":{}}}"#, row.integer(0)?),
            None => NOT_LIVE.to_owned(),
        })
    }

    /// Returns whether a message with this size can wait with those that no step has read.
    fn has_room(&self, run: &str, bytes: u64) -> Result<bool, StoreFailure> {
        let unread = "SELECT count(*), coalesce(sum(octet_length(message)), 0) FROM live_inbox \
                      WHERE run_id = ?1 AND seq > coalesce((SELECT record ->> '$.inboxConsumedSeq' \
                      FROM live_steps WHERE run_id = ?1 ORDER BY step DESC LIMIT 1), 0)";
        let rows = self.sql().query(unread, &[Value::from(run)])?;
        let Some(row) = rows.first() else {
            return Ok(true);
        };
        let waiting = u64::try_from(row.integer(1)?).unwrap_or(u64::MAX);
        Ok(row.integer(0)? < i64::from(MAX_UNREAD)
            && waiting.saturating_add(bytes) <= MAX_UNREAD_BYTES)
    }
}

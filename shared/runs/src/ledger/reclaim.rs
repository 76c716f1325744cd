//! Reclaims runs that other generations handed off or that have an expired lease: `{ runs }`.
//!
//! Each is `{ row, reclaimedFrom, lastStep, inbox, jobs }`. A caller's own runs and those listed in
//! `except` are never reclaimed (docs/decisions/0011). A single transaction reads and changes the
//! owner, so two generations never get the same run.

use ars_sql::{Row, Sql, SqlError, Value};
use ars_store::{StoreFailure, json::parse_body, request::finite};
use ars_types::UnixMillis;
use serde_json::json;

use super::{
    handoff::run_ids,
    request::{generation, lease_ms},
    row::{TABLES, row_sql},
};
use crate::RunStore;

/// Condition for a run that generation ?1 may reclaim at time ?2. ?3 lists excluded ids.
const RECLAIMABLE: &str = "owner_gen <> ?1 AND (phase = 'handoff' OR lease_until <= ?2) \
                           AND run_id NOT IN (SELECT value FROM json_each(?3))";

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/reclaim` request.
    pub(crate) fn reclaim(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let body = parse_body(body)?;
        let generation = generation(&body)?;
        let lease_ms = lease_ms(&body)?;
        let except = if body.contains_key("except") {
            run_ids(&body, "except")?
        } else {
            Vec::new()
        };
        let now = finite(&body, "now")?.unwrap_or(now as f64);
        let params = [
            Value::from(generation.as_str()),
            Value::from(now),
            Value::from(json!(except).to_string()),
        ];
        let until = Value::from(now + lease_ms as f64);

        Ok(self.sql().transaction(|| {
            let select = format!(
                "SELECT run_id, phase FROM live_runs WHERE {RECLAIMABLE} ORDER BY started_at, run_id"
            );
            let reclaimed = self.sql().query(&select, &params)?;
            let update = format!(
                "UPDATE live_runs SET owner_gen = ?1, lease_until = ?4, phase = 'live' WHERE {RECLAIMABLE}"
            );
            self.sql().execute(&update, &[&params[..], &[until]].concat())?;
            let mut answer = S::Text::from(r#"{"runs":["#.to_owned());
            for (nth, row) in reclaimed.iter().enumerate() {
                answer.extend([if nth == 0 { "" } else { "," }, &self.reclaimed(row)?]);
            }
            answer.extend(["]}"]);
            Ok::<_, SqlError>(answer)
        })?)
    }

    /// Returns a reclaimed run: the row, the previous owner and the data to resume it.
    fn reclaimed(&self, run: &Row) -> Result<String, SqlError> {
        let statement = format!("SELECT {} FROM {TABLES} WHERE live.run_id = ?1", row_sql());
        let row = self.texts(&statement, run)?;
        let step = self.texts(
            "SELECT record FROM live_steps WHERE run_id = ?1 ORDER BY step DESC LIMIT 1",
            run,
        )?;
        let step = if step.is_empty() { "null" } else { &step };
        let inbox = self.texts(
            "SELECT json_object('seq', seq, 'message', json(message)) FROM live_inbox WHERE run_id = ?1 \
             AND seq > coalesce((SELECT record ->> '$.inboxConsumedSeq' FROM live_steps WHERE run_id = ?1 \
             ORDER BY step DESC LIMIT 1), 0) ORDER BY seq",
            run,
        )?;
        let jobs = self.texts(
            "SELECT json_object('kind', kind, 'payload', json(payload)) FROM live_jobs WHERE run_id = ?1 \
             ORDER BY kind",
            run,
        )?;
        let phase = run.text(1)?;
        Ok(format!(
            r#"{{"row":{row},"reclaimedFrom":"{phase}","lastStep":{step},"inbox":[{inbox}],"jobs":[{jobs}]}}"#
        ))
    }

    /// Returns the texts that a statement yields for a run, separated by commas. They are read row
    /// by row: each may be large, and SQLite limits a single value's size.
    fn texts(&self, statement: &str, run: &Row) -> Result<String, SqlError> {
        let rows = self.sql().query(statement, &[Value::from(run.text(0)?)])?;
        let texts = rows
            .into_iter()
            .map(|row| row.into_text(0))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(texts.join(","))
    }
}

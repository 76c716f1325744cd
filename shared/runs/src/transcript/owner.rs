//! Sets the generation that may write, replacing the previous owner.

use ars_sql::{Sql, Value};
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};
use ars_types::UnixMillis;

use super::{TranscriptStore, answers::OK};
use crate::ledger::generation;

impl<S: Sql> TranscriptStore<S> {
    pub(super) fn owner(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let run = required_run_id(&body, "runId")?;
        let generation = generation(&body)?;
        let statement =
            "INSERT OR REPLACE INTO transcript_owners (run_id, gen, written_at) VALUES (?, ?, ?)";
        let values = [
            Value::from(run.as_str()),
            Value::from(generation.as_str()),
            Value::from(now),
        ];
        self.sql.execute(statement, &values)?;
        Ok(OK.to_owned())
    }
}

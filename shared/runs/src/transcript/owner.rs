//! Sets the generation that may write, replacing the previous one.

use ars_sql::{Sql, Value};
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};

use super::{TranscriptStore, answers::OK};
use crate::ledger::generation;

impl<S: Sql> TranscriptStore<S> {
    pub(super) fn owner(&self, body: &str) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let run = required_run_id(&body, "runId")?;
        let generation = generation(&body)?;
        let statement = "INSERT OR REPLACE INTO transcript_owners (run_id, gen) VALUES (?, ?)";
        self.sql.execute(statement, &[Value::from(run.as_str()), Value::from(generation.as_str())])?;
        Ok(OK.to_owned())
    }
}

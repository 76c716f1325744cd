//! Deletes all the rows of a run, even the owner. An unknown run is cleared already.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{Refusal, StoreFailure, json::parse_body, request::required_run_id};

use super::{TranscriptStore, answers::OK};
use crate::ledger::{FENCED, generation};

impl<S: Sql> TranscriptStore<S> {
    pub(super) fn clear(&self, body: &str) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let run = required_run_id(&body, "runId")?;
        // Without a generation the run has ended, by the ledger's fence.
        let generation = body
            .contains_key("gen")
            .then(|| generation(&body))
            .transpose()?;
        self.sql.transaction(|| {
            let owner = self.owner_of(&run)?;
            let is_foreign = |generation| owner.as_deref().is_some_and(|owner| owner != generation);
            if generation
                .as_ref()
                .is_some_and(|generation| is_foreign(generation.as_str()))
            {
                return Err(Refusal::conflict(FENCED).into());
            }
            self.delete(run.as_str())?;
            Ok::<_, StoreFailure>(OK.to_owned())
        })
    }

    /// Deletes all the rows of a run.
    pub(super) fn delete(&self, run: &str) -> Result<(), SqlError> {
        [
            "transcript_owners",
            "transcript_rows",
            "transcript_attachments",
        ]
        .iter()
        .try_for_each(|table| {
            let statement = format!("DELETE FROM {table} WHERE run_id = ?");
            self.sql.execute(&statement, &[Value::from(run)])
        })
    }
}

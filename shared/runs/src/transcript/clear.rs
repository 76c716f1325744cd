//! Deletes all rows of a run, even its owner; not fenced, because the finishing process calls it.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};

use super::{TranscriptStore, answers::OK};

impl<S: Sql> TranscriptStore<S> {
    pub(super) fn clear(&self, body: &str) -> Result<String, StoreFailure> {
        let run = required_run_id(&parse_body(body)?, "runId")?;
        self.sql
            .transaction(|| {
                ["transcript_owners", "transcript_rows", "transcript_attachments"].iter().try_for_each(
                    |table| {
                        let statement = format!("DELETE FROM {table} WHERE run_id = ?");
                        self.sql.execute(&statement, &[Value::from(run.as_str())])
                    },
                )?;
                Ok::<_, SqlError>(OK.to_owned())
            })
            .map_err(StoreFailure::from)
    }
}

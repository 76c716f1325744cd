//! Everything of a run: `{ rows, attachments }`, rows by (idx, part); of an unknown run two empty lists (state-worker
//! supplement section 10.1).

use serde_json::{Value as Json, json};

use ars_sql::{Row, Sql, SqlError, Value};
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};
use ars_types::RunId;

use super::TranscriptStore;

impl<S: Sql> TranscriptStore<S> {
    pub(super) fn read(&self, body: &str) -> Result<String, StoreFailure> {
        let run = required_run_id(&parse_body(body)?, "runId")?;
        let parts = "SELECT idx, part, json FROM transcript_rows WHERE run_id = ? ORDER BY idx, part";
        let attachments =
            "SELECT ref, media_type, data FROM transcript_attachments WHERE run_id = ? ORDER BY ref";
        let (rows, attachments) = (self.each(parts, &run, part)?, self.each(attachments, &run, attachment)?);
        Ok(format!(r#"{{"rows":[{rows}],"attachments":[{attachments}]}}"#))
    }

    /// Row by row, and not as JSON of SQLite's making: a part that is escaped anew may outgrow one value of SQLite.
    fn each(
        &self,
        statement: &str,
        run: &RunId,
        entry: impl Fn(&Row) -> Result<Json, SqlError>,
    ) -> Result<String, SqlError> {
        let mut joined = String::new();
        for row in self.sql.query(statement, &[Value::from(run.as_str())])? {
            if !joined.is_empty() {
                joined.push(',');
            }
            joined.push_str(&entry(&row)?.to_string());
        }
        Ok(joined)
    }
}

fn part(row: &Row) -> Result<Json, SqlError> {
    Ok(json!({ "idx": row.integer(0)?, "part": row.integer(1)?, "json": row.text(2)? }))
}

fn attachment(row: &Row) -> Result<Json, SqlError> {
    Ok(json!({ "ref": row.text(0)?, "mediaType": row.text(1)?, "data": row.text(2)? }))
}

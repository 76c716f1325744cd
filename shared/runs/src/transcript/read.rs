//! A run's rows, by (idx, part), and attachments: `{ rows, attachments }`; empty if it is unknown.
//!
//! A transcript may be tens of megabytes, so only a single row is in memory at a time.

use serde::Serialize;

use ars_sql::{Row, Sql, SqlError, Value};
use ars_store::{StoreFailure, add_list, json::parse_body, request::required_run_id};

use super::TranscriptStore;

const PARTS: &str =
    "SELECT idx, part, json FROM transcript_rows WHERE run_id = ? ORDER BY idx, part";
const ATTACHMENTS: &str =
    "SELECT ref, media_type, data FROM transcript_attachments WHERE run_id = ? ORDER BY ref";

#[derive(Serialize)]
struct Part<'a> {
    idx: i64,
    part: i64,
    json: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attachment<'a> {
    #[serde(rename = "ref")]
    name: &'a str,
    media_type: &'a str,
    data: &'a str,
}

impl<S: Sql> TranscriptStore<S> {
    pub(super) fn read(&self, body: &str) -> Result<S::Text, StoreFailure> {
        let run = [Value::from(
            required_run_id(&parse_body(body)?, "runId")?.as_str(),
        )];
        let mut answer = S::Text::from(r#"{"rows":["#.to_owned());
        add_list(&self.sql, PARTS, &run, &mut answer, |row| part(&row))?;
        answer.extend([r#"],"attachments":["#]);
        add_list(&self.sql, ATTACHMENTS, &run, &mut answer, |row| {
            attachment(&row)
        })?;
        answer.extend(["]}"]);
        Ok(answer)
    }
}

// Not serialized by SQLite, because an escaped part may exceed the limit for a single value.

fn part(row: &Row) -> Result<Option<String>, SqlError> {
    written(&Part {
        idx: row.integer(0)?,
        part: row.integer(1)?,
        json: row.text(2)?,
    })
}

fn attachment(row: &Row) -> Result<Option<String>, SqlError> {
    written(&Attachment {
        name: row.text(0)?,
        media_type: row.text(1)?,
        data: row.text(2)?,
    })
}

fn written(entry: &impl Serialize) -> Result<Option<String>, SqlError> {
    serde_json::to_string(entry)
        .map(Some)
        .map_err(|error| SqlError::Shape(error.to_string()))
}

//! Writes parts and attachments, replacing those with the same key.

use serde_json::{Map, Value as Json};

use ars_sql::{Sql, SqlError, Value};
use ars_store::{
    Refusal, StoreFailure,
    json::{MAX_SAFE, number, parse_body, whole},
    request::required_run_id,
};
use ars_types::{RunId, UnixMillis};

use super::{TranscriptStore, answers::OK};
use crate::ledger::{FENCED, UNKNOWN_RUN, generation};

/// Maximum size of a part in bytes.
const MAX_PART: usize = 1_500_000;

struct Part<'a> {
    idx: i64,
    part: i64,
    json: &'a str,
}

struct Attachment<'a> {
    name: &'a str,
    media_type: &'a str,
    data: &'a str,
}

impl<S: Sql> TranscriptStore<S> {
    pub(super) fn write(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let run = required_run_id(&body, "runId")?;
        let generation = generation(&body)?;
        let parts = list(&body, "rows", part)?;
        let attachments = list(&body, "attachments", attachment)?;
        self.sql.transaction(|| {
            match self.owner_of(&run)? {
                Some(owner) if owner == generation.as_str() => {}
                Some(_) => return Err(Refusal::conflict(FENCED).into()),
                None => return Err(Refusal::conflict(UNKNOWN_RUN).into()),
            }
            parts
                .iter()
                .try_for_each(|part| self.write_part(&run, part))?;
            attachments
                .iter()
                .try_for_each(|attachment| self.write_attachment(&run, attachment))?;
            self.note_write(&run, now)?;
            Ok::<_, StoreFailure>(OK.to_owned())
        })
    }

    pub(super) fn owner_of(&self, run: &RunId) -> Result<Option<String>, SqlError> {
        let statement = "SELECT gen FROM transcript_owners WHERE run_id = ?";
        let rows = self.sql.query(statement, &[Value::from(run.as_str())])?;
        rows.into_iter()
            .next()
            .map(|row| row.into_text(0))
            .transpose()
    }

    fn write_part(&self, run: &RunId, part: &Part<'_>) -> Result<(), SqlError> {
        self.sql.execute(
            "INSERT OR REPLACE INTO transcript_rows (run_id, idx, part, json) VALUES (?, ?, ?, ?)",
            &[
                Value::from(run.as_str()),
                Value::from(part.idx),
                Value::from(part.part),
                Value::from(part.json),
            ],
        )
    }

    fn write_attachment(&self, run: &RunId, attachment: &Attachment<'_>) -> Result<(), SqlError> {
        self.sql.execute(
            "INSERT OR REPLACE INTO transcript_attachments (run_id, ref, media_type, data) VALUES (?, ?, ?, ?)",
            &[
                Value::from(run.as_str()),
                Value::from(attachment.name),
                Value::from(attachment.media_type),
                Value::from(attachment.data),
            ],
        )
    }
}

/// Reads every list entry. The refusal names the first malformed entry.
fn list<'a, T>(
    body: &'a Map<String, Json>,
    name: &str,
    read: impl Fn(&'a Json) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    let Some(Json::Array(entries)) = body.get(name) else {
        return Err(Refusal::field(name, "must be an array"));
    };
    let entry = |(index, entry)| {
        read(entry).map_err(|refusal| match refusal {
            Refusal::Field(message) => Refusal::Field(format!("{name}[{index}].{message}")),
            other @ (Refusal::Conflict(_) | Refusal::TooLarge(_)) => other,
        })
    };
    entries.iter().enumerate().map(entry).collect()
}

fn part(row: &Json) -> Result<Part<'_>, Refusal> {
    let index = |name: &str| {
        let is_exact =
            |value: &&Json| number(value).is_some_and(|number| (0.0..=MAX_SAFE).contains(&number));
        row.get(name)
            .filter(is_exact)
            .and_then(whole)
            .ok_or_else(|| Refusal::field(name, "must be an integer of at least 0"))
    };
    let part = Part {
        idx: index("idx")?,
        part: index("part")?,
        json: text(row, "json")?,
    };
    if part.json.len() > MAX_PART {
        return Err(Refusal::field("json", "must have at most 1500000 bytes"));
    }
    Ok(part)
}

fn attachment(entry: &Json) -> Result<Attachment<'_>, Refusal> {
    Ok(Attachment {
        name: text(entry, "ref")?,
        media_type: text(entry, "mediaType")?,
        data: text(entry, "data")?,
    })
}

fn text<'a>(entry: &'a Json, name: &str) -> Result<&'a str, Refusal> {
    entry
        .get(name)
        .and_then(Json::as_str)
        .ok_or_else(|| Refusal::field(name, "must be a string"))
}

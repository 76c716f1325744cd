//! A single run with its events: `{ record }`, null if unknown, expired or hidden.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};
use ars_types::{RunId, UnixMillis};

use super::{RunStore, events::EVENT, horizon::VISIBLE, page::MAX_JOINED};

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/get` request.
    pub fn get(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let id = required_run_id(&parse_body(body)?, "id")?;
        match self
            .sql
            .text(&self.get, &[Value::from(now), Value::from(id.as_str())])?
        {
            Some(answer) => Ok(answer),
            None => Ok(self.row_by_row(&id, now)?),
        }
    }

    /// Builds the same response row by row, for events that exceed SQLite's limit for a single
    /// value.
    fn row_by_row(&self, id: &RunId, now: UnixMillis) -> Result<S::Text, SqlError> {
        let Some(item) = self.item(&self.item, id, now)? else {
            return Ok(S::Text::from(NULL.to_owned()));
        };
        // The item is a non-empty object, so the last character is the closing brace.
        let members = item.strip_suffix('}').unwrap_or(&item);
        let mut answer = S::Text::from(format!(r#"{{"record":{members},"events":["#));
        self.add_events(id, 0, &mut answer)?;
        answer.extend(["]}}"]);
        Ok(answer)
    }

    /// Returns the SQL expression `item` for a visible run.
    pub(super) fn item(
        &self,
        item: &str,
        id: &RunId,
        now: UnixMillis,
    ) -> Result<Option<String>, SqlError> {
        let statement =
            format!("SELECT {item} FROM runs WHERE id = ?2 AND {VISIBLE} AND json_valid(record)");
        let rows = self
            .sql
            .query(&statement, &[Value::from(now), Value::from(id.as_str())])?;
        rows.into_iter()
            .next()
            .map(|row| row.into_text(0))
            .transpose()
    }
}

/// Answer about a run that readers do not see.
const NULL: &str = r#"{"record":null}"#;

/// Returns the single statement for a get, which yields NULL if the response is too large for one
/// value. Sizes are summed before the texts are joined, because a value beyond the limit is an
/// error.
pub(super) fn get_sql(item: &str) -> String {
    format!(
        "SELECT CASE WHEN item IS NULL THEN '{NULL}' WHEN octet_length(item) + (SELECT \
         coalesce(sum(octet_length(event)), 0) FROM run_events WHERE run_id = ?2) <= {MAX_JOINED} THEN \
         '{{\"record\":' || substr(item, 1, length(item) - 1) || ',\"events\":[' || (SELECT \
         coalesce(group_concat(text, ',' ORDER BY seq), '') FROM \
         (SELECT seq, {EVENT} FROM run_events WHERE run_id = ?2)) || ']}}}}' END \
         FROM (SELECT 1) LEFT JOIN (SELECT {item} AS item FROM runs \
         WHERE id = ?2 AND {VISIBLE} AND json_valid(record))"
    )
}

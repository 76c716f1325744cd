//! A page of a single run's events, `{ events, nextAfterSeq? }`.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{
    StoreFailure, add_texts,
    json::parse_body,
    request::{integer, required_run_id},
};
use ars_types::{RunId, UnixMillis};
use serde_json::{Map, Value as JsonValue};

use super::{RunStore, horizon::VISIBLE, page::Page};

/// Page size by default.
const DEFAULT_LIMIT: i64 = 1000;
/// Maximum page size. A larger limit is rejected, unlike in the list.
const MAX_LIMIT: i64 = 5000;
/// Skips rows that are not events: invalid JSON, or no type. The cases are nested because only CASE
/// guarantees that the second test does not run when the first failed.
pub(super) const EVENT: &str = "CASE WHEN json_valid(event) THEN \
                     CASE WHEN json_type(event, '$.type') = 'text' THEN event END END AS text";

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/events` request.
    pub fn events(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let body = parse_body(body)?;
        let id = required_run_id(&body, "id")?;
        let after = after_seq(&body)?;
        let limit = integer(
            &body,
            "limit",
            1..=MAX_LIMIT,
            "must be an integer from 1 to 5000",
        )?;
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !self.is_visible(&id, now)? {
            return Ok(S::Text::from(r#"{"events":null}"#.to_owned()));
        }
        let rows = format!(
            "SELECT seq AS place, '' AS id, {EVENT} FROM run_events \
             WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"
        );
        let page = Page {
            rows: &rows,
            order: "place",
            before: r#"{"events":["#,
            after: AFTER,
            more: MORE,
        };
        let params = [
            Value::from(id.as_str()),
            Value::from(after),
            Value::from(limit),
        ];
        Ok(page.answer(&self.sql, &params)?)
    }

    /// Returns whether readers see the run.
    pub(crate) fn is_visible(&self, id: &RunId, now: UnixMillis) -> Result<bool, SqlError> {
        let statement = format!("SELECT 1 FROM runs WHERE id = ?2 AND {VISIBLE}");
        Ok(!self
            .sql
            .query(&statement, &[Value::from(now), Value::from(id.as_str())])?
            .is_empty())
    }

    /// Appends a run's events after a seq to the response, in seq order, separated by commas.
    pub(crate) fn add_events(
        &self,
        id: &RunId,
        after: i64,
        answer: &mut S::Text,
    ) -> Result<(), SqlError> {
        let statement =
            format!("SELECT {EVENT} FROM run_events WHERE run_id = ?1 AND seq > ?2 ORDER BY seq");
        add_texts(
            &self.sql,
            &statement,
            &[Value::from(id.as_str()), Value::from(after)],
            answer,
        )
    }
}

/// Returns a body's `afterSeq`, 0 if it is absent. Seqs begin at 1.
pub(crate) fn after_seq(body: &Map<String, JsonValue>) -> Result<i64, StoreFailure> {
    Ok(integer(
        body,
        "afterSeq",
        0..=i64::MAX,
        "must be an integer of at least 0",
    )?
    .unwrap_or(0))
}

/// SQL for the page's tail: the last seq, if the page is full and more events follow.
const AFTER: &str = "iif(count = ?3 AND EXISTS (SELECT 1 FROM run_events WHERE run_id = ?1 AND seq > place), \
    '],\"nextAfterSeq\":' || CAST(place AS INTEGER) || '}', ']}')";
/// SQL for the tail when a page ended by bytes.
const MORE: &str = "'],\"nextAfterSeq\":' || CAST(place AS INTEGER) || '}'";

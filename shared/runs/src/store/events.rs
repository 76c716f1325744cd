//! A page of one run's events, `{ events, nextAfterSeq? }` (state-worker supplement section 5.5).

use ars_sql::{Sql, SqlError, Value};
use ars_store::{
    StoreFailure, add_texts,
    json::parse_body,
    request::{integer, required_run_id},
};
use ars_types::{RunId, UnixMillis};

use super::{RunStore, horizon::VISIBLE, page::Page};

/// Events of a page when the request does not say (document 2 section 8).
const DEFAULT_LIMIT: i64 = 1000;
/// Events of a page at most (document 2 section 8). More is refused, unlike the list's limit.
const MAX_LIMIT: i64 = 5000;
/// A row that is no event is skipped: bad JSON, or no type. The cases nest because only CASE is sure not to look
/// into what the test before it has ruled out.
pub(super) const EVENT: &str = "CASE WHEN json_valid(event) THEN \
                     CASE WHEN json_type(event, '$.type') = 'text' THEN event END END AS text";

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/events`.
    pub fn events(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let body = parse_body(body)?;
        let id = required_run_id(&body, "id")?;
        let after =
            integer(&body, "afterSeq", 0..=i64::MAX, "must be an integer of at least 0")?.unwrap_or(0);
        let limit = integer(&body, "limit", 1..=MAX_LIMIT, "must be an integer from 1 to 5000")?;
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !self.is_visible(&id, now)? {
            return Ok(S::Text::from(r#"{"events":null}"#.to_owned()));
        }
        let rows = format!(
            "SELECT seq AS place, '' AS id, {EVENT} FROM run_events \
             WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"
        );
        let page = Page { rows: &rows, order: "place", before: r#"{"events":["#, after: AFTER };
        let params = [Value::from(id.as_str()), Value::from(after), Value::from(limit)];
        Ok(page.answer(&self.sql, &params)?)
    }

    /// Whether readers see the run.
    pub(crate) fn is_visible(&self, id: &RunId, now: UnixMillis) -> Result<bool, SqlError> {
        let statement = format!("SELECT 1 FROM runs WHERE id = ?2 AND {VISIBLE}");
        Ok(!self.sql.query(&statement, &[Value::from(now), Value::from(id.as_str())])?.is_empty())
    }

    /// Adds every event of a run, in seq order, separated by commas.
    pub(crate) fn add_events(&self, id: &RunId, answer: &mut S::Text) -> Result<(), SqlError> {
        let statement = format!("SELECT {EVENT} FROM run_events WHERE run_id = ?1 ORDER BY seq");
        add_texts(&self.sql, &statement, &[Value::from(id.as_str())], answer)
    }
}

/// SQL of what follows the events: the last seq, when the page is full and more events are there.
const AFTER: &str = "iif(count = ?3 AND EXISTS (SELECT 1 FROM run_events WHERE run_id = ?1 AND seq > place), \
    '],\"nextAfterSeq\":' || CAST(place AS INTEGER) || '}', ']}')";

//! A page of one run's events, `{ events, nextAfterSeq? }` (state-worker supplement section 5.5).

use ars_sql::{Sql, SqlError, Value};
use ars_store::{
    StoreFailure,
    json::{MAX_SAFE, number_text, parse_body},
    request::{integer, required_run_id},
};
use ars_types::{RunId, UnixMillis};

use super::{
    RunStore,
    horizon::{Horizon, VISIBLE},
    page::{self, Order, Page},
};

/// Events of a page when the request does not say (document 2 section 8).
const DEFAULT_LIMIT: i64 = 1000;
/// Events of a page at most (document 2 section 8). More is refused, unlike the list's limit.
const MAX_LIMIT: i64 = 5000;
/// Every event of a run.
pub(super) const ALL: i64 = MAX_SAFE as i64;

/// A row that is no event is skipped: bad JSON, or no type. The cases nest because only CASE is sure not to look
/// into what the test before it has ruled out.
const ROWS: &str = "SELECT seq AS place, '' AS id, CASE WHEN json_valid(event) THEN \
                    CASE WHEN json_type(event, '$.type') = 'text' THEN event END END AS text \
                    FROM run_events WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/events`.
    pub fn events(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let id = required_run_id(&body, "id")?;
        let after =
            integer(&body, "afterSeq", 0..=i64::MAX, "must be an integer of at least 0")?.unwrap_or(0);
        let limit = integer(&body, "limit", 1..=MAX_LIMIT, "must be an integer from 1 to 5000")?;
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !self.is_visible(&id, now)? {
            return Ok(r#"{"events":null}"#.into());
        }
        let page = read(&self.sql, &id, after, limit)?;
        let next = match page.last {
            Some((last, _)) if page.count == limit && has_event_after(&self.sql, &id, last)? => {
                format!(r#","nextAfterSeq":{}"#, number_text(last))
            }
            _ => String::new(),
        };
        Ok(format!(r#"{{"events":[{}]{next}}}"#, page.joined))
    }

    /// Whether readers see the run.
    pub(crate) fn is_visible(&self, id: &RunId, now: UnixMillis) -> Result<bool, SqlError> {
        let [at, floor] = Horizon::read(&self.sql, now)?.params();
        let statement = format!("SELECT 1 FROM runs WHERE id = ?3 AND {VISIBLE}");
        Ok(!self.sql.query(&statement, &[at, floor, Value::from(id.as_str())])?.is_empty())
    }
}

/// Events after a seq, in seq order.
pub(super) fn read(sql: &impl Sql, id: &RunId, after: i64, limit: i64) -> Result<Page, SqlError> {
    let params = [Value::from(id.as_str()), Value::from(after), Value::from(limit)];
    page::read(sql, ROWS, Order::Ascending, &params)
}

fn has_event_after(sql: &impl Sql, id: &RunId, seq: f64) -> Result<bool, SqlError> {
    let statement = "SELECT 1 FROM run_events WHERE run_id = ?1 AND seq > ?2 LIMIT 1";
    Ok(!sql.query(statement, &[Value::from(id.as_str()), Value::from(seq)])?.is_empty())
}

//! Runs without their events, newest first: `{ items, nextBefore? }`.
//!
//! Pages follow a (finish, id) cursor, not an offset, so the cost of a page does not depend on its depth.

use ars_sql::{Sql, Value};
use ars_store::{
    Refusal, StoreFailure,
    json::parse_body,
    request::{finite, integer, run_id, short_text},
};
use ars_types::UnixMillis;
use serde_json::Map;

use super::{RunStore, horizon::VISIBLE, page::Page};
use crate::visible_to::{self, Condition};

/// Default page size.
const DEFAULT_LIMIT: i64 = 50;
/// Maximum page size. A larger limit is clamped.
const MAX_LIMIT: i64 = 200;

/// Maximum length of the `agent` and `channel` filters, in characters.
const MAX_FILTER_CHARS: usize = 200;

/// A valid request.
struct Request {
    limit: i64,
    /// Cursor: only rows before this position.
    before: Option<(f64, String)>,
    since: Option<f64>,
    agent: Option<String>,
    channel: Option<String>,
    visible_to: Option<visible_to::Filter>,
}

impl<S: Sql> RunStore<S> {
    /// Handles `/runs/list`.
    pub fn list(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let request = Request::read(&parse_body(body)?)?;
        let Some((rows, params)) = self.rows(&request, now) else {
            return Ok(S::Text::from(r#"{"items":[]}"#.to_owned()));
        };
        let page = Page {
            rows: &rows,
            order: "place DESC, id DESC",
            before: r#"{"items":["#,
            after: &after(request.limit),
        };
        Ok(page.answer(&self.sql, &params)?)
    }

    /// Returns the statement of a page and its parameters, or `None` if the predicate allows no run.
    fn rows(&self, request: &Request, now: UnixMillis) -> Option<(String, Vec<Value>)> {
        let mut params = vec![Value::from(now)];
        let mut conditions = vec![VISIBLE.to_owned(), "json_valid(record)".to_owned()];
        let mut bind = |value: Value| {
            params.push(value);
            format!("?{}", params.len())
        };
        if let Some((at, id)) = &request.before {
            let at = bind(Value::from(*at));
            let id = bind(Value::from(id.as_str()));
            conditions.push(format!("(finished_at, id) < ({at}, {id})"));
        }
        if let Some(since) = request.since {
            conditions.push(format!("finished_at >= {}", bind(Value::from(since))));
        }
        for (column, wanted) in [("agent", &request.agent), ("channel_id", &request.channel)] {
            if let Some(wanted) = wanted {
                conditions.push(format!("{column} = {}", bind(Value::from(wanted.as_str()))));
            }
        }
        if request.agent.as_deref() == Some("") {
            // The column has an empty text for a run without an agent too, so the record decides.
            conditions.push("json_type(record, '$.agent') = 'text'".to_owned());
        }
        let limit = bind(Value::from(request.limit));
        if let Some(filter) = &request.visible_to {
            let placeholder = format!("?{}", params.len() + 1);
            match visible_to::condition(filter, &placeholder) {
                Condition::Always => {}
                Condition::Never => return None,
                Condition::Where { sql, lists } => {
                    params.push(Value::from(lists));
                    conditions.push(sql);
                }
            }
        }
        let conditions = conditions.join(" AND ");
        let rows = format!(
            "SELECT finished_at AS place, id, {} AS text FROM runs \
             WHERE {conditions} ORDER BY finished_at DESC, id DESC LIMIT {limit}",
            self.listed
        );
        Some((rows, params))
    }
}

impl Request {
    fn read(body: &Map<String, serde_json::Value>) -> Result<Self, Refusal> {
        let limit = integer(body, "limit", 1..=i64::MAX, "must be an integer of at least 1")?;
        let before = finite(body, "before")?;
        let before_id = run_id(body, "beforeId")?;
        Ok(Self {
            limit: limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
            // Without an id, runs of the same time are skipped: every id sorts after the empty one.
            before: before.map(|at| (at, before_id.map(|id| id.to_string()).unwrap_or_default())),
            since: finite(body, "sinceMs")?,
            agent: short_text(body, "agent", MAX_FILTER_CHARS)?,
            channel: short_text(body, "channel", MAX_FILTER_CHARS)?,
            visible_to: body.get("visibleTo").map(visible_to::parse).transpose()?,
        })
    }
}

/// Returns the SQL of the page's tail: the cursor of the next page, if this one is full.
/// Seventeen digits distinguish any two doubles.
fn after(limit: i64) -> String {
    format!(
        "iif(count = {limit}, '],\"nextBefore\":{{\"finishedAt\":' || iif(place = CAST(place AS INTEGER), \
         CAST(place AS INTEGER), printf('%!.17g', place)) || ',\"id\":\"' || id || '\"}}}}', ']}}')"
    )
}

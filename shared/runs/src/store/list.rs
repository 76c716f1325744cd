//! Runs without their events, newest first: `{ items, nextBefore? }`.
//!
//! Pages follow a (finish, id) cursor, not an offset, so a page's cost does not depend on its
//! depth.

use ars_sql::{Sql, Value};
use ars_store::{
    Refusal, StoreFailure,
    json::parse_body,
    request::{finite, integer, optional, run_id, short_text},
};
use ars_types::UnixMillis;
use serde_json::Map;

use super::{
    RunStore,
    horizon::{HORIZON, VISIBLE},
    page::Page,
};
use crate::visible_to::{self, Condition};

/// Page size by default.
const DEFAULT_LIMIT: i64 = 50;
/// Maximum page size. A larger limit is clamped.
const MAX_LIMIT: i64 = 200;

/// Maximum length of the `agent` and `channel` filters, in characters.
const MAX_FILTER_CHARS: usize = 200;

/// SQL for the page's tail with the next page's cursor, behind `place` and `id`. Seventeen digits
/// distinguish any two doubles.
const CURSOR: &str = "'],\"nextBefore\":{\"finishedAt\":' || iif(place = CAST(place AS INTEGER), \
    CAST(place AS INTEGER), printf('%!.17g', place)) || ',\"id\":\"' || id || '\"}}'";

/// A request that passed validation.
struct Request {
    limit: i64,
    /// Cursor: only rows before this position.
    before: Option<(f64, String)>,
    since: Option<f64>,
    agent: Option<String>,
    channel: Option<String>,
    visible_to: Option<visible_to::Filter>,
    has_diagnosis: bool,
    /// Most rows to search. A page that ends there has a cursor, full or not.
    max_scanned: Option<i64>,
}

/// A page's statement.
struct Statement {
    rows: String,
    /// SQL for the page's tail.
    after: String,
    params: Vec<Value>,
}

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/list` request.
    pub fn list(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let request = Request::read(&parse_body(body)?)?;
        let Some(Statement {
            rows,
            after,
            params,
        }) = self.statement(&request, now)
        else {
            return Ok(S::Text::from(r#"{"items":[]}"#.to_owned()));
        };
        let page = Page {
            rows: &rows,
            order: "place DESC, id DESC",
            before: r#"{"items":["#,
            after: &after,
            more: CURSOR,
        };
        Ok(page.answer(&self.sql, &params)?)
    }

    /// Returns a page's statement, or `None` if the predicate allows no run.
    fn statement(&self, request: &Request, now: UnixMillis) -> Option<Statement> {
        let mut params = vec![Value::from(now)];
        let (index, mut range) = request.range(&mut params);
        let mut skipping = Vec::new();
        if let (Some(agent), Some(_)) = (&request.agent, &request.channel) {
            skipping.push(format!("agent = {}", bind(&mut params, agent.as_str())));
        }
        if request.agent.as_deref() == Some("") {
            // The column has an empty text for a run without an agent too, so the record decides.
            skipping.push("json_type(record, '$.agent') = 'text'".to_owned());
        }
        if let Some(filter) = &request.visible_to {
            match visible_to::condition(filter, &format!("?{}", params.len() + 1)) {
                Condition::Always => {}
                Condition::Never => return None,
                Condition::Where { sql, lists } => {
                    params.push(Value::from(lists));
                    skipping.push(sql);
                }
            }
        }
        let limit = bind(&mut params, request.limit);
        let (text, is_valid) = if request.has_diagnosis {
            (&self.listed, "json_valid(record)")
        } else {
            (&self.brief, "(brief IS NOT NULL OR json_valid(record))")
        };
        let (mut lower, mut otherwise) = (VISIBLE.to_owned(), "']}'".to_owned());
        if let Some(most) = request.max_scanned.filter(|_| !skipping.is_empty()) {
            let nth = |nth: i64| {
                let rows = [&range[..], &[VISIBLE.to_owned()]].concat().join(" AND ");
                format!(
                    "SELECT finished_at AS place, id FROM runs INDEXED BY {index} WHERE {rows} \
                     ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET {nth}"
                )
            };
            // The first row that is not searched, which is newer than every hidden row.
            lower = format!(
                "(finished_at, id) > (SELECT * FROM ({}) UNION ALL {HORIZON} ORDER BY 1 DESC, 2 DESC LIMIT 1)",
                nth(most)
            );
            otherwise = format!(
                "coalesce((SELECT {CURSOR} FROM ({})), ']}}')",
                nth(most - 1)
            );
        }
        range.push(lower);
        skipping.push(is_valid.to_owned());
        let conditions = [range, skipping].concat().join(" AND ");
        let rows = format!(
            "SELECT finished_at AS place, id, {text} AS text FROM runs INDEXED BY {index} \
             WHERE {conditions} ORDER BY finished_at DESC, id DESC LIMIT {limit}"
        );
        let after = format!("iif(count = {}, {CURSOR}, {otherwise})", request.limit);
        Some(Statement {
            rows,
            after,
            params,
        })
    }
}

impl Request {
    /// Returns a search's index, and the conditions on its part without the lower end. Without a
    /// name SQLite may choose a predicate's index, and read and sort every run that it allows.
    fn range(&self, params: &mut Vec<Value>) -> (&'static str, Vec<String>) {
        let mut range = Vec::new();
        let index = match (&self.channel, &self.agent) {
            (Some(channel), _) => {
                range.push(format!("channel_id = {}", bind(params, channel.as_str())));
                "runs_of_channel"
            }
            (None, Some(agent)) => {
                range.push(format!("agent = {}", bind(params, agent.as_str())));
                "runs_of_agent"
            }
            (None, None) => "runs_newest",
        };
        if let Some((at, id)) = &self.before {
            let (at, id) = (bind(params, *at), bind(params, id.as_str()));
            range.push(format!("(finished_at, id) < ({at}, {id})"));
        }
        if let Some(since) = self.since {
            range.push(format!("finished_at >= {}", bind(params, since)));
        }
        (index, range)
    }

    fn read(body: &Map<String, serde_json::Value>) -> Result<Self, Refusal> {
        let limit = integer(
            body,
            "limit",
            1..=i64::MAX,
            "must be an integer of at least 1",
        )?;
        let before = finite(body, "before")?;
        let before_id = run_id(body, "beforeId")?;
        Ok(Self {
            limit: limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
            // Without an id, runs at the same time are skipped: every id sorts after the empty id.
            before: before.map(|at| (at, before_id.map(|id| id.to_string()).unwrap_or_default())),
            since: finite(body, "sinceMs")?,
            agent: short_text(body, "agent", MAX_FILTER_CHARS)?,
            channel: short_text(body, "channel", MAX_FILTER_CHARS)?,
            visible_to: body.get("visibleTo").map(visible_to::parse).transpose()?,
            has_diagnosis: optional(
                body,
                "diagnosis",
                serde_json::Value::as_bool,
                "must be a boolean",
            )?
            .unwrap_or(true),
            max_scanned: integer(
                body,
                "maxScanned",
                1..=i64::MAX,
                "must be an integer of at least 1",
            )?,
        })
    }
}

/// Adds a parameter and returns the placeholder.
fn bind(params: &mut Vec<Value>, value: impl Into<Value>) -> String {
    params.push(value.into());
    format!("?{}", params.len())
}

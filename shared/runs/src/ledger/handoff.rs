//! Offers an owner's live runs to the next generation: `{ marked }`.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use ars_sql::{Sql, SqlError, Value};
use ars_store::{Refusal, StoreFailure, json::parse_body};
use ars_types::RunId;

use super::request::generation;
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles `/runs/handoff`. Runs that are unknown, owned elsewhere or past `live` are not marked.
    pub(crate) fn handoff(&self, body: &str) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let generation = generation(&body)?;
        let ids = run_ids(&body, "runIds")?;
        let statement = "UPDATE live_runs SET phase = 'handoff' WHERE owner_gen = ?1 AND phase = 'live' \
                         AND run_id IN (SELECT value FROM json_each(?2)) RETURNING run_id";
        let params = [
            Value::from(generation.as_str()),
            Value::from(json!(ids).to_string()),
        ];
        let rows = self.sql().query(statement, &params)?;
        let mut found = rows
            .into_iter()
            .map(|row| row.into_text(0))
            .collect::<Result<HashSet<_>, SqlError>>()?;
        // In the request's order, without duplicates.
        let marked: Vec<_> = ids.into_iter().filter(|id| found.remove(id)).collect();
        Ok(json!({ "marked": marked }).to_string())
    }
}

/// Reads a run id list.
pub(super) fn run_ids(body: &Map<String, Json>, name: &str) -> Result<Vec<String>, Refusal> {
    let Some(Json::Array(ids)) = body.get(name) else {
        return Err(Refusal::field(name, "must be an array"));
    };
    let parse = |(index, id): (usize, &Json)| {
        let id = id
            .as_str()
            .and_then(|id| RunId::parse(id).ok())
            .map(|id| id.to_string());
        id.ok_or_else(|| {
            Refusal::field(
                format!("{name}[{index}]"),
                "must be 1 to 64 letters, digits, `_` or `-`",
            )
        })
    };
    ids.iter().enumerate().map(parse).collect()
}
